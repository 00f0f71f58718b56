"""Keeps a schedule in Python: sends each message when it is due, and late messages together.

A delayed generator sends the missed slots as fast as it can. The latency of every message counts from its due time.
Messages that were due but not sent by the end of the load are counted: no message is dropped silently.

The base of `Producer` and `PerMessageProducer`. The Java loop is drivers/java/brokerbench/Sender.java.
"""

import threading
import time
from collections.abc import Callable, Sequence

from drivers.client.backpressure import LONG_WRITE_NS, Readiness
from drivers.client.contract import LoadControl, LoadStatistics, ProducerSettings, ScheduledSend
from records.loads.send_schedule import ClosedSchedule, Schedule
from records.units import NS_PER_S

# Late messages per write: few enough to be equivalent to sending them one by one.
MOST_AT_ONCE, BYTES_AT_ONCE = 32, 65_536
LOOK_EVERY_S = 1.0


class ScheduleLoop:
    """The base of senders that send in batches; see `drivers.client.contract.ScheduledProducer`.

    Code that settles a send calls `_make_room` if ``_room_wanted``. That flag saves an event per message.
    """

    def __init__(
        self, number: int, settings: ProducerSettings, statistics: LoadStatistics, clock: Callable[[], int]
    ) -> None:
        self.number = number
        self._settings = settings
        self.begun = 0
        self._statistics, self._clock = statistics, clock
        self._readiness = Readiness()
        self._room, self._room_wanted, self._room_since_ns = threading.Event(), False, 0
        self._was_blocked, self._writing_since_ns = False, 0
        self._is_closed = False

    @property
    def held_back(self) -> bool:
        """See `drivers.client.contract.ScheduledProducer`."""
        since_ns, now_ns = self._writing_since_ns, self._clock()
        writes_long = since_ns > 0 and now_ns - since_ns > LONG_WRITE_NS
        catching_up = not self._is_closed and self._readiness.is_catching_up(now_ns)  # closed: nothing became due
        return self._was_blocked or writes_long or catching_up

    @property
    def outstanding(self) -> int:
        """Number of sends that count against the in-flight limit."""
        raise NotImplementedError

    def send_batch(self, sends: Sequence[ScheduledSend]) -> None:
        """Send messages that are all due by now. Raises DriverError."""
        raise NotImplementedError

    def finish(self) -> None:
        """Send the messages of an incomplete batch at the end."""

    def run(self, schedule: Schedule, control: LoadControl) -> int:
        """See `drivers.client.contract.ScheduledProducer`."""
        self._is_closed = isinstance(schedule, ClosedSchedule)
        try:
            while control.producing and (due_ns := self._next_due_ns(schedule)) is not None:
                blocked = self._wait_for(due_ns, control)
                if not control.producing:
                    break
                next_send = ScheduledSend(self.begun, due_ns, blocked)
                batch = [next_send, *self._late_too(schedule, next_send)]
                self._statistics.counted(len(batch), 0)
                self.begun += len(batch)
                self._writing_since_ns = self._clock()
                self.send_batch(batch)
                self._was_blocked |= self.held_back  # producing may have ended during the send
                self._writing_since_ns = 0
        finally:
            self.finish()
        return self.begun

    def _next_due_ns(self, schedule: Schedule) -> int | None:
        """Return when the next message is due, or None once the schedule is over.

        Without a schedule, wait until the last message has its final outcome. The next one may be sent then.
        """
        if isinstance(schedule, ClosedSchedule) and self.begun:
            if self.outstanding:
                self._wait_for_room(1)
            schedule.answered_ns = self._room_since_ns or self._clock()
            self._was_blocked = False  # waiting for answers is how it sends
        if isinstance(schedule, ClosedSchedule):
            self._room_wanted, self._room_since_ns = True, 0  # the answer may come during the write
        return schedule.due_ns(self.begun)

    def _late_too(self, schedule: Schedule, next_send: ScheduledSend) -> list[ScheduledSend]:
        """Return the messages after ``next_send`` that are already late and may be sent with it."""
        settings = self._settings
        room = min(MOST_AT_ONCE, BYTES_AT_ONCE // settings.body_bytes, settings.in_flight - self.outstanding)
        return [ScheduledSend(*each) for each in schedule.due_by(self._clock(), next_send.seq + 1, room - 1)]

    def _wait_for(self, due_ns: int, control: LoadControl) -> bool:
        """Wait until the message is due and may be sent, or producing stops; return True if the in-flight limit made
        it wait."""
        early_ns = due_ns - self._clock()
        if early_ns > 0:
            control.wait_unless_stopped(early_ns / NS_PER_S)
            self._readiness.on_wake(due_ns, self._clock())
        in_flight = self._settings.in_flight
        self._was_blocked = blocked = self.outstanding >= in_flight and self._wait_for_room(in_flight)
        if early_ns <= 0 and not blocked:
            time.sleep(0)  # behind schedule: let answers and deliveries in between sends
        return blocked

    def _wait_for_room(self, in_flight: int) -> bool:
        """Wait until there is room; always return True."""
        self._room_wanted = self._was_blocked = True
        try:
            while self.outstanding >= in_flight:
                self._room_since_ns = 0
                self._room.clear()
                if self.outstanding >= in_flight:
                    self._room.wait(LOOK_EVERY_S)  # a client that gives up settles nothing: the next send raises
        finally:
            self._room_wanted = False
        self._readiness.released(self._room_since_ns or self._clock())
        return True

    def _make_room(self) -> None:
        """Wake the loop if it waits for room, as one message less is in flight."""
        self._room_since_ns = self._room_since_ns or self._clock()
        self._room.set()
