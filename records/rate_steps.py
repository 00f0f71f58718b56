"""Reads and writes a load whose rate changes: ``100,200,400@20s`` are three rates of 20 s each.

Each step is a rate, or ``100..1000`` for a rate that rises or falls evenly. ``@`` says for how many seconds it lasts.
Steps without a time take that of the next step which has one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from records.errors import UserError

LEAST_S = 5
"""A step is no shorter: its percentiles need messages, and JVMs are given their due times seconds ahead."""
MOST_S = 31 * 86_400
"""No load lasts longer, whatever its steps."""
LEAST_PER_S, MOST_PER_S = 0.001, 10_000_000
"""Between these lies each rate, of all producers together: no machine sends more, and no load is less."""
MOST_STEPS = 1_000
LEAST_SHARE = 0.99
"""A step is held if so much of what was due in its `judged_seconds` was sent, and received, within them."""
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_STEP = re.compile(rf"\s*({_NUMBER})(?:\.\.({_NUMBER}))?(?:@(\d+)s?)?\s*")


@dataclass(frozen=True)
class RateStep:
    """Messages a second from the beginning to the end of a step, evenly rising or falling between the two.

    ``rest``: the backlog of the step before it drains in it, so whether it is held is not asked.
    """

    from_per_s: float
    to_per_s: float
    for_s: int
    rest: bool = False

    @property
    def messages(self) -> float:
        """How many messages are due within the step."""
        return (self.from_per_s + self.to_per_s) / 2 * self.for_s

    def messages_in(self, seconds: range) -> float:
        """How many messages are due within these seconds, counted from the beginning of the step."""
        middle_s = (seconds.start + seconds.stop) / 2
        return (self.from_per_s + (self.to_per_s - self.from_per_s) * middle_s / self.for_s) * len(seconds)

    def of_one_in(self, producers: int) -> "RateStep":
        """One producer's share."""
        return RateStep(self.from_per_s / producers, self.to_per_s / producers, self.for_s, self.rest)

    def __str__(self) -> str:
        """``100..1000@60s``, exactly."""
        ramp = "" if self.to_per_s == self.from_per_s else f"..{_number(self.to_per_s)}"
        return f"{_number(self.from_per_s)}{ramp}@{self.for_s}s"


def parse_steps(text: str, load_s: float | None = None) -> tuple[RateStep, ...]:
    """The steps of a text. Raises UserError.

    ``load_s``: how long the load lasts, in seconds; it is divided evenly among steps without any time.
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
    steps = [RateStep(*rate, for_s) for rate, for_s in zip(rates, filled(times), strict=True)]
    for step in steps:
        _check(text, step)
    return tuple(steps)


def text_of(steps: Sequence[RateStep]) -> str:
    """What `parse_steps` reads the same steps from."""
    return ",".join(map(str, steps))


def ends_s(steps: Sequence[RateStep]) -> list[int]:
    """When each step ends, in seconds of the load."""
    return list(accumulate(step.for_s for step in steps))


def judged_seconds(from_s: int, until_s: int) -> range:
    """The seconds of a step that say whether it is held: not its first fifth, in which latency may still change.

    While it does, fewer messages arrive than are due, or more.
    """
    return range(from_s + ceil((until_s - from_s) / 5), until_s)


def _parsed(text: str, part: str) -> tuple[float, float, int | None]:
    match = _STEP.fullmatch(part)
    if not match:
        raise UserError(f"{text}: {part.strip()!r} is no rate; write 100, 100@20s or 100..1000@60s")
    from_per_s, to_per_s, for_s = match.groups()
    if for_s is not None and float(for_s) > MOST_S:  # compared as such: `int` refuses thousands of digits
        raise UserError(f"{text}: {part.strip()!r} lasts too long; a step lasts at most {MOST_S:,} s")
    return float(from_per_s), float(to_per_s or from_per_s), None if for_s is None else int(for_s)


def _even_share(text: str, times: Sequence[int | None], load_s: float | None) -> int:
    """How long the last step lasts, which has no time: as long as each of all, where none has one."""
    if any(times):
        raise UserError(f"{text}: the last step has no time; write @20s behind it")
    if load_s is None or load_s % len(times):
        raise UserError(f"{text}: {len(times)} steps cannot divide the load into whole seconds; write @20s")
    return int(load_s) // len(times)


def filled(times: Sequence[int | None]) -> list[int]:
    """How long each step lasts. One without a time takes that of the next one; the last one has a time."""
    last_first: list[int] = []
    for for_s in reversed(times):
        last_first.append(last_first[-1] if for_s is None else for_s)
    return last_first[::-1]


def _check(text: str, step: RateStep) -> None:
    if step.from_per_s <= 0 or step.to_per_s <= 0:
        raise UserError(f"{text}: the step {step} has the rate 0; a rate is more than 0 messages a second")
    if max(step.from_per_s, step.to_per_s) > MOST_PER_S:
        raise UserError(f"{text}: a rate is at most {MOST_PER_S:,} messages a second; write 100@20s")
    if step.for_s < LEAST_S:
        raise UserError(f"{text}: the step {step} is too short; a step lasts at least {LEAST_S} s")


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
