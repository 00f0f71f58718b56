"""Parses and writes a load with a growing number of clients: ``50,100,200@10s`` is three client counts of 10 s each.

The clients of the first step connect before the load. The clients that a later step adds connect one after the other
during its first half. The limits follow the steps, in milliseconds: ``50,100@10s,connect=2000,p99=500``.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf

from records.errors import UserError
from records.loads.rate_steps import MOST_S, MOST_STEPS, durations

LEAST_S = 5
"""Shortest step: its new clients connect in its first half."""
MOST_CLIENTS = 100_000
CONNECTING_SHARE = 0.5
"""Share of a step during which its new clients connect."""
CONNECT_MS, P99_MS = 2_000.0, 500.0
HOW = "write 50,100,200@10s, or 50,100@10s,connect=2000,p99=500: clients, seconds and milliseconds"
_STEP = re.compile(r"(\d+)(?:@(\d+)s?)?")
_LIMIT = re.compile(r"(connect|p99)=(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class ClientStep:
    """A total number of clients, and for how many seconds it lasts."""

    clients: int
    for_s: int


@dataclass(frozen=True)
class ClientSteps:
    """The steps of a load. A step is held if each client connected within ``connect_ms`` and the p99 from due to
    received was at most ``p99_ms``."""

    steps: tuple[ClientStep, ...]
    connect_ms: float = CONNECT_MS
    p99_ms: float = P99_MS

    @property
    def most(self) -> int:
        """The number of clients in the last step."""
        return self.steps[-1].clients

    @property
    def spans_s(self) -> list[tuple[int, int]]:
        """When each step begins and ends, in seconds of the load."""
        return list(pairwise([0, *accumulate(step.for_s for step in self.steps)]))

    @property
    def for_s(self) -> int:
        """The total duration of all steps, in seconds."""
        return self.spans_s[-1][1]

    def joins_s(self, index: int) -> float:
        """Return when the client with this index (from 0) connects, in seconds of the load; 0 if it connects before the
        load."""
        counts = [step.clients for step in self.steps]
        step = bisect_right(counts, index)
        if step == 0:
            return 0.0
        from_s, until_s = self.spans_s[step]
        share = (index - counts[step - 1]) / (counts[step] - counts[step - 1])
        return from_s + share * CONNECTING_SHARE * (until_s - from_s)

    def share(self, parts: int, place: int) -> "ClientSteps":
        """Return one client class's share of the steps. The first classes get the remainder."""
        steps = (ClientStep((step.clients + parts - 1 - place) // parts, step.for_s) for step in self.steps)
        return ClientSteps(tuple(steps), self.connect_ms, self.p99_ms)

    def __str__(self) -> str:
        """Return ``50@10s,100@10s,connect=2000,p99=500``."""
        steps = ",".join(f"{step.clients}@{step.for_s}s" for step in self.steps)
        return f"{steps},connect={self.connect_ms:g},p99={self.p99_ms:g}"


def parse_client_steps(text: str) -> ClientSteps:
    """Parse the steps. Raises UserError."""
    counts: list[int] = []
    times: list[int | None] = []
    limits = {"connect": CONNECT_MS, "p99": P99_MS}
    for part in map(str.strip, text.split(",")):
        if match := _STEP.fullmatch(part):
            _require_possible(text, float(match[1]), float(match[2] or 0))
            counts.append(int(match[1]))
            times.append(int(match[2] or 0) or None)
        elif match := _LIMIT.fullmatch(part):
            limits[match[1]] = float(match[2])
        else:
            raise UserError(f"{text}: {part!r} cannot be read; {HOW}")
    if times and times[-1] is None:
        raise UserError(f"{text}: the last step has no duration; {HOW}")
    steps = tuple(map(ClientStep, counts, durations(times)))
    _check(text, steps, limits)
    return ClientSteps(steps, limits["connect"], limits["p99"])


def _require_possible(text: str, clients: float, for_s: float) -> None:
    """Check the limits before the numbers become integers: `int` rejects numbers with thousands of digits."""
    if clients > MOST_CLIENTS:
        raise UserError(f"{text}: a step has at most {MOST_CLIENTS:,} clients; {HOW}")
    if for_s > MOST_S:
        raise UserError(f"{text}: a step lasts at most {MOST_S:,} s; {HOW}")


def _check(text: str, steps: tuple[ClientStep, ...], limits: dict[str, float]) -> None:
    if not steps:
        raise UserError(f"{text}: it has no number of clients; {HOW}")
    if len(steps) > MOST_STEPS:
        raise UserError(f"{text}: {len(steps):,} steps; write at most {MOST_STEPS:,}")
    if any(later.clients <= step.clients for step, later in pairwise(steps)):
        raise UserError(f"{text}: each step must have more clients than the one before; {HOW}")
    if any(step.for_s < LEAST_S for step in steps):
        raise UserError(f"{text}: a step lasts at least {LEAST_S} s; {HOW}")
    if not all(0 < limit_ms < inf for limit_ms in limits.values()):
        raise UserError(f"{text}: a limit must be more than 0 ms, and finite; {HOW}")
