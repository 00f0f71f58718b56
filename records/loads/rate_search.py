"""Parses and writes a load that searches for the highest rate: ``search(200, step=10, p99=500)``."""

from dataclasses import dataclass
from math import inf
from typing import Any

from records.calls import parse_call
from records.declared_types import misfits
from records.errors import UserError, about
from records.figures.percentiles import values_needed
from records.figures.step_judgement import MARGIN, P99, seconds_for_p99
from records.loads.rate_steps import LEAST_PER_S, LEAST_S, MOST_PER_S, MOST_S, RateStep, judged_seconds

FIELDS = {"rate": "begin_per_s", "step": "step_s", "p99": "p99_ms"}
REST_PER_S = 0.5
"""Rate of each producer in a rest: high enough to check its schedule again before a new rate begins."""
AFTER_A_STEP_S = 2
"""Seconds from the end of a step until its result is known."""
LONGEST_STEP_S = 120
"""A step is lengthened to at most this, so that its p99 has enough messages."""
EXPECTED_TRIES, EXPECTED_REST_S = 12, 8
"""From 200 to some thousand messages per second: about six rates until one is not held, four to close in, two again."""
HOW = "write search, search(200), or search(200, step=10, p99=500): messages per second, seconds and milliseconds"


@dataclass(frozen=True)
class SearchSettings:
    """``begin_per_s``: the first rate to try, in messages per second of all producers together.

    ``step_s``: the shortest time for which a rate is tried: see `step_for`. ``p99_ms``: a rate is held only if the p99
    from due to received is at most this. Raises UserError.
    """

    begin_per_s: float = 200
    step_s: int = 10
    p99_ms: float = 500

    def __post_init__(self) -> None:
        if problem := misfits(self):
            raise UserError(f"search: {problem}")
        if not (0 < self.begin_per_s < inf and 0 < self.p99_ms < inf):
            raise UserError(f"{self}: the rate and p99 must be more than 0, and finite; {HOW}")
        if not LEAST_PER_S <= self.begin_per_s <= MOST_PER_S:
            problem = f"the rate must be at least {LEAST_PER_S:g} and at most {MOST_PER_S:,} messages per second"
            raise UserError(f"{self}: {problem}; {HOW}")
        if self.step_s < LEAST_S:
            raise UserError(f"{self}: a step lasts at least {LEAST_S} s; {HOW}")
        if self.step_s > MOST_S:
            raise UserError(f"{self}: a step lasts at most {MOST_S:,} s; {HOW}")

    def first_steps(self, producers: int) -> tuple[RateStep, ...]:
        """Return the steps that are known before the load: the first rate, and the rest after it."""
        return RateStep(
            self.begin_per_s, self.begin_per_s, self.step_for(self.begin_per_s, producers)
        ), make_pause_step(producers)

    def step_for(self, per_s: float, producers: int, copies: float = 1.0, timed_share: float = 1.0) -> int:
        """Return the seconds for which a rate is tried: at least ``step_s``, at most `LONGEST_STEP_S`.

        It is longer than ``step_s`` if the p99 needs more messages.

        ``copies``: deliveries per message. ``timed_share``: the share of deliveries whose latency is known at once.
        """
        timed_per_s = per_s * copies * timed_share
        needed_s = seconds_for_p99(timed_per_s, producers) if timed_per_s else inf
        return int(needed_s) if self.step_s < needed_s <= LONGEST_STEP_S else self.step_s

    def least_per_s(self, producers: int, copies: float) -> float:
        """Return the lowest rate worth trying: a lower one has no p99, or leaves producers without a message for too
        long."""
        judged_s = len(judged_seconds(0, max(self.step_s, LONGEST_STEP_S)))
        return max(float(producers), (MARGIN * values_needed(P99) + producers) / judged_s / copies)

    @property
    def expected_s(self) -> float:
        """Approximate duration; docs/scenarios/capacity.md has measured durations."""
        return float(EXPECTED_TRIES * (self.step_for(self.begin_per_s, 1) + EXPECTED_REST_S))

    def __str__(self) -> str:
        return f"search({self.begin_per_s:g}, step={self.step_s:g}, p99={self.p99_ms:g})"


def make_pause_step(producers: int, for_s: int = LEAST_S) -> RateStep:
    """Return a step that lets the backlog of the previous step drain."""
    return RateStep(REST_PER_S * producers, REST_PER_S * producers, for_s, rest=True)


def is_search(text: str) -> bool:
    """Whether ``--rate`` requests a search, even if it is written incorrectly."""
    return text.strip().startswith("search")


def parse_search(text: str) -> SearchSettings:
    """Parse a search. Raises UserError."""
    with about(f"{text}: "):
        call = parse_call(text)
    if call is None or call.name != "search":
        raise UserError(f"{text}: cannot be read; {HOW}")
    settings: dict[str, Any] = {}
    begin = (("rate", rate, rate) for rate in call.texts)
    named = ((name, number, f"{name}={number}") for name, number in call.settings.items())
    for name, number, written in (*begin, *named):
        field = FIELDS.get(name)
        if field is None or field in settings:
            raise UserError(f"{text}: {written!r} is not known, or given twice; {HOW}")
        try:
            settings[field] = float(number)
        except ValueError:
            raise UserError(f"{text}: {written!r} is not a number; {HOW}") from None
    if "step_s" in settings:
        if not settings["step_s"].is_integer():
            raise UserError(f"{text}: a step lasts a whole number of seconds; {HOW}")
        settings["step_s"] = int(settings["step_s"])
    return SearchSettings(**settings)
