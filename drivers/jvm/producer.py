"""Keeps a schedule by a sender in the JVM: a thread there sends, and Python hands it the due times.

Python hands over due times some seconds ahead, so that it delays no message.
"""

import time
from typing import Any, Protocol

from drivers.client.contract import LoadControl, NoSenderError, ProducerSettings, ScheduledSend
from drivers.contract import Destination, DriverError
from drivers.jvm.hub import JavaReply
from records.identity import Identity, stamp
from records.send_schedule import Schedule

AHEAD_NS = 3_000_000_000  # due times are with the JVM so long before
REFILL_S = 1.0
SOON_S = 0.2  # a refill where the last one was full, or a look whether the last message has gone
MOST_AT_ONCE = 20_000  # a refill


class MakesSenders(Protocol):
    """The producer's client: `drivers.jvm.client.JavaClient`."""

    def sender(
        self, number: int, destination: Destination, settings: ProducerSettings, template: bytes
    ) -> tuple[Any, JavaReply]:
        """A sender in the JVM, waiting for due times, and what is told at its end. Raises DriverError."""


class JavaProducer:
    """Sends the messages of one number to one destination, by itself. Made by `JavaClient.producer`."""

    def __init__(
        self, client: MakesSenders, number: int, destination: Destination, settings: ProducerSettings, run: int
    ) -> None:
        self._client, self._number, self._destination = client, number, destination
        self._settings, self._run = settings, run
        self._made: tuple[Any, JavaReply] | None = None  # the sender in the JVM, and its message at the end
        self._kept: Any = None  # the sender, once it is to keep a schedule
        self.held_back = False  # see `drivers.client.contract.KeepsSchedule`; known once it has stopped

    @property
    def begun(self) -> int:
        """See `drivers.client.contract.LoadProducer`."""
        return 0 if self._kept is None else int(self._kept.begun())

    def prepare(self) -> None:
        """See `drivers.client.contract.LoadProducer`."""
        self._made = self._sender()

    def keep(self, schedule: Schedule, control: LoadControl) -> int:
        """See `drivers.client.contract.KeepsSchedule`."""
        sender, finished = self._made or self._sender()
        self._kept = sender
        slot, complete = 0, False
        try:
            while control.producing and not finished.event:
                times = [] if complete else _due(schedule, slot)
                slot += len(times)
                ends = not complete and schedule.due_ns(slot) is None
                if times or ends:
                    sender.add(times, ends)
                complete = complete or ends
                soon = complete or len(times) == MOST_AT_ONCE
                control.wait_unless_stopped(SOON_S if soon else REFILL_S)
        finally:
            self.held_back = bool(sender.heldBack())
            sender.stop()  # also when its user is stopped: others may share the connection
        self._await_end(finished)
        return self.begun

    def send_one(self, send: ScheduledSend) -> None:
        """See `drivers.client.contract.LoadProducer`."""
        try:
            sender, finished = self._sender()
        except DriverError as error:
            raise NoSenderError(str(error)) from error
        sender.alone(send.seq, send.begun_ns, send.ready_ns, send.blocked)
        sender.add([send.due_ns], True)
        self._await_end(finished)

    def _sender(self) -> tuple[Any, JavaReply]:
        template = stamp(Identity(self._run, self._number, 0, 1), self._settings.body_bytes)
        return self._client.sender(self._number, self._destination, self._settings, template)

    def _await_end(self, finished: JavaReply) -> None:
        finished.wait(None)
        if finished.values[0]:
            raise DriverError(f"{self._client!r}: {finished.values[0]}; what was not sent is recorded as failed")


def _due(schedule: Schedule, slot: int) -> list[int]:
    """The due times from ``slot`` on that the JVM should have by now."""
    until_ns = time.perf_counter_ns() + AHEAD_NS
    return [due_ns for _, due_ns in schedule.due_by(until_ns, slot, MOST_AT_ONCE)]
