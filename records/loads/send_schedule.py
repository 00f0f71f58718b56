"""Computes when each message of a producer is due: a schedule at a constant rate or in steps.

The load is open-loop: slot ``n`` is due at ``start + phase + place(n) / rate``, regardless of earlier slots. Its place
is ``n`` with fixed arrivals, and random with Poisson arrivals (`records.loads.arrivals`). Message ``n`` of a producer
(its `seq`) is slot ``n``. Clients keep these schedules, and the analysis computes from them which messages were due.

A closed load has no schedule: `ClosedSchedule` only says when a producer begins and ends.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

from records.loads.arrivals import CLOSED, FIXED, Arrivals, FixedArrivals, arrivals_of
from records.loads.rate_steps import RateStep
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
    arrivals: Arrivals = field(default_factory=FixedArrivals)

    def due_ns(self, slot: int) -> int | None:
        """Return when slot 0, 1, 2 … is due, or None once the schedule is over."""
        if self.count is not None and slot >= self.count:
            return None
        due_ns = self.planned_ns(slot)
        return due_ns if self.ends_ns is None or due_ns < self.ends_ns else None

    def planned_ns(self, slot: int) -> int:
        """Return when slot 0, 1, 2 … is due, if the schedule is not over by then."""
        return self.start_ns + self.phase_ns + round(self.arrivals.place(slot) * NS_PER_S / self.rate_per_s)

    def set_load_times(self, began_ns: int, ends_ns: int | None) -> None:
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
        """Return the number of slots due by ``now_ns``."""
        slots = self.slots_planned(now_ns if self.ends_ns is None else min(now_ns, self.ends_ns - 1))
        return slots if self.count is None else min(slots, self.count)

    def slots_planned(self, by_ns: int) -> int:
        """Return the number of slots due by that time, if the schedule is not over by then."""
        return self._compared((by_ns - self.start_ns - self.phase_ns) * self.rate_per_s / NS_PER_S, by_ns)

    def _compared(self, place: float, by_ns: int) -> int:
        """Return the number of slots due by ``by_ns``, which is ``place``.

        Compares due times, as the arithmetic is inexact.
        """
        slots = self.arrivals.slots_by(place)
        while self.planned_ns(slots) <= by_ns:
            slots += 1
        while slots and self.planned_ns(slots - 1) > by_ns:
            slots -= 1
        return slots


@dataclass
class ClosedSchedule(Schedule):
    """The sends of a producer that sends again as soon as its last send is answered. Nothing is ever due.

    ``answered_ns``: when the last send was answered; 0 before the first one.
    """

    answered_ns: int = 0

    def planned_ns(self, slot: int) -> int:
        """Return when the next message may be sent: once the last one is answered."""
        return max(self.start_ns, self.answered_ns)

    def due_by(self, now_ns: int, slot: int, most: int) -> list[tuple[int, int]]:
        """Return no slots: none is late."""
        return []

    def slots_due(self, now_ns: int) -> int:
        """Return 0: the number of messages depends on the answers."""
        return 0


def random_phase_ns(rate_per_s: float, seed: int, client: int) -> int:
    """Return the offset of a producer's start within its period, so that producers do not send in step: 0 <= phase <
    period."""
    return int(random.Random(f"{seed}:{client}").random() * NS_PER_S / rate_per_s)


def share(total: int, parts: int, index: int) -> int:
    """Return the producer's share of ``total`` messages, for index ``index`` of ``parts``.

    The shares add up to ``total``.
    """
    return total // parts + (1 if index < total % parts else 0)


@dataclass(frozen=True)
class _Segment:
    """A step of one producer: its beginning (ns), the place at its beginning, and how its rate changes."""

    from_ns: int
    from_place: float
    rate_per_s: float
    rise_per_s2: float

    def due_ns(self, place: float) -> int:
        """Return the time of a place, by a form of the quadratic's solution that also holds for a constant rate."""
        slots = place - self.from_place
        root = sqrt(max(self.rate_per_s**2 + 2 * self.rise_per_s2 * slots, 0.0))
        return self.from_ns + round(2 * slots / (self.rate_per_s + root) * NS_PER_S)

    def place_at(self, at_ns: int) -> float:
        """Return the place at a time within the step."""
        passed_s = (at_ns - self.from_ns) / NS_PER_S
        return self.from_place + passed_s * (self.rate_per_s + self.rise_per_s2 * passed_s / 2)


