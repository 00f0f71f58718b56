"""Defines a gate, and parses ``throughput.received_per_s vs reference > -10%``.

A gate without ``vs reference`` is a check of every run, like ``--check``. The analysis of each run evaluates it.
"""

import math
import re
from dataclasses import dataclass

from records.errors import UserError
from reports.comparison.metrics import Metric, primary_metrics

HOW = "write FIGURE vs reference < 20%, or > -10% for a figure that is better if higher"
AGAINST = re.compile(r"([\w.]+)\s+vs\s+reference\s*(<|>)=?\s*([+-]?\d+(?:\.\d+)?)\s*%")


@dataclass(frozen=True)
class RelativeGate:
    """The limit on how much worse than the reference a figure may be. ``percent``: 20, or -10 if higher is better."""

    text: str
    metric: Metric
    percent: float

    @property
    def log_limit(self) -> float:
        return math.log(1 + self.percent / 100)

    def forbids(self, log_ratio: float) -> bool:
        """Return whether a ratio to the reference, as its logarithm, is worse than the gate allows."""
        return log_ratio < self.log_limit if self.metric.higher_is_better else log_ratio > self.log_limit


def is_relative(text: str) -> bool:
    return " vs " in f" {text} "


def relative_gate(text: str) -> RelativeGate:
    """Parse a gate against the reference. Raises UserError."""
    match = AGAINST.fullmatch(text.strip())
    if not match:
        raise UserError(f"gate {text!r}: cannot be read; {HOW}")
    path, sign, number = match.groups()
    try:
        (metric,) = primary_metrics((path,))
    except UserError as error:
        raise UserError(f"gate {text!r}: {str(error).removeprefix(f'--primary {path}: ')}") from None
    percent = float(number)
    if metric.higher_is_better != (sign == ">"):
        better, example = ("more", "> -10%") if metric.higher_is_better else ("less", "< 20%")
        raise UserError(
            f"gate {text!r}: for {path}, {better} is better: write how much worse it may be, such as {example}"
        )
    if percent <= -100 or percent * (1 if sign == "<" else -1) < 0:
        least = "0 or more" if sign == "<" else "between -100 and 0"
        raise UserError(f"gate {text!r}: after {sign} a percentage must be {least}: how much worse it may be")
    return RelativeGate(text.strip(), metric, percent)
