"""Parses and writes a load whose rate changes: ``100,200,400@20s`` is three rates of 20 s each.

Each step is a rate, or ``100..1000`` for a rate that rises or falls evenly. ``@`` gives its duration in seconds. A step
without a duration lasts as long as the next step that has one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from records.errors import UserError

LEAST_S = 5
"""Shortest step: its percentiles need messages, and JVMs receive their due times seconds ahead."""
MOST_S = 31 * 86_400
"""Longest load, regardless of the steps."""
LEAST_PER_S, MOST_PER_S = 0.001, 10_000_000
"""Lowest and highest rate of all producers together: no machine sends more, and less is not a load."""
MOST_STEPS = 1_000
LEAST_SHARE = 0.99
"""A step is held if at least this share of the messages due in its `judged_seconds` was sent, and received, within
them."""
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_STEP = re.compile(rf"\s*({_NUMBER})(?:\.\.({_NUMBER}))?(?:@(\d+)s?)?\s*")


@dataclass(frozen=True)
class RateStep:
    """Messages per second from the beginning to the end of a step, rising or falling evenly between the two.

    ``rest``: the backlog of the previous step drains in it, so it is not judged.
    """

    from_per_s: float
    to_per_s: float
    for_s: int
    rest: bool = False

    @property
    def messages(self) -> float:
        """The number of messages that are due within the step."""
        return (self.from_per_s + self.to_per_s) / 2 * self.for_s

    def messages_in(self, seconds: range) -> float:
        """Return the number of messages due within these seconds, counted from the beginning of the step."""
        middle_s = (seconds.start + seconds.stop) / 2
        return (self.from_per_s + (self.to_per_s - self.from_per_s) * middle_s / self.for_s) * len(seconds)

    def of_one_in(self, producers: int) -> "RateStep":
        """Return one producer's share."""
        return RateStep(self.from_per_s / producers, self.to_per_s / producers, self.for_s, self.rest)

    def __str__(self) -> str:
        """Return ``100..1000@60s``, with exact numbers."""
        ramp = "" if self.to_per_s == self.from_per_s else f"..{_number(self.to_per_s)}"
        return f"{_number(self.from_per_s)}{ramp}@{self.for_s}s"


def parse_steps(text: str, load_s: float | None = None) -> tuple[RateStep, ...]:
    """Parse the steps. Raises UserError.

    ``load_s``: the duration of the load in seconds. It is divided evenly among the steps if none has a duration.
    """
    rates: list[tuple[float, float]] = []
    times: list[int | None] = []
    if text.count(",") >= MOST_STEPS:
        raise UserError(f"{text}: {text.count(',') + 1:,} steps; write at most {MOST_STEPS:,}")
    for part in text.split(","):
        from_per_s, to_per_s, for_s = _parsed(text, part)
        rates.append((from_per_s, to_per_s))
        times.append(for_s)
    if times[-1] is None:
        times[-1] = _even_share(text, times, load_s)
    steps = [RateStep(*rate, for_s) for rate, for_s in zip(rates, durations(times), strict=True)]
    for step in steps:
        _check(text, step)
    return tuple(steps)


def format_steps(steps: Sequence[RateStep]) -> str:
    """Return the steps as text that `parse_steps` can read."""
    return ",".join(map(str, steps))


def ends_s(steps: Sequence[RateStep]) -> list[int]:
    """Return when each step ends, in seconds of the load."""
    return list(accumulate(step.for_s for step in steps))


def judged_seconds(from_s: int, until_s: int) -> range:
    """Return the seconds of a step that decide whether it is held: all but its first fifth.

    Latency may still change in the first fifth, and then fewer messages arrive than are due, or more.
    """
    return range(from_s + ceil((until_s - from_s) / 5), until_s)


def _parsed(text: str, part: str) -> tuple[float, float, int | None]:
    match = _STEP.fullmatch(part)
    if not match:
        raise UserError(f"{text}: {part.strip()!r} is not a rate; write 100, 100@20s or 100..1000@60s")
    from_per_s, to_per_s, for_s = match.groups()
    if for_s is not None and float(for_s) > MOST_S:  # compared as a float: `int` rejects thousands of digits
        raise UserError(f"{text}: {part.strip()!r} lasts too long; a step lasts at most {MOST_S:,} s")
    return float(from_per_s), float(to_per_s or from_per_s), None if for_s is None else int(for_s)


def _even_share(text: str, times: Sequence[int | None], load_s: float | None) -> int:
    """Return the duration of the last step if it has none: an even share of the load if no step has a duration."""
    if any(times):
        raise UserError(f"{text}: the last step has no duration; write @20s after it")
    if load_s is None or load_s % len(times):
        raise UserError(f"{text}: {len(times)} steps cannot divide the load into whole seconds; write @20s")
    return int(load_s) // len(times)


def durations(times: Sequence[int | None]) -> list[int]:
    """Return the duration of each step; a missing duration is that of the next step. The last step always has one."""
    last_first: list[int] = []
    for for_s in reversed(times):
        last_first.append(last_first[-1] if for_s is None else for_s)
    return last_first[::-1]


def _check(text: str, step: RateStep) -> None:
    if step.from_per_s <= 0 or step.to_per_s <= 0:
        raise UserError(f"{text}: the step {step} has the rate 0; a rate must be more than 0 messages per second")
    if max(step.from_per_s, step.to_per_s) > MOST_PER_S:
        raise UserError(f"{text}: a rate is at most {MOST_PER_S:,} messages per second; write 100@20s")
    if step.for_s < LEAST_S:
        raise UserError(f"{text}: the step {step} is too short; a step lasts at least {LEAST_S} s")


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
