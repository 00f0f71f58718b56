"""Keeps a schedule with a sender in the JVM: a thread there sends, and Python hands it the due times.

Python hands over due times some seconds ahead, so that it delays no message.
"""

import time
from typing import Any, Protocol

from drivers.client.contract import LoadControl, NoSenderError, ProducerSettings, ScheduledSend
from drivers.contract import Destination, DriverError
from drivers.jvm.hub import JavaReply
from records.loads.identity import Identity, stamp
from records.loads.send_schedule import ClosedSchedule, Schedule

AHEAD_NS = 3_000_000_000  # the JVM has due times this far ahead
REFILL_S = 1.0
SOON_S = 0.2  # until a refill if the last one was full, or until a check whether the last message was sent
MOST_AT_ONCE = 20_000  # per refill
NO_COUNT = -1


class MakesSenders(Protocol):
    """The producer's client: `drivers.jvm.client.JavaClient`."""

    def sender(
        self, number: int, destination: Destination, settings: ProducerSettings, template: bytes
    ) -> tuple[Any, JavaReply]:
        """Return a sender in the JVM, which waits for due times, and the reply at its end. Raises DriverError."""


class JavaProducer:
    """Sends the messages of one number to one destination, in the JVM. Created by `JavaClient.producer`."""

    def __init__(
        self, client: MakesSenders, number: int, destination: Destination, settings: ProducerSettings, run: int
    ) -> None:
        self._client, self._number, self._destination = client, number, destination
        self._settings, self._run = settings, run
        self._made: tuple[Any, JavaReply] | None = None  # the sender in the JVM, and its message at the end
        self._kept: Any = None  # the sender, once it keeps a schedule
        self.held_back = False  # see `drivers.client.contract.ScheduledProducer`; known once it has stopped

    @property
    def begun(self) -> int:
        """See `drivers.client.contract.LoadProducer`."""
        return 0 if self._kept is None else int(self._kept.begun())

    def prepare(self) -> None:
        """See `drivers.client.contract.LoadProducer`."""
        self._made = self._sender()

    def run(self, schedule: Schedule, control: LoadControl) -> int:
        """See `drivers.client.contract.ScheduledProducer`."""
        sender, finished = self._made or self._sender()
        self._kept = sender
        if isinstance(schedule, ClosedSchedule):
            self._keep_closed(sender, finished, schedule, control)
        else:
            self._keep_schedule(sender, finished, schedule, control)
        self._await_end(finished)
        return self.begun

    def _keep_schedule(self, sender: Any, finished: JavaReply, schedule: Schedule, control: LoadControl) -> None:
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
            sender.stop()  # also if its user is stopped: others may share the connection

    def _keep_closed(self, sender: Any, finished: JavaReply, schedule: ClosedSchedule, control: LoadControl) -> None:
        sender.closed(schedule.start_ns, NO_COUNT if schedule.count is None else schedule.count)
        try:
            while control.producing and not finished.event:
                if schedule.ends_ns is not None:
                    sender.endAt(schedule.ends_ns)
                control.wait_unless_stopped(SOON_S)
        finally:
            sender.stop()
            schedule.answered_ns = time.perf_counter_ns()

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
            raise DriverError(f"{self._client!r}: {finished.values[0]}; unsent messages are recorded as failed")


def _due(schedule: Schedule, slot: int) -> list[int]:
    """Return the due times from ``slot`` on that the JVM should have by now."""
    until_ns = time.perf_counter_ns() + AHEAD_NS
    return [due_ns for _, due_ns in schedule.due_by(until_ns, slot, MOST_AT_ONCE)]
