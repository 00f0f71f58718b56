"""What is the JVM inside this process made of? One a process, with the brokers' own clients and our loops in it.

Locust's users of the Java protocols live in this JVM: their connections, their threads and their loops (drivers/java/).
Its jars and its Java are the harness's to find (`use`), since drivers know nothing of distributions. It is started at
the first connection, so after Locust has forked its workers, and never stopped: it ends with the process.

Each protocol has a client library of its own. Its jars, and our classes compiled against them, live behind a class
loader of their own, so that two libraries never meet: they bring other versions of the same classes.

    java: Janino ── openwire: ActiveMQ Classic's jars ── java/ and java/openwire/, compiled
                └── core: Artemis' jars ──────────────── java/ and java/core/, compiled
"""

import atexit
import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype
import jpype.config

from drivers.contract import DriverError

SOURCES = Path(__file__).parents[1] / "java"
JVM_OPTIONS = (
    "-Xrs",  # signals are Locust's
    "-Xss512k",  # a few threads a client, hundreds of clients
    "-Dorg.apache.logging.log4j.level=OFF",  # what goes wrong is told by events and errors, once
    "-Dlog4j2.disable.jmx=true",
    "-Djava.awt.headless=true",
    # Core's clients share these pools, and one that finds no broker keeps a thread of each: -1 is as many as it takes.
    "-Dactivemq.artemis.client.global.thread.pool.max.size=-1",
    "-Dactivemq.artemis.client.global.flowcontrol.thread.pool.core.size=-1",
)


@dataclass(frozen=True)
class JavaParts:
    """``home`` of a Java runtime of 17 or newer; ``compiler``: Janino; ``client``: a broker's client with its needs."""

    home: Path
    compiler: tuple[Path, ...]
    client: tuple[Path, ...]


Find = Callable[[str], JavaParts]
"""The parts for the clients of a protocol: ``openwire`` or ``core``."""

_starting = threading.Lock()
_find: Find | None = None
_loaders: dict[str, Any] = {}


def use(find: Find) -> None:
    """Say where this process's JVM is to come from; ``find`` is called once a protocol, at its first connection."""
    global _find
    _find = find


def java_class(name: str, protocol: str) -> Any:
    """A class of drivers/java/ for that protocol's clients, compiled at its first use. Raises DriverError.

    Starts the JVM if need be.
    """
    try:
        return jpype.JClass(f"brokerbench.{name}", loader=_started(protocol))
    except (jpype.JException, TypeError) as error:
        raise DriverError(
            f"drivers/java/: class {name} for {protocol}: {_said(error)}; this is a fault of brokerbench"
        ) from None


def _started(protocol: str) -> Any:
    with _starting:
        if protocol not in _loaders:
            _loaders[protocol] = _start(protocol)
        return _loaders[protocol]


def _start(protocol: str) -> Any:
    """The loader that compiles our sources, in the JVM that then runs. Raises DriverError."""
    if _find is None:
        raise DriverError("no Java was named for this process's Java clients: call drivers.jvm.vm.use first")
    parts = _find(protocol)
    library = next(parts.home.glob("lib/**/libjvm.so"), None)
    if library is None:
        raise DriverError(f"{parts.home} has no libjvm.so: set JAVA_HOME to a whole Java runtime, 17 or newer")
    jpype.config.destroy_jvm = False  # its threads need not end before this process may
    try:
        if not jpype.isJVMStarted():
            _start_jvm(library, parts.compiler)
        file = jpype.JClass("java.io.File")
        urls = [file(str(jar)).toURI().toURL() for jar in parts.client]
        library = jpype.JClass("java.net.URLClassLoader")(jpype.JArray(jpype.JClass("java.net.URL"))(urls))
        folders = jpype.JArray(file)([file(str(SOURCES)), file(str(SOURCES / protocol))])
        return jpype.JClass("org.codehaus.janino.JavaSourceClassLoader")(library, folders, "UTF-8")
    except (jpype.JException, TypeError, RuntimeError, OSError) as error:
        raise DriverError(
            f"the Java of {parts.home} could not be started for the clients: {_said(error)}; "
            "see `brokerbench doctor`, and JAVA_HOME"
        ) from None


def _start_jvm(library: Path, compiler: tuple[Path, ...]) -> None:
    """Start it, and have each side collect its own garbage only.

    JPype has Java's whole heap collected whenever Python collected and grew, and Python's after each collection of
    Java's. All threads of both stand still for that: for a second where there are a thousand clients.
    """
    hooks = list(gc.callbacks)
    jpype.startJVM(str(library), *JVM_OPTIONS, classpath=[str(jar) for jar in compiler], interrupt=False)
    gc.callbacks[:] = hooks
    atexit.register(_rest)


def _rest() -> None:
    """At the process's end: JPype's thread, which runs Python after each of Java's collections, is to have ended.

    Python aborts a process where it finds such a thread once it has begun to end; JPype ends it only with the JVM.
    """
    jpype.JClass("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def _said(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
