"""Judges each latency figure of a run: sound, or doubtful for a stated reason. Pure: plain values in and out.

A figure is doubtful if it would differ without the generator's own delay: late reads (`analysis.events.stalls`), and
for figures from due also late sends. It is also doubtful if it shows a backlog that the brokers did not cause
(`analysis.load.offered_rate`). A figure between two processes is doubtful if their clocks may differ by more than the
figure's tolerance (`records.figures.latency`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from records.figures.checks import labeled
from records.figures.declaration import declared
from records.figures.faults import Outages, Recovery
from records.figures.latency import MEASURES, PERCENTILES, Latency, Regions, Timing, differs, tolerance_ms
from records.units import ms_text

FIGURES = tuple(PERCENTILES)
FROM_DUE = "due_to_received"
BETWEEN_PROCESSES = (FROM_DUE, "sent_to_received")
MOST = 0.5
NO_BACKLOG: Mapping[str, str] = {}
FROM_A_BACKLOG = tuple(name for name, figure in declared(Outages).items() if figure.backlogged)
"""Keys of `records.figures.faults.Outages` that a backlog affects."""
WORDS = {measure: figure.column for measure, figure in MEASURES.items()}


@dataclass(frozen=True)
class Clocks:
    """Known problems of the clocks. ``impossible``: number of durations below -error_bound_ms, by measure.

    ``doubts``: sentences on clocks that drifted apart during the run.
    """

    error_bound_ms: float = 0.0
    impossible: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Doubt:
    """The reason why a figure is doubtful. ``cause`` may apply to several figures, ``detail`` to this figure only."""

    measure: str
    figure: str
    cause: str
    detail: str = ""

    @property
    def metric(self) -> str:
        return metric(self.measure, self.figure)

    @property
    def reason(self) -> str:
        return f"{self.cause}: {self.detail}" if self.detail else self.cause


def metric(measure: str, figure: str) -> str:
    """Return the name of a figure in checks: ``latency_ms.due_to_received.p99``."""
    return f"latency_ms.{measure}.{figure}"


def judge_timing(
    latency_ms: Mapping[str, Latency],
    less_own_ms: Mapping[str, Latency],
    clocks: Clocks,
    backlog: Mapping[str, str] = NO_BACKLOG,
) -> Timing:
    """Return the summary's ``timing``. The mappings are by measure, in milliseconds; the second may lack measures.

    ``less_own_ms``: the figures less the generator's own delay. ``backlog``: why a measure shows the age of a backlog
    that the brokers did not cause.
    """
    doubts = [
        doubt
        for measure, latency in latency_ms.items()
        for figure in FIGURES
        if (
            doubt := _doubt(
                measure,
                figure,
                _value(latency, figure),
                _value(less_own_ms.get(measure), figure),
                clocks,
                backlog.get(measure, ""),
            )
        )
    ]
    doubtful = {doubt.metric: doubt.reason for doubt in doubts}
    metrics = [
        metric(measure, figure)
        for measure, latency in latency_ms.items()
        for figure in FIGURES
        if _value(latency, figure) is not None
    ]
    return Timing(
        sound=[figure_name for figure_name in metrics if figure_name not in doubtful],
        doubtful=doubtful,
        less_own_time_ms={figure: _value(less_own_ms.get(FROM_DUE), figure) for figure in FIGURES},
        note=describe_doubts(doubts),
    )


def doubtful_labels(
    of_labels: Mapping[str, tuple[Latency, Latency]], clocks: Clocks, backlog: Mapping[str, str] = NO_BACKLOG
) -> dict[str, str]:
    """Return the doubtful figures of consumer classes and destinations, as checks name them, with reasons.

    ``of_labels``: the latencies of each label as they were, and less the generator's own delay.
    """
    cause = backlog.get(FROM_DUE, "")
    doubts = {
        labeled(metric(FROM_DUE, figure), label): _doubt(
            FROM_DUE, figure, _value(latency, figure), _value(less_own, figure), clocks, cause
        )
        for label, (latency, less_own) in of_labels.items()
        for figure in FIGURES
    }
    return {name: doubt.reason for name, doubt in doubts.items() if doubt}


def doubtful_recovery(recovery: Recovery, cause: str) -> dict[str, str]:
    """Return the doubtful figures of recovery and outages by their names in checks. ``cause``: the reason."""
    doubtful = dict[str, str]()
    for key in FROM_A_BACKLOG:
        value = recovery[key]  # type: ignore[literal-required]
        of_key = value.items() if isinstance(value, dict) else [("", value)]
        doubtful |= {
            f"recovery.{key}{'.' * bool(name)}{name}": cause
            for name, figure_value in of_key
            if figure_value is not None
        }
    return doubtful


def doubtful_regions(regions: Regions, cause: str) -> dict[str, str]:
    """Return the doubtful latencies by region, by their names in checks. ``cause``: the reason."""
    return {
        f"regions.{where}.{figure}": cause
        for where, latency in (("within", regions["within"]), ("across", regions["across"]))
        for figure in FIGURES
        if _value(latency, figure) is not None
    }


def _value(latency: Latency | None, figure: str) -> float | None:
    if latency is None:
        return None
    figure_value: float | None = latency[figure]  # type: ignore[literal-required]
    return figure_value


def _doubt(
    measure: str, figure: str, value_ms: float | None, less_ms: float | None, clocks: Clocks, backlog: str
) -> Doubt | None:
    """Return why a figure is doubtful, clocks first; None if it is reliable or missing."""
    if value_ms is None:
        return None
    if cause := _cause_in_clocks(measure, value_ms, clocks):
        return Doubt(measure, figure, cause)
    if backlog:
        return Doubt(measure, figure, backlog)
    if less_ms is not None and differs(value_ms, less_ms):
        return Doubt(
            measure, figure, "the load generator itself was late", _without_own_delay(figure, value_ms, less_ms)
        )
    return None


def _without_own_delay(figure: str, value_ms: float, less_ms: float) -> str:
    """Return a sentence on the figure without the generator's own delay.

    If that delay is most of the figure, the difference is not a usable estimate.
    """
    if less_ms < MOST * value_ms:
        return f"most of {_title(figure)}, {ms_text(value_ms)}, is its own delay, and the brokers' part is unknown"
    return f"without its own delay {_title(figure)} would be {ms_text(less_ms)} instead of {ms_text(value_ms)}"


def _cause_in_clocks(measure: str, value_ms: float, clocks: Clocks) -> str:
    """Return why clocks make a value of this measure doubtful; '' if they do not."""
    affected = BETWEEN_PROCESSES if measure in BETWEEN_PROCESSES else (measure,)
    impossible = sum(clocks.impossible.get(affected_measure, 0) for affected_measure in affected)
    if impossible:
        return (
            f"the clocks disagree: {impossible} durations are negative beyond their error bound of "
            f"{clocks.error_bound_ms:g} ms"
        )
    if measure not in BETWEEN_PROCESSES:
        return ""
    if clocks.doubts:
        return "; ".join(clocks.doubts)
    if clocks.error_bound_ms > tolerance_ms(value_ms):
        return f"the clocks of the processes may differ by {ms_text(clocks.error_bound_ms)}"
    return ""


def describe_doubts(doubts: list[Doubt]) -> str:
    """Return a sentence that names the doubtful figures with reasons; '' if all are sound."""
    parts = []
    for (measure, cause), same in groupby(doubts, lambda doubt: (doubt.measure, doubt.cause)):
        doubts_of_cause = list(same)
        telling = sorted(
            doubts_of_cause, key=lambda doubt: doubt.figure == "min"
        )  # the minimum is the least interesting
        example = next((doubt.detail for doubt in telling if doubt.detail), "")
        why = f"{cause}, and {example}" if example else cause
        parts.append(f"{WORDS[measure]} {_joined([_title(doubt.figure) for doubt in doubts_of_cause])} ({why})")
    return f"Do not rely on these latencies: {'; '.join(parts)}." if parts else ""


def _title(figure: str) -> str:
    """Return ``p99_9`` as p99.9."""
    return figure.replace("_", ".")


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
