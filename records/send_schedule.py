"""Computes when each message of a producer is due: a schedule at a fixed rate or in steps.

The load is open-loop: slot ``n`` is due at ``start + phase + n / rate``, regardless of earlier slots. Message ``n`` of
a producer (its `seq`) is slot ``n``. Clients keep these schedules, and the analysis computes from them which messages
were due.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, inf, sqrt

from records.rate_steps import RateStep
from records.units import NS_PER_S


@dataclass
class Schedule:
    """The due times of one producer. ``count`` limits the slots; slots due at ``ends_ns`` or later are left out.

    Only ``ends_ns`` may change: it is known once the warm-up is over, and only ever becomes earlier.
    """

    start_ns: int
    rate_per_s: float
    phase_ns: int = 0
    count: int | None = None
    ends_ns: int | None = None

    def due_ns(self, slot: int) -> int | None:
        """Return when slot 0, 1, 2 … is due, or None once the schedule is over."""
        if self.count is not None and slot >= self.count:
            return None
        due_ns = self.planned_ns(slot)
        return due_ns if self.ends_ns is None or due_ns < self.ends_ns else None

    def planned_ns(self, slot: int) -> int:
        """Return when slot 0, 1, 2 … is due, if the schedule is not over by then."""
        return self.start_ns + self.phase_ns + round(slot * NS_PER_S / self.rate_per_s)

    def load_is(self, began_ns: int, ends_ns: int | None) -> None:
        """Set the begin and end of the load, once the warm-up is over."""
        self.ends_ns = ends_ns

    def due_by(self, now_ns: int, slot: int, most: int) -> list[tuple[int, int]]:
        """Return the slots from ``slot`` on that are due by ``now_ns``, at most ``most``, each with its due time
        (ns)."""
        due = []
        for each in range(slot, slot + most):
            due_ns = self.due_ns(each)
            if due_ns is None or due_ns > now_ns:
                break
            due.append((each, due_ns))
        return due

    def slots_due(self, now_ns: int) -> int:
        """Return how many slots are due by ``now_ns``."""
        slots = self.slots_planned(now_ns if self.ends_ns is None else min(now_ns, self.ends_ns - 1))
        return slots if self.count is None else min(slots, self.count)

    def slots_planned(self, by_ns: int) -> int:
        """Return how many slots are due by that time, if the schedule is not over by then."""
        passed_ns = by_ns - self.start_ns - self.phase_ns
        return max(int(passed_ns * self.rate_per_s / NS_PER_S) + 1, 0) if passed_ns >= 0 else 0


def random_phase_ns(rate_per_s: float, seed: int, client: int) -> int:
    """Return the offset of a producer's start within its period, so that producers do not send in step: 0 <= phase <
    period."""
    return int(random.Random(f"{seed}:{client}").random() * NS_PER_S / rate_per_s)


def share(total: int, parts: int, index: int) -> int:
    """Return how many of ``total`` messages the producer ``index`` of ``parts`` sends: they add up to ``total``."""
    return total // parts + (1 if index < total % parts else 0)


@dataclass(frozen=True)
class _Segment:
    """A step of one producer: its beginning (ns), the number of slots before it, and how its rate changes."""

    from_ns: int
    slots_before: float
    rate_per_s: float
    rise_per_s2: float

    def due_ns(self, slot: int) -> int:
        """Return when the slot is due, by a form of the quadratic's solution that also holds for a constant rate."""
        slots = slot - self.slots_before
        root = sqrt(max(self.rate_per_s**2 + 2 * self.rise_per_s2 * slots, 0.0))
        return self.from_ns + round(2 * slots / (self.rate_per_s + root) * NS_PER_S)

    def slots_by(self, at_ns: int) -> float:
        """Return how many slots are due before that time, within the step."""
        passed_s = (at_ns - self.from_ns) / NS_PER_S
        return self.slots_before + passed_s * (self.rate_per_s + self.rise_per_s2 * passed_s / 2)


@dataclass
class SteppedSchedule(Schedule):
    """The due times of one producer whose rate changes. ``rate_per_s``: the rate of the warm-up, at which it begins.

    ``steps``: the producer's own share of each. The last step's rate continues, until `change` sets other steps. Until
    `load_is` sets the beginning of the load, the warm-up continues.
    """

    steps: Sequence[RateStep] = ()

    def __post_init__(self) -> None:
        warm_up = _Segment(self.start_ns + self.phase_ns, 0.0, self.rate_per_s, 0.0)
        self._plan = _Plan([warm_up])

    def load_is(self, began_ns: int, ends_ns: int | None) -> None:
        """See `Schedule.load_is`."""
        super().load_is(began_ns, ends_ns)
        (warm_up, *_) = self._plan.segments
        self._plan = _Plan([warm_up, *_segments(self.steps, began_ns, warm_up.slots_by(began_ns))])

    def change(self, from_ns: int, steps: Sequence[RateStep]) -> None:
        """Replace the steps from ``from_ns`` on. Slots that are due later must not have been requested yet."""
        segments = [segment for segment in self._plan.segments if segment.from_ns < from_ns]
        self._plan = _Plan([*segments, *_segments(steps, from_ns, segments[-1].slots_by(from_ns))])

    def planned_ns(self, slot: int) -> int:
        """See `Schedule.planned_ns`."""
        return self._plan.with_slot(slot).due_ns(slot)

    def slots_planned(self, by_ns: int) -> int:
        """See `Schedule.slots_planned`. Compares with due times, as the arithmetic is not exact."""
        slots = max(floor(self._plan.at(by_ns).slots_by(by_ns)), 0)
        while self.planned_ns(slots) <= by_ns:
            slots += 1
        while slots and self.planned_ns(slots - 1) > by_ns:
            slots -= 1
        return slots


class _Plan:
    """The warm-up and the steps, with lookup by slot and by time. The warm-up comes first regardless of its first slot.

    The load may begin before that slot.
    """

    def __init__(self, segments: Sequence[_Segment]) -> None:
        self.segments = segments
        self._slots_before = [-inf, *(segment.slots_before for segment in segments[1:])]
        self._from_ns = [-inf, *(segment.from_ns for segment in segments[1:])]

    def with_slot(self, slot: int) -> _Segment:
        return self.segments[bisect_right(self._slots_before, slot) - 1]

    def at(self, at_ns: int) -> _Segment:
        return self.segments[bisect_right(self._from_ns, at_ns) - 1]


def _segments(steps: Sequence[RateStep], began_ns: int, slots_before: float) -> Iterator[_Segment]:
    """Yield the steps in order, and then the last rate forever."""
    for step in steps:
        yield _Segment(began_ns, slots_before, step.from_per_s, (step.to_per_s - step.from_per_s) / step.for_s)
        began_ns, slots_before = began_ns + step.for_s * NS_PER_S, slots_before + step.messages
    yield _Segment(began_ns, slots_before, steps[-1].to_per_s, 0.0)
