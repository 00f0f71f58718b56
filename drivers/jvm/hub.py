"""Brings the events of the JVM into this process: a pipe says that something happened; events and rows are then taken.

No Java thread runs Python, and no call into Java waits. The JVM's own threads do everything that may block, and answer
by events. One greenlet (or thread, without gevent) hands each event to its receiver.
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
"""(what happened, up to three values)"""

OnLate = Callable[..., None]
"""(what the answer is, its values), of an answer that nobody waits for any more"""


@dataclass(eq=False)
class JavaReply:
    """What somebody waits for: set once, by an event."""

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
    """Requests to the JVM without an answer yet. Each has a number, which comes back with its answer.

    Any thread may ask; the hub answers. Users share a client, and one may have stopped waiting before its answer comes:
    no other thread may take that answer. Late answers go to a handler that the requester supplied.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[JavaReply, OnLate]] = {}

    @contextmanager
    def new(self, on_late: OnLate) -> Iterator[tuple[int, JavaReply]]:
        """A number for one request, and the place of its answer, until the wait ends."""
        number, answer = next(self._numbers), JavaReply()
        self._open[number] = answer, on_late
        try:
            yield number, answer
        finally:
            answer.give(UNHEARD)
            if answer.event != UNHEARD:
                del self._open[number]

    def answered(self, number: int, event: str, *values: Any) -> None:
        """Hand the answer over, or what it brings to ``on_late``."""
        answer, on_late = self._open.get(number, (JavaReply(), None))
        answer.give(event, *values)
        if answer.event == UNHEARD and on_late:
            del self._open[number]
            on_late(event, *values)

    def end(self) -> None:
        """There will be no answers any more: who waits is told `ENDED`."""
        for answer, _ in tuple(self._open.values()):
            answer.give(ENDED)


class JavaHub:
    """The one link between this process and its JVM's clients of one protocol. Made by `hub`."""

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
        """A class of drivers/java/ for this protocol. Raises DriverError."""
        return java_class(name, self.protocol)

    def make(self, name: str, *arguments: Any) -> Any:
        """A new one of that class. Raises DriverError: also where its thread cannot be started."""
        try:
            return self.java_class(name)(*arguments)
        except jpype.JException as error:
            raise DriverError(f"{self.protocol}: the JVM of this process can do no more: {error}") from None

    def listen(self, on_event: OnEvent) -> int:
        """A new number; events told to it go to ``on_event``."""
        self._last_id += 1
        self._listeners[self._last_id] = on_event
        return self._last_id

    def forget(self, number: int) -> None:
        """Later events for this number are dropped."""
        self._listeners.pop(number, None)

    def take_rows_by(self, take: Callable[[], None]) -> None:
        """Call ``take`` some fifty times a second from now on."""
        self._takers.append(take)

    def stop_taking(self, take: Callable[[], None]) -> None:
        self._takers.remove(take)

    def _end(self) -> None:
        """At the process's end, before the JVM's: Python ends a thread that is inside a call to Java by an abort."""
        self._over = True
        os.write(self._bell, b".")
        self._pumping.join(END_TIMEOUT_S)

    def _pump(self) -> None:
        bell = select.poll()  # select() ends at 1,024 descriptors, and other clients of the process may have them
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
        """Whatever one client's callback raises, the others go on."""
        try:
            act(*values)
        except Exception:
            log.exception("an event of the Java clients could not be handled")


_making = threading.Lock()
_hubs: dict[tuple[str, str], JavaHub] = {}


def hub(protocol: str) -> JavaHub:
    """This process's hub for that protocol's clients; starts the JVM at its first use. Raises DriverError."""
    with _making:
        key = edition_of(protocol)
        if key not in _hubs:
            _hubs[key] = JavaHub(protocol)
        return _hubs[key]