@dataclass
class SteppedSchedule(Schedule):
    """The due times of one producer whose rate changes. ``rate_per_s``: the rate of the warm-up, at which it begins.

    ``steps``: the producer's own share of each. The last step's rate continues, until `change` sets other steps. Until
    `set_load_times` sets the beginning of the load, the warm-up continues.
    """

    steps: Sequence[RateStep] = ()

    def __post_init__(self) -> None:
        warm_up = _Segment(self.start_ns + self.phase_ns, 0.0, self.rate_per_s, 0.0)
        self._plan = _Plan([warm_up])

    def set_load_times(self, began_ns: int, ends_ns: int | None) -> None:
        """See `Schedule.set_load_times`."""
        super().set_load_times(began_ns, ends_ns)
        (warm_up, *_) = self._plan.segments
        self._plan = _Plan([warm_up, *_segments(self.steps, began_ns, warm_up.place_at(began_ns))])

    def change(self, from_ns: int, steps: Sequence[RateStep]) -> None:
        """Replace the steps from ``from_ns`` on. Slots that are due later must not have been requested yet."""
        segments = [segment for segment in self._plan.segments if segment.from_ns < from_ns]
        self._plan = _Plan([*segments, *_segments(steps, from_ns, segments[-1].place_at(from_ns))])

    def planned_ns(self, slot: int) -> int:
        """See `Schedule.planned_ns`."""
        place = self.arrivals.place(slot)
        return self._plan.with_place(place).due_ns(place)

    def slots_planned(self, by_ns: int) -> int:
        """See `Schedule.slots_planned`."""
        return self._compared(self._plan.at(by_ns).place_at(by_ns), by_ns)


class _Plan:
    """The warm-up and the steps, with lookup by place and by time. The warm-up comes first, wherever its first slot is.

    The load may begin before that slot.
    """

    def __init__(self, segments: Sequence[_Segment]) -> None:
        self.segments = segments
        self._from_places = [-inf, *(segment.from_place for segment in segments[1:])]
        self._from_ns = [-inf, *(segment.from_ns for segment in segments[1:])]

    def with_place(self, place: float) -> _Segment:
        return self.segments[bisect_right(self._from_places, place) - 1]

    def at(self, at_ns: int) -> _Segment:
        return self.segments[bisect_right(self._from_ns, at_ns) - 1]


def _segments(steps: Sequence[RateStep], began_ns: int, from_place: float) -> Iterator[_Segment]:
    """Yield the steps in order, and then the last rate forever."""
    for step in steps:
        yield _Segment(began_ns, from_place, step.from_per_s, (step.to_per_s - step.from_per_s) / step.for_s)
        began_ns, from_place = began_ns + step.for_s * NS_PER_S, from_place + step.messages
    yield _Segment(began_ns, from_place, steps[-1].to_per_s, 0.0)


def producer_schedule(
    kind: str,
    rate_per_s: float,
    seed: int,
    client: int,
    *,
    start_ns: int,
    steps: Sequence[RateStep] = (),
    count: int | None = None,
    ends_ns: int | None = None,
) -> Schedule:
    """Return the schedule of one producer of a run.

    ``kind``: one of `records.loads.arrivals.LOADS`. ``steps``: the producer's own share of each; empty if its rate does
    not change. With fixed arrivals it begins at a random phase, so that producers do not send in step.
    """
    if kind == CLOSED:
        return ClosedSchedule(start_ns, rate_per_s, count=count, ends_ns=ends_ns)
    phase_ns = random_phase_ns(rate_per_s, seed, client) if kind == FIXED else 0
    schedule = Schedule(start_ns, rate_per_s, phase_ns, count, ends_ns, arrivals_of(kind, seed, client))
    return SteppedSchedule(**vars(schedule), steps=steps) if steps else schedule
