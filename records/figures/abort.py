"""The conditions of ``--abort-on`` (`AbortCondition`), and the figures that they can use during a load.

run.json has the conditions that ended a load (`Abort`), so that no later analysis reports an aborted run as passed.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from records.figures.percentiles import SHARES

FAILED = "messages.failed"
TIMED = ("due_to_received", "sent_to_settled")
"""The measures of `records.figures.latency` that are known during a run."""
COUNTS = (FAILED, *(f"latency_ms.{measure}.count" for measure in TIMED))
LIVE_FIGURES = (
    *COUNTS,
    *(f"latency_ms.{measure}.{name}" for measure in TIMED for name in (*SHARES, "max")),
)
"""The figures of summary.json that are known during a run."""
SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class AbortCondition:
    """A condition that ends the load once it has held for ``for_s`` seconds; 0: as soon as it holds."""

    figure: str
    sign: str
    limit: float
    for_s: int = 0

    def holds(self, value: float | None) -> bool:
        """Whether a value meets the condition. An unknown value (None) does not."""
        return value is not None and SIGNS[self.sign](value, self.limit)

    @property
    def rule(self) -> str:
        """``> 500``"""
        return f"{self.sign} {self.limit:.10g}"

    def __str__(self) -> str:
        """Return ``latency_ms.due_to_received.p99 > 500 for 10s``."""
        return f"{self.figure} {self.rule}{f' for {self.for_s}s' if self.for_s else ''}"


@dataclass(frozen=True)
class Abort:
    """A condition that ended the load.

    ``value``: the live value of the figure. ``at_s``: when the load ended, in seconds of the load, or with
    ``in_warm_up`` in seconds of the warm-up. ``with_warm_up``: whether the live figures included the warm-up.
    """

    condition: AbortCondition
    value: float
    at_s: float
    in_warm_up: bool = False
    with_warm_up: bool = False

    def __str__(self) -> str:
        """Return ``the load was aborted after 12.0 s by --abort-on 'messages.failed > 0', as messages.failed was 3``"""
        what = "run was aborted in its warm-up" if self.in_warm_up else "load was aborted"
        value = f"{self.condition.figure} was {self.value:.6g}"
        return f"the {what} after {self.at_s:.1f} s by --abort-on '{self.condition}', as {value}"
