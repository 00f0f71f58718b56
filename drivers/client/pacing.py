"""Waits for the due time of a message, and counts the slots of a schedule that have not begun.

The loop that keeps a schedule is `drivers.client.schedule_loop`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from records.loads.send_schedule import Schedule

LEAD_NS = 350_000
"""A producer may be woken this long before its message is due, to create the message."""


def wait_until_due(due_ns: int, clock: Callable[[], int]) -> None:
    """Read the clock until ``due_ns``, for a producer that was woken early; return at once if it is over `LEAD_NS`
    away."""
    while 0 < due_ns - clock() <= LEAD_NS:
        pass


@dataclass
class ScheduleProgress:
    """A schedule, and the number of begun slots: messages sent, or attempted.

    ``counted``: the slots that were not begun are in the tally.
    """

    schedule: Schedule
    begun: int = 0
    counted: bool = False

    def unsent(self, now_ns: int) -> int:
        """Return the number of slots due by ``now_ns`` that have not begun."""
        return max(self.schedule.slots_due(now_ns) - self.begun, 0)

    def abandoned(self, now_ns: int) -> int:
        """Return the same as `unsent`, if sending has ended.

        A schedule that only a count ends loses all remaining slots.
        """
        count, ends_ns = self.schedule.count, self.schedule.ends_ns
        return self.unsent(now_ns) if count is None or ends_ns is not None else count - self.begun
