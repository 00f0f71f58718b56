"""A consumer's time per message: a fixed time, a uniform range, or an exponential distribution.

``--work-ms`` accepts:

    5                 5 ms each
    2..8              uniformly distributed between 2 and 8 ms
    exponential(5)    exponentially distributed with a mean of 5 ms
"""

import math
from dataclasses import dataclass
from random import Random

from records.calls import parse_call
from records.errors import about
from records.units import MS_PER_S

RULE = "write milliseconds such as 5, a range such as 2..8, or exponential(5)"


@dataclass(frozen=True)
class Work:
    """Milliseconds. A time is drawn from ``low_ms`` to ``high_ms``; if ``exponential``, both are its mean."""

    low_ms: float
    high_ms: float
    exponential: bool = False

    @classmethod
    def parse(cls, text: str) -> "Work | None":
        """Parse ``5``, ``2..8`` or ``exponential(5)``; None for 0: no work. Raises ValueError with the rule."""
        with about(f"{text!r}: "):
            call = parse_call(text)
        mean = ", ".join(call.texts) if call and call.name == "exponential" and not call.settings else ""
        low, dots, high = (mean, "", "") if mean else text.strip().partition("..")
        if not low or (dots and not high):
            raise ValueError(f"{text!r} cannot be read; {RULE}")
        low_ms = _milliseconds(text, low)
        high_ms = _milliseconds(text, high) if dots else low_ms
        if high_ms < low_ms:
            raise ValueError(f"{text!r}: a range begins with its lower end, such as 2..8")
        return cls(low_ms, high_ms, bool(mean)) if high_ms else None

    @property
    def mean_ms(self) -> float:
        return (self.low_ms + self.high_ms) / 2

    def draw_s(self, rng: Random) -> float:
        """Return the seconds for the next message."""
        if self.exponential:
            return rng.expovariate(MS_PER_S / self.mean_ms)
        return rng.uniform(self.low_ms, self.high_ms) / MS_PER_S


def _milliseconds(text: str, number: str) -> float:
    try:
        milliseconds = float(number)
    except ValueError:
        milliseconds = math.nan
    if not (math.isfinite(milliseconds) and milliseconds >= 0):
        raise ValueError(f"{text!r}: {number!r} is not a time in milliseconds; {RULE}")
    return milliseconds
