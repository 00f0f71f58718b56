"""Parts runs by their scenarios. Each scenario is compared by itself, with the same arms and under one level."""

from collections.abc import Mapping, Sequence

from reports.comparison.arms import Design, design
from reports.comparison.conditions import alike, conditions_of_each, shown
from reports.comparison.metrics import (
    METRICS,
    PRIMARY,
    PRIMARY_OF_FAULTS,
    ComparisonImpossible,
    Metric,
    primary_metrics,
)
from reports.comparison.runs import FinishedRun
from reports.parts.numbers import joined

ALIKE = ("protocol", "runtime", "image", "broker_version", "distribution", "overlay", "unset_defaults")
ALIKE_BEGIN = ("machine.", "versions.")
"""Fields in which runs of different scenarios have to be alike too, unless they make the arms."""


def designs_by_scenario(runs: Sequence[FinishedRun], allow_unlike: bool) -> dict[str, Design]:
    """In the order of the runs. ComparisonImpossible if one has no design, or the scenarios have different arms."""
    by_scenario: dict[str, list[FinishedRun]] = {}
    for run in runs:
        by_scenario.setdefault(run.info.scenario, []).append(run)
    found = {}
    for scenario, its_runs in by_scenario.items():
        if len(its_runs) == 1 and len(by_scenario) > 1:
            raise ComparisonImpossible(
                f"scenario {scenario} has one run, {its_runs[0].name}, and runs are compared with others of their "
                "scenario: name runs of at least two arms of it"
            )
        try:
            found[scenario] = design(its_runs, allow_unlike)
        except ComparisonImpossible as error:
            told = f"scenario {scenario}: " if len(by_scenario) > 1 else ""
            raise ComparisonImpossible(f"{told}{error}") from None
    (first, reference), *others = found.items()
    for scenario, other in others:
        _require_same_arms(first, reference, scenario, other)
        if not allow_unlike:
            _require_alike(reference, other)
    return found


def _require_same_arms(first: str, reference: Design, scenario: str, other: Design) -> None:
    arms = [[arm.name for arm in each.rows] for each in (reference, other)]
    if arms[0][0] != arms[1][0] or set(arms[0]) != set(arms[1]):
        raise ComparisonImpossible(
            f"scenario {scenario} has the arms {joined(arms[1])}, but {first} has {joined(arms[0])}: one page compares "
            "the same arms under each scenario, the reference first"
        )


def _require_alike(reference: Design, other: Design) -> None:
    first, second = reference.arms[0].runs[0], other.arms[0].runs[0]
    here, there = conditions_of_each([first.info, second.info])
    for field in here:
        asked = field in ALIKE or field.startswith(ALIKE_BEGIN)
        if asked and field in there and field != reference.field and not alike(field, here[field], there[field]):
            raise ComparisonImpossible(
                f"{field} is {shown(there[field])} in {second.name}, but {shown(here[field])} in {first.name}: runs of "
                "all scenarios of one page have to be alike in it, or mark the page by --allow-unlike"
            )


def primary_of_each(asked: Sequence[str], designs: Mapping[str, Design]) -> dict[str, tuple[Metric, ...]]:
    """The figures that are judged in each scenario; see `parted`. ComparisonImpossible."""
    given = parted(asked, list(designs))
    return {scenario: given[scenario] or _default(of) for scenario, of in designs.items()}


def parted(asked: Sequence[str], scenarios: Sequence[str]) -> dict[str, tuple[Metric, ...]]:
    """By scenario, the figures named for it: ``failover:recovery.outage_ms.max``, or without a scenario for all.

    ComparisonImpossible for an unknown figure or scenario, or more than three for one scenario.
    """
    found: dict[str, list[str]] = {scenario: [] for scenario in scenarios}
    for text in asked:
        scenario, colon, path = text.rpartition(":")
        if colon and scenario not in found:
            raise ComparisonImpossible(
                f"--primary {text}: no run of scenario {scenario}: write one of {joined(list(scenarios))}"
            )
        for each in [scenario] if colon else scenarios:
            found[each].append(path)
    return {scenario: primary_metrics(paths) if paths else () for scenario, paths in found.items()}


def _default(of: Design) -> tuple[Metric, ...]:
    """Where clients were cut off, their longest outage; else the latency: a cut link, say, cuts no client off."""
    runs = [run for arm in of.arms for run in arm.runs]
    of_faults = METRICS[PRIMARY_OF_FAULTS]
    return (of_faults if any(of_faults.value(run.summary) is not None for run in runs) else METRICS[PRIMARY],)
