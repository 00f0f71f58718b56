"""Describes the schedule of a producer, so that another process can compute when its messages were due."""

from typing import NamedTuple

from records.loads.rate_steps import format_steps, parse_steps
from records.loads.send_schedule import Schedule, SteppedSchedule, producer_schedule


class DescribedSchedule(NamedTuple):
    """The parts of a schedule that due times depend on. ``start_ns``: on the clock of the process that has it.

    ``steps``: as text; empty for a constant rate.
    """

    arrivals: str
    rate_per_s: float
    start_ns: int
    steps: str = ""


def described(schedule: Schedule) -> DescribedSchedule:
    """Return the description of a producer's schedule."""
    steps = format_steps(schedule.steps) if isinstance(schedule, SteppedSchedule) else ""
    return DescribedSchedule(schedule.arrivals.kind, schedule.rate_per_s, schedule.start_ns, steps)


def schedule_of(description: DescribedSchedule, seed: int, producer: int) -> Schedule:
    """Return the schedule of a producer in another process. It has no end: only its due times are of use."""
    return producer_schedule(
        description.arrivals,
        description.rate_per_s,
        seed,
        producer,
        start_ns=description.start_ns,
        steps=parse_steps(description.steps) if description.steps else (),
    )
