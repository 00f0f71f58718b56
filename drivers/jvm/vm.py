"""Starts the JVM inside this process: one per process, with the brokers' own clients and our loops in it.

Locust's users of the Java protocols live in this JVM: their connections, their threads and their loops (drivers/java/).
The harness finds its jars and its Java (`use`), because drivers know nothing about distributions. The JVM starts at the
first connection, after Locust has forked its workers. It is never stopped: it ends with the process.

Each protocol has its own client library. Its jars, and our classes compiled against them, have their own class loader.
So the libraries do not conflict, although they contain different versions of the same classes.

    java ──┬── openwire: ActiveMQ Classic's jars ── java/ and java/openwire/, compiled
           └── core: Artemis's jars ──────────────── java/ and java/core/, compiled
"""

import atexit
import gc
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype
import jpype.config

from drivers.contract import DriverError
from drivers.jvm.compiler import Compiler
from drivers.jvm.packed_rows import PACKED_ROWS
from records.environment import JAVA, LOCALE

SOURCES = Path(__file__).parents[1] / "java"
JVM_OPTIONS = (
    "-Xrs",  # Locust handles signals
    "-Xss512k",  # a few threads per client, hundreds of clients
    "-Dorg.apache.logging.log4j.level=OFF",  # events and errors already report problems
    "-Dlog4j2.disable.jmx=true",
    "-Djava.awt.headless=true",
    # Core's clients share these pools, and a client without a broker keeps a thread of each: -1 is unlimited.
    "-Dactivemq.artemis.client.global.thread.pool.max.size=-1",
    "-Dactivemq.artemis.client.global.flowcontrol.thread.pool.core.size=-1",
)


@dataclass(frozen=True)
class JavaParts:
    """``home`` of a Java runtime of 17 or newer; ``client``: the jars of a broker's client with its dependencies."""

    home: Path
    compiler: Compiler
    client: tuple[Path, ...]


Find = Callable[[str], JavaParts]
"""Returns the parts for the clients of a protocol: ``openwire`` or ``core``."""

SAME_CLOCK_NS = 10_000
"""Largest difference that rounding causes on one clock."""

_starting = threading.Lock()
_find: Find | None = None
_edition = ""
_loaders: dict[tuple[str, str], Any] = {}
_when_started: list[Callable[[], None]] = []


def use(find: Find, edition: str = "") -> None:
    """Set the source of this process's JVM; ``find`` is called once per protocol, at its first connection.

    ``edition`` distinguishes the clients of this ``find`` from others that the process has used before.
    """
    global _find, _edition
    _find, _edition = find, edition


def when_started(act: Callable[[], None]) -> None:
    """Call ``act`` once the JVM has started: now if it runs already."""
    with _starting:
        if not jpype.isJVMStarted():
            _when_started.append(act)
            return
    act()


def edition_of(protocol: str) -> tuple[str, str]:
    """Return a key for the clients of a protocol in use, different from all others in this process."""
    return protocol, _edition


def java_class(name: str, protocol: str) -> Any:
    """Return a class of drivers/java/ for that protocol's clients. Raises DriverError.

    Starts the JVM if necessary, and compiles the classes unless an earlier run has.
    """
    try:
        return jpype.JClass(f"brokerbench.{name}", loader=_started(protocol))
    except (jpype.JException, TypeError) as error:
        raise DriverError(
            f"drivers/java/: class {name} for {protocol}: {_words(error)}; this is a bug in brokerbench"
        ) from None


def _started(protocol: str) -> Any:
    with _starting:
        key = edition_of(protocol)
        if key not in _loaders:
            _loaders[key] = _start(protocol)
        return _loaders[key]


def _start(protocol: str) -> Any:
    """Return the class loader with our classes in the running JVM. Raises DriverError."""
    if _find is None:
        raise DriverError("no Java was named for this process's Java clients: call drivers.jvm.vm.use first")
    parts = _find(protocol)
    library = next(parts.home.glob("lib/**/libjvm.so"), None)
    if library is None:
        raise DriverError(f"{parts.home} has no libjvm.so: set JAVA_HOME to a whole Java runtime, 17 or newer")
    classes = parts.compiler.compiled((SOURCES, SOURCES / protocol), parts.client, PACKED_ROWS)
    try:
        if not jpype.isJVMStarted():
            _start_jvm(library)
        require_one_clock(jpype.JClass("java.lang.System").nanoTime)
        return loader((classes,), loader(parts.client, None))
    except (jpype.JException, TypeError, RuntimeError, OSError) as error:
        raise DriverError(
            f"the Java of {parts.home} could not be started for the clients: {_words(error)}; "
            "see `brokerbench doctor`, and JAVA_HOME"
        ) from None


def require_one_clock(java_ns: Callable[[], int], clock: Callable[[], int] = time.perf_counter_ns) -> None:
    """Raise DriverError if Java's clock is not the clock of Python's users: rows of both are compared with each other.

    On Linux both are CLOCK_MONOTONIC.
    """
    before_ns = clock()
    there_ns = int(java_ns())
    after_ns = clock()
    if not before_ns - SAME_CLOCK_NS <= there_ns <= after_ns + SAME_CLOCK_NS:
        raise DriverError(
            f"Java's clock shows {there_ns} ns while Python's shows {after_ns} ns: their times cannot be compared, so "
            "latencies would be wrong; run Java clients on Linux, where both are CLOCK_MONOTONIC"
        )


def loader(jars: Iterable[Path], parent: Any) -> Any:
    """Return a class loader for these jars; ``parent`` is searched first, None for Java's own."""
    file = jpype.JClass("java.io.File")
    urls = jpype.JArray(jpype.JClass("java.net.URL"))([file(str(jar)).toURI().toURL() for jar in jars])
    class_loader = jpype.JClass("java.net.URLClassLoader")
    return class_loader(urls, parent) if parent is not None else class_loader(urls)


def _start_jvm(library: Path) -> None:
    """Start the JVM, and make each side collect only its own garbage.

    By default JPype collects Java's whole heap whenever Python collected and grew, and Python's heap after each
    collection of Java. All threads of both stop for that time: for a second with a thousand clients.
    """
    jpype.config.destroy_jvm = False  # this process may end before the JVM's threads do
    hooks = list(gc.callbacks)
    for name in JAVA:
        os.environ.pop(name, None)
    os.environ |= LOCALE  # the JVM reads the variables of its process
    jpype.startJVM(str(library), *JVM_OPTIONS, interrupt=False)
    gc.callbacks[:] = hooks
    _hear_of_children_again()
    atexit.register(_stop_jpype_thread)
    while _when_started:
        _when_started.pop()()


def _hear_of_children_again() -> None:
    """Make gevent notice again when a child process ends.

    Java resets the handler of SIGCHLD when it loads this class. From Java 21 on any access to an environment variable
    does so, and `subprocess` would then wait forever for a process that has ended.
    """
    from gevent import get_hub  # `brokerbench up` imports this module, and has no gevent

    jpype.JClass("java.lang.Class").forName("java.lang.ProcessImpl")
    loop = get_hub().loop
    loop.reset_sigchld()
    loop.install_sigchld()


def _stop_jpype_thread() -> None:
    """End JPype's thread, which runs Python after each of Java's collections, at the end of the process.

    Python aborts an ending process if it finds this thread. JPype itself ends the thread only with the JVM.
    """
    jpype.JClass("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def _words(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
