"""How long do consumers go on after the load? Until nothing moves: `scenarios.harness.drain` decides, by each look."""

import logging
import time
from collections.abc import Callable

from scenarios.harness.chronicle import Chronicle
from scenarios.harness.crew import Crew
from scenarios.harness.drain import STUCK_AFTER_S, Observation, decide
from scenarios.harness.load import LOOK_EVERY_S
from scenarios.harness.stage import Stage

log = logging.getLogger("brokerbench")


def until_still(crew: Crew, stage: Stage, chronicle: Chronicle, timeout_s: float, given_up: Callable[[], bool]) -> bool:
    """Wait for the end of the drain, and put down what it left unknown. False if the run was given up meanwhile."""
    seen: list[Observation] = []
    while not given_up():
        seen.append(_observe(crew, stage))
        decision = decide(seen, timeout_s)
        if decision != "wait":
            if decision != "drained":
                _unknown_if_moving(chronicle, decision, seen[-1], timeout_s)
            return True
        time.sleep(LOOK_EVERY_S)
    return False


def _observe(crew: Crew, stage: Stage) -> Observation:
    tally = crew.tally()
    return Observation(time.monotonic(), tally.sent - tally.settled, tally.received, stage.waiting())


def _unknown_if_moving(chronicle: Chronicle, decision: str, last: Observation, timeout_s: float) -> None:
    left = f"{last.unsettled} sends unanswered, {last.waiting} messages on queues"
    if decision == "timeout":
        text = f"the drain ended after {timeout_s:g} s while messages still moved ({left})"
        chronicle.unknown(text)
        log.warning("%s; a longer --drain-timeout would tell", text)
    elif last.waiting is None:
        text = "whether the queues were empty after the drain is not known: a broker did not say"
        chronicle.unknown(text)
        log.warning("%s", text)
    else:
        log.warning("nothing has moved for %g s: %s", STUCK_AFTER_S, left)
