"""Waits after the load until consumers have received everything that can be delivered.

The producers are silent and the consumers go on until nothing moves. The wait ends as one of these:

- *drained*: every send is answered and every queue is empty.
- *stuck*: something is left, but nothing has moved for a while. Browsing then shows what it is.
- *timeout*: messages still moved when the time was up. Missing messages cannot be called lost.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scenarios.harness.run.brokers import BrokerEnvironment
from scenarios.harness.run.load import LOOK_EVERY_S
from scenarios.harness.run.load_generators import LoadGenerators
from scenarios.harness.run.record import RunRecord

log = logging.getLogger("brokerbench")

EMPTY_FOR_S = 1.0  # queues are read one broker after the other: a message may slip by between two of them
STUCK_AFTER_S = 5.0
TIMES_OF_WORK = 5
"""So many times as long as its consumers take for a message on average, something may well not move."""
STUCK_AFTER_A_FAULT_S = 35.0
"""When a broker was taken down: a bridge to it may try again as late as 30 s after it is back."""


@dataclass(frozen=True)
class DrainLimits:
    """How long to wait at most; how long empty queues must have been empty, and other ones as they are."""

    timeout_s: float
    empty_for_s: float = EMPTY_FOR_S
    stuck_after_s: float = STUCK_AFTER_S


@dataclass(frozen=True)
class Observation:
    """One look. ``unsettled``: sends without an outcome; ``waiting``: messages on all queues, None if not known."""

    at_s: float
    unsettled: int
    received: int
    waiting: int | None

    @property
    def empty(self) -> bool:
        return self.unsettled == 0 and self.waiting == 0

    @property
    def state(self) -> tuple[int, int, int | None]:
        return (self.unsettled, self.received, self.waiting)


def decide(seen: Sequence[Observation], limits: DrainLimits) -> str:
    """``wait``, ``drained``, ``stuck`` or ``timeout``, from all observations since the drain began (oldest first)."""
    last = seen[-1]
    if last.empty and _unchanged_for_s(seen) >= limits.empty_for_s:
        return "drained"
    if not last.empty and _unchanged_for_s(seen) >= limits.stuck_after_s:
        return "stuck"
    return "timeout" if last.at_s - seen[0].at_s >= limits.timeout_s else "wait"


def _unchanged_for_s(seen: Sequence[Observation]) -> float:
    """How long the last observation's state has been the same."""
    last = seen[-1]
    since_s = last.at_s
    for earlier in reversed(seen):
        if earlier.state != last.state:
            break
        since_s = earlier.at_s
    return last.at_s - since_s


def until_still(
    load_generators: LoadGenerators,
    brokers: BrokerEnvironment,
    run_record: RunRecord,
    limits: DrainLimits,
    given_up: Callable[[], bool],
) -> bool:
    """Wait for the end of the drain, and put down what it left unknown. False if the run was given up meanwhile."""
    seen: list[Observation] = []
    while not given_up():
        seen.append(_observe(load_generators, brokers))
        decision = decide(seen, limits)
        if decision != "wait":
            if decision != "drained":
                _unknown_if_moving(run_record, decision, seen[-1], limits.timeout_s, _unchanged_for_s(seen))
            return True
        time.sleep(LOOK_EVERY_S)
    return False


def _observe(load_generators: LoadGenerators, brokers: BrokerEnvironment) -> Observation:
    tally = load_generators.tally()
    return Observation(time.monotonic(), tally.sent - tally.settled, tally.received, brokers.waiting())


def _unknown_if_moving(
    run_record: RunRecord, decision: str, last: Observation, timeout_s: float, still_s: float
) -> None:
    left = f"{last.unsettled} sends unanswered, {last.waiting} messages on queues"
    if decision == "timeout":
        text = f"the drain ended after {timeout_s:g} s while messages still moved ({left})"
        run_record.unknown(text)
        run_record.unsearched(text)
        log.warning("%s; a longer --drain-timeout would tell", text)
    elif last.waiting is None:
        text = "whether the queues were empty after the drain is not known: a broker did not say"
        run_record.unknown(text)
        log.warning("%s", text)
    else:
        log.warning("nothing has moved for %.0f s: %s", still_s, left)
