"""A check: a condition on one figure of summary.json that a run must meet to pass.

Checks are written to run.json, so the analysis of a stored run does not need the scenario.
"""

import re
from dataclasses import dataclass

LABELED = "latency_ms.due_to_received."
"""The beginning of figures that can have a label."""
_LABEL = re.compile(r"(.*)\{(.*)\}")


def labeled(metric: str, label: str) -> str:
    """Return the figure of one consumer class or destination: ``latency_ms.due_to_received.p99{OrderConsumer}``."""
    return f"{metric}{{{label}}}"


def label_of(metric: str) -> tuple[str, str]:
    """Return a figure without its label, and the label; '' if it has none."""
    found = _LABEL.fullmatch(metric)
    return (found[1], found[2]) if found else (metric, "")


@dataclass(frozen=True)
class Check:
    """``metric`` is a dotted path into summary.json, such as ``messages.lost``. A latency can have a `labeled` path.

    The check passes if value <= at_most, >= at_least, < below and > above, for each bound that is set.

    If the metric is absent or null, the check is *unknown*, not passed.
    """

    name: str
    metric: str
    at_most: float | None = None
    at_least: float | None = None
    below: float | None = None
    above: float | None = None

    @property
    def rule(self) -> str:
        """``<= 0``, ``> 100`` or several bounds; empty without a bound."""
        bounds = ((">=", self.at_least), (">", self.above), ("<=", self.at_most), ("<", self.below))
        return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)
