"""Ends a load whose clients become more after the first step that was not held.

What is decided here steers the load only. Whether a step was held is told by the analysis, from the recorded events.
"""

import logging

from drivers.users.live_latency import RECEIVED
from drivers.users.session import Tally, Window
from records.client_steps import ClientSteps
from records.percentiles import quantiles_ns
from records.units import NS_PER_MS, NS_PER_S
from scenarios.harness.run.rate_search import GRACE_S, within

log = logging.getLogger("brokerbench")

LEAST_MESSAGES = 1_000
"""A p99 takes so many."""


class ClientStepsWatch:
    """Looks at each step of one run when it is over."""

    def __init__(self, clients: ClientSteps) -> None:
        self._clients = clients
        self._judged = 0  # how many of the steps

    @property
    def live_s(self) -> int:
        """For how many seconds back receptions have to be known by second."""
        return max(step.for_s for step in self._clients.steps) + 3

    def is_over(self, tally: Tally, window: Window, now_ns: int) -> bool:
        """Whether a step is over that was not held: no further client has to be added then."""
        now_s = (now_ns - window.load_began_ns) / NS_PER_S
        if window.is_open or self._judged == len(self._clients.steps):
            return False
        step, (from_s, until_s) = self._clients.steps[self._judged], self._clients.spans_s[self._judged]
        if now_s < until_s + GRACE_S:
            return False
        self._judged += 1
        connected, p99_ms = tally.ready.total(), p99_of(tally, range(from_s, until_s))
        held = connected >= step.clients and (p99_ms is None or p99_ms <= self._clients.p99_ms)
        p99 = "" if p99_ms is None else f", 99 % within {p99_ms:.3g} ms"
        told = "held" if held else "not held, so the load ends"
        log.info("%s clients: %s: %s connected%s", f"{step.clients:,}", told, f"{connected:,}", p99)
        return not held


def p99_of(tally: Tally, seconds: range) -> float | None:
    """From due to received, in milliseconds; None if too few messages were received in these seconds."""
    timed = within(tally.live.seconds(RECEIVED), seconds)
    (p99_ns,) = quantiles_ns(timed, [0.99])
    return None if p99_ns is None or timed.total() < LEAST_MESSAGES else p99_ns / NS_PER_MS
