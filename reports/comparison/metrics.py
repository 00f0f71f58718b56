"""Lists the figures of a run that a comparison can test or show, by their paths in summary.json."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from records.errors import UserError
from records.figures.declaration import FAULTS, HIGHER, Declared
from records.figures.summary import FIGURES, Summary
from reports.parts.numbers import joined

MOST_PRIMARY = 3
PRIMARY, PRIMARY_OF_FAULTS = "latency_ms.due_to_received.p99", "recovery.outage_ms.max"
"""The default primary figures; the second is for a scenario whose faults disconnect clients."""
PRIMARY_OF_CLOSED = "latency_ms.sent_to_received.p99"
"""The same if the load of an arm is closed."""


@dataclass(frozen=True)
class Metric:
    """A figure with a ratio. ``path``: its place in summary.json.

    ``of_faults``: runs without a fault lack this figure. ``if_absent``: the reason in words if it is missing in all
    runs.
    """

    path: str
    title: str
    unit: str
    higher_is_better: bool = False
    of_faults: bool = False
    if_absent: str = "no run measured it"

    @property
    def timing(self) -> bool:
        """Whether it may be doubtful because the generator was late or clocks disagree."""
        return self.path.startswith("latency_ms.")

    @property
    def share_beyond(self) -> float | None:
        """The share of messages beyond a percentile: 0.01 for p99. None for other figures."""
        percentile = self.path.rpartition(".")[2]
        if not self.timing or not percentile.startswith("p"):
            return None
        return round(1 - float(percentile[1:].replace("_", ".")) / 100, 6)

    def value(self, summary: Summary) -> float | None:
        """Return the figure of one run; None if it was not measured."""
        if self.of_faults and not summary.get("recovery", {}).get("faults"):
            return None
        part: object = summary
        for key in self.path.split("."):
            part = part.get(key) if isinstance(part, dict) else None
        return float(part) if isinstance(part, int | float) and not isinstance(part, bool) else None


def _metric_of(declared: Declared) -> Metric:
    figure = declared.figure
    absent = {"if_absent": figure.needs.absent} if figure.needs and figure.needs.absent else {}
    better, of_faults = figure.better == HIGHER, FAULTS in (figure.needs, figure.compared_with)
    return Metric(declared.path, figure.title, figure.unit, better, of_faults, **absent)


METRICS = {path: _metric_of(declared) for path, declared in FIGURES.items() if declared.figure.compared}
SHOWN = tuple(path for path in METRICS if FIGURES[path].figure.shown)
"""The columns of the page's table that have a ratio; other primary figures are added."""


def primary_metrics(paths: Iterable[str]) -> tuple[Metric, ...]:
    """Return the named primary figures, or the default. UserError for unknown figures, or too many."""
    wanted = tuple(dict.fromkeys(paths)) or (PRIMARY,)
    metrics = tuple(_metric(path) for path in wanted)
    if len(metrics) > MOST_PRIMARY:
        raise UserError(
            f"--primary: {len(metrics)} figures were named, and at most {MOST_PRIMARY} can be primary, as each "
            "additional figure makes every verdict harder: leave some out (the page shows others without a verdict)"
        )
    return metrics


def _metric(path: str) -> Metric:
    if path in METRICS:
        return METRICS[path]
    if path.startswith("messages."):
        raise UserError(
            f"--primary {path}: a count that may be 0 has no ratio: the page shows it without a verdict; "
            f"name a latency or a rate, such as {PRIMARY}"
        )
    near = difflib.get_close_matches(path, METRICS, n=3, cutoff=0.0)
    raise UserError(f"--primary {path}: no figure has this name: did you mean {joined(near[:1])}?")
