"""Brings the events of the JVM into this process: a pipe signals that something happened; then events and rows are
taken.

No Java thread runs Python, and no call into Java waits. The JVM's own threads do everything that may block, and answer
with events. One greenlet (or thread, without gevent) passes each event to its receiver.
"""

import atexit
import itertools
import logging
import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jpype

from drivers.contract import DriverError
from drivers.jvm.vm import edition_of, java_class

END_TIMEOUT_S = 1.0
ROWS_EVERY_MS = 20
ENDED, UNHEARD = "ended", "unheard"
log = logging.getLogger(__name__)

OnEvent = Callable[[str, Any, Any, Any], None]
"""(event, up to three values)"""

OnLate = Callable[..., None]
"""(event, its values) of an answer that no caller awaits any longer"""


@dataclass(eq=False)
class JavaReply:
    """An awaited reply: set once, by an event."""

    event: str = ""
    values: tuple[Any, Any, Any] = (None, None, None)
    _came: threading.Event = field(default_factory=threading.Event)
    _giving: threading.Lock = field(default_factory=threading.Lock)

    def give(self, event: str, *values: Any) -> None:
        with self._giving:
            if not self._came.is_set():
                first, second, third = (*values, None, None, None)[:3]
                self.event, self.values = event, (first, second, third)
                self._came.set()

    def wait(self, timeout_s: float | None) -> bool:
        return self._came.wait(timeout_s)


class Requests:
    """Requests to the JVM without an answer so far. Each has a number, which comes back with its answer.

    Any thread may make requests; the hub answers. Users share a client, and one may have stopped waiting before its
    answer comes: no other thread may take that answer. Late answers go to a handler that the requester supplied.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[JavaReply, OnLate]] = {}

    @contextmanager
    def new(self, on_late: OnLate) -> Iterator[tuple[int, JavaReply]]:
        """Yield a number for one request, and the reply to wait for, until the wait ends."""
        number, answer = next(self._numbers), JavaReply()
        self._open[number] = answer, on_late
        try:
            yield number, answer
        finally:
            answer.give(UNHEARD)
            if answer.event != UNHEARD:
                del self._open[number]

    def answered(self, number: int, event: str, *values: Any) -> None:
        """Deliver the answer, or pass a late one to ``on_late``."""
        answer, on_late = self._open.get(number, (JavaReply(), None))
        answer.give(event, *values)
        if answer.event == UNHEARD and on_late:
            del self._open[number]
            on_late(event, *values)

    def end(self) -> None:
        """Give waiting callers `ENDED`, as no more answers will come."""
        for answer, _ in tuple(self._open.values()):
            answer.give(ENDED)


class JavaHub:
    """The only link between this process and its JVM's clients of one protocol. Created by `hub`."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._bell = writing
        self.java: Any = self.java_class("Hub")(writing)
        self._listeners: dict[int, OnEvent] = {}
        self._takers: list[Callable[[], None]] = []
        self._last_id = 0
        self._over = False
        self._pumping = threading.Thread(target=self._pump, name=f"java-hub-{protocol}", daemon=True)
        self._pumping.start()
        atexit.register(self._end)

    def java_class(self, name: str) -> Any:
        """Return a class of drivers/java/ for this protocol. Raises DriverError."""
        return java_class(name, self.protocol)

    def make(self, name: str, *arguments: Any) -> Any:
        """Return a new instance of that class. Raises DriverError, also if its thread cannot be started."""
        try:
            return self.java_class(name)(*arguments)
        except jpype.JException as error:
            raise DriverError(f"{self.protocol}: the JVM of this process can do no more: {error}") from None

    def listen(self, on_event: OnEvent) -> int:
        """Return a new number; events for it go to ``on_event``."""
        self._last_id += 1
        self._listeners[self._last_id] = on_event
        return self._last_id

    def forget(self, number: int) -> None:
        """Drop later events for this number."""
        self._listeners.pop(number, None)

    def take_rows_by(self, take: Callable[[], None]) -> None:
        """Call ``take`` about fifty times per second from now on."""
        self._takers.append(take)

    def stop_taking(self, take: Callable[[], None]) -> None:
        self._takers.remove(take)

    def _end(self) -> None:
        """End before the JVM at the end of the process: Python aborts a thread that is inside a call to Java."""
        self._over = True
        os.write(self._bell, b".")
        self._pumping.join(END_TIMEOUT_S)

    def _pump(self) -> None:
        bell = select.poll()  # select() is limited to 1,024 descriptors, which other clients of the process may use
        bell.register(self._reading, select.POLLIN)
        while not self._over:
            bell.poll(ROWS_EVERY_MS if self._takers else None)
            try:
                os.read(self._reading, 4_096)
            except BlockingIOError:
                pass  # nothing happened: it is time to take rows
            else:
                self._hand_out()
            for take in list(self._takers):
                self._safely(take)

    def _hand_out(self) -> None:
        for listener_number, event, *values in self.java.take():
            listener = self._listeners.get(int(listener_number))
            if listener:
                self._safely(listener, str(event), *values)

    def _safely(self, act: Callable[..., None], *values: Any) -> None:
        """Call ``act``. If one client's callback raises, the others continue."""
        try:
            act(*values)
        except Exception:
            log.exception("an event of the Java clients could not be handled")


_making = threading.Lock()
_hubs: dict[tuple[str, str], JavaHub] = {}


def hub(protocol: str) -> JavaHub:
    """Return this process's hub for that protocol's clients; starts the JVM at its first use. Raises DriverError."""
    with _making:
        key = edition_of(protocol)
        if key not in _hubs:
            _hubs[key] = JavaHub(protocol)
        return _hubs[key]
