"""Is everything delivered that can be? Decided from what was seen so far; `scenarios.harness.draining` looks.

After the load the producers are silent and the consumers go on until nothing moves any more. Waiting ends as *drained*
(every send answered, every queue empty), *stuck* (something is left, but nothing has moved for a while: browsing will
tell what) or *timeout* (still moving when the time is up, so that what is missing cannot be called lost).
"""

from collections.abc import Sequence
from dataclasses import dataclass

EMPTY_FOR_S = 1.0  # queues are read one broker after the other: a message may slip by between two of them
STUCK_AFTER_S = 5.0


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


def decide(seen: Sequence[Observation], timeout_s: float) -> str:
    """``wait``, ``drained``, ``stuck`` or ``timeout``, from all observations since the drain began (oldest first)."""
    last = seen[-1]
    if last.empty and _unchanged_for_s(seen) >= EMPTY_FOR_S:
        return "drained"
    if not last.empty and _unchanged_for_s(seen) >= STUCK_AFTER_S:
        return "stuck"
    return "timeout" if last.at_s - seen[0].at_s >= timeout_s else "wait"


def _unchanged_for_s(seen: Sequence[Observation]) -> float:
    """How long the last observation's state has been the same."""
    last = seen[-1]
    since_s = last.at_s
    for earlier in reversed(seen):
        if earlier.state != last.state:
            break
        since_s = earlier.at_s
    return last.at_s - since_s
