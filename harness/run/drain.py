"""Waits after the load until consumers have received everything that can be delivered.

The producers are silent, and the consumers go on until no message moves. The wait has one of these results:

- *drained*: every send is answered and every queue is empty.
- *stuck*: messages are left, but nothing has moved for a while. Browsing then shows the messages.
- *timeout*: the time was up while messages still moved, or before it was certain that they were stuck. Missing
  messages then do not count as lost.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.run.brokers import BrokerEnvironment
from harness.run.load import LOOK_EVERY_S
from harness.run.load_generators import LoadGenerators
from harness.run.record import RunRecord

log = logging.getLogger("brokerbench")

EMPTY_FOR_S = 1.0  # brokers are read one after another, so a moving message can be missed by one look
STUCK_AFTER_S = 5.0
TIMES_OF_WORK = 5
"""Queues can stay unchanged for this many times the consumers' mean work time."""
STUCK_AFTER_A_FAULT_S = 35.0
"""The same after a fault that takes brokers down, while a link is down or a client is disconnected: a bridge or a
client may need up to 30 s to reconnect to a restarted broker."""


@dataclass(frozen=True)
class DrainLimits:
    """Time limits of the drain in seconds.

    ``timeout_s``: the maximum. If nothing moves at that time, the wait goes on until the messages count as stuck.
    ``empty_for_s``: the time for which queues must stay empty. ``stuck_after_s``: the time for which other queues must
    stay unchanged. ``reconnecting_s``: the same while the network is not whole; 0 if that makes no difference.
    """

    timeout_s: float
    empty_for_s: float = EMPTY_FOR_S
    stuck_after_s: float = STUCK_AFTER_S
    reconnecting_s: float = 0.0

    @property
    def stuck_for_certain_s(self) -> float:
        return max(self.stuck_after_s, self.reconnecting_s)


@dataclass(frozen=True)
class Observation:
    """The state at one moment. ``unsettled``: sends without an outcome; ``waiting``: messages on all queues or None.

    ``whole``: whether all links are up and all clients are connected, as far as the limits depend on that.
    """

    at_s: float
    unsettled: int
    received: int
    waiting: int | None
    whole: bool = False

    @property
    def empty(self) -> bool:
        return self.unsettled == 0 and self.waiting == 0


def decide(observations: Sequence[Observation], limits: DrainLimits) -> str:
    """Return ``wait``, ``drained``, ``stuck`` or ``timeout`` from all observations of the drain, oldest first."""
    last = observations[-1]
    unchanged_s = _unchanged_for_s(observations)
    if last.empty and unchanged_s >= limits.empty_for_s:
        return "drained"
    if not last.empty and unchanged_s >= limits.stuck_for_certain_s:
        return "stuck"
    if not last.empty and min(unchanged_s, _whole_for_s(observations)) >= limits.stuck_after_s:
        return "stuck"
    passed_s = last.at_s - observations[0].at_s
    if passed_s < limits.timeout_s:
        return "wait"
    seems_stuck = not last.empty and unchanged_s >= STUCK_AFTER_S
    return "wait" if seems_stuck and passed_s < limits.timeout_s + limits.stuck_for_certain_s else "timeout"


def _unchanged_for_s(observations: Sequence[Observation]) -> float:
    """Return for how long the state has equaled the last observation's. Unknown numbers count as unchanged."""
    last = observations[-1]
    since_s, waiting = last.at_s, last.waiting
    for earlier in reversed(observations):
        depths_differ = None not in (earlier.waiting, waiting) and earlier.waiting != waiting
        if (earlier.unsettled, earlier.received) != (last.unsettled, last.received) or depths_differ:
            break
        since_s, waiting = earlier.at_s, earlier.waiting if waiting is None else waiting
    return last.at_s - since_s


def _whole_for_s(observations: Sequence[Observation]) -> float:
    """Return for how long the network has been whole; 0 if it is not."""
    broken_at = next((number for number in range(len(observations), 0, -1) if not observations[number - 1].whole), 0)
    return observations[-1].at_s - observations[broken_at].at_s if broken_at < len(observations) else 0.0


def still_for_s(observations: Sequence[Observation]) -> float:
    """Return the time without a received message, an answered send or a shrinking queue.

    Messages that circulate in a network change the depths of queues without any progress.
    """
    last = observations[-1]
    since_s, least = last.at_s, last.waiting
    for earlier in reversed(observations):
        shorter = earlier.waiting is not None and least is not None and earlier.waiting > least
        if (earlier.unsettled, earlier.received) != (last.unsettled, last.received) or shorter:
            break
        since_s, least = earlier.at_s, earlier.waiting if least is None else least
    return last.at_s - since_s


def wait_until_still(
    load_generators: LoadGenerators,
    brokers: BrokerEnvironment,
    run_record: RunRecord,
    limits: DrainLimits,
    given_up: Callable[[], bool],
    users: int = 0,
) -> bool:
    """Wait for the end of the drain, and record unknown facts. Return False if the run was abandoned.

    ``users``: the number of users that are connected if the network is whole.
    """
    seen: list[Observation] = []
    while not given_up():
        whole = limits.reconnecting_s > 0 and _is_whole(load_generators, brokers, users)
        seen.append(_observe(load_generators, brokers, whole))
        decision = decide(seen, limits)
        if decision != "wait":
            if decision != "drained":
                _put_down(run_record, decision, seen, limits)
            return True
        time.sleep(LOOK_EVERY_S)
    return False


def _is_whole(load_generators: LoadGenerators, brokers: BrokerEnvironment, users: int) -> bool:
    """Whether all clients are connected, all brokers run and all links are up."""
    losses = load_generators.tally().losses
    all_back = all(loss.back_ns is not None for loss in list(losses.by_client.values()))
    return all_back and losses.connected >= users and brokers.are_all_linked()


def _observe(load_generators: LoadGenerators, brokers: BrokerEnvironment, whole: bool) -> Observation:
    tally = load_generators.tally()
    return Observation(time.monotonic(), tally.sent - tally.settled, tally.received, brokers.waiting(), whole)


def _put_down(run_record: RunRecord, decision: str, observations: Sequence[Observation], limits: DrainLimits) -> None:
    last = observations[-1]
    if decision == "timeout":
        text = timeout_text(observations, limits)
        run_record.unknown(text)
        run_record.unsearched(text)
        log.warning("%s; increase --drain-timeout to find out", text)
    elif last.waiting is None:
        text = "it is not known whether the queues were empty after the drain: a broker did not answer"
        run_record.unknown(text)
        log.warning("%s", text)
    else:
        log.warning("nothing has moved for %.0f s: %s", _unchanged_for_s(observations), _remaining(last))


def timeout_text(observations: Sequence[Observation], limits: DrainLimits) -> str:
    """Describe whether messages moved when the time was up, or how long they had been still."""
    begin, last, still_s = observations[0], observations[-1], still_for_s(observations)
    ended, remaining = f"the drain ended after {limits.timeout_s:g} s", _remaining(last)
    if still_s >= min(STUCK_AFTER_S, last.at_s - begin.at_s) > 0:
        return (
            f"{ended} while nothing had moved for {still_s:.3g} s ({remaining}), but messages count as stuck only "
            f"after {limits.stuck_for_certain_s:g} s"
        )
    if last.at_s == begin.at_s:
        return f"{ended} before it was known whether messages still moved ({remaining})"
    return f"{ended} while messages still moved ({remaining})"


def _remaining(last: Observation) -> str:
    waiting = "an unknown number of" if last.waiting is None else f"{last.waiting}"
    return f"{last.unsettled} sends unanswered, {waiting} messages on queues"
