"""Makes the runs of a night, one comparison after the other, and reads their results for the gates."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from brokerbench.compare.making import PrintLine, check, duration_s, make
from brokerbench.compare.session import SESSION_FILE, ComparisonRequest, ComparisonSession, plan_session, require_free
from brokerbench.errors import sentence
from brokerbench.nightly.plan import TOPOLOGY, Benchmark, NightlyPlan, rejection_message
from brokerbench.progress import duration_text
from records.errors import UserError
from reports.comparison.arms import arm_name
from reports.comparison.build import ComparisonInput, compare_runs
from reports.comparison.statistics import needed_blocks
from reports.comparison.verdicts import SAME_WITHIN
from reports.nightly.judging import NightlyCell
from reports.parts.numbers import counted

OWN_NIGHT = "start another night for this plan with --night"


@dataclass(frozen=True)
class Planned:
    """One comparison of the night and its runs."""

    benchmark: Benchmark
    topology: str
    session: ComparisonSession

    @property
    def name(self) -> str:
        return f"{self.benchmark.scenario} on {self.topology}" if self.topology else self.benchmark.scenario


def sessions(plan: NightlyPlan, runs: Path) -> tuple[Planned, ...]:
    """Return the comparisons of a night, with folders below ``runs``. ValueError for options that runs cannot have."""
    needed = needed_blocks(max(1, plan.tests))
    return tuple(
        Planned(benchmark, topology, plan_session(_request(plan, benchmark, topology, needed, at, runs), 1))
        for at, (benchmark, topology) in enumerate(plan.cells(), start=1)
    )


def _request(
    plan: NightlyPlan, benchmark: Benchmark, topology: str, needed: int, at: int, runs: Path
) -> ComparisonRequest:
    values = (plan.reference, *plan.candidates)
    options = [*plan.options, *benchmark.options, *([f"--{TOPOLOGY}={topology}"] if topology else [])]
    if benchmark.checks:
        options.append(f"--check={'; '.join(benchmark.checks)}")
    return ComparisonRequest(
        scenario=benchmark.scenario,
        topologies=None,
        vary=tuple(f"{plan.vary}={value}" for value in values),
        blocks=benchmark.blocks or needed,
        run_time=benchmark.run_time or None,
        session=f"{runs.name}-{at}-{Path(benchmark.scenario).stem}",  # the seed of the order within blocks
        common_options=tuple(options),
        runs=runs,
    )


def require_own(folder: Path, night: Sequence[Planned]) -> None:
    """Raise ValueError if another command is making this night, or if it began with another plan."""
    require_free(folder, OWN_NIGHT)
    begun = {path.parent for path in folder.glob(f"compare-*/{SESSION_FILE}")}
    if begun - {comparison.session.folder for comparison in night} or any(
        comparison.session.holds_another() for comparison in night
    ):
        raise ValueError(f"{folder}: this night began with another plan, or with other file contents: {OWN_NIGHT}")


def begin(path: Path, plan: NightlyPlan, night: Sequence[Planned], print_line: PrintLine) -> None:
    """Check the options of every run, and report the runs that will be made. ``path``: the plan's path.

    Raises ValueError.
    """
    took_s = 0.0
    for comparison in night:
        try:
            arms = check(comparison.session)
        except UserError as error:
            raise UserError(
                rejection_message(path, plan, comparison.benchmark, f"{comparison.name}: {error}")
            ) from None
        took_s += duration_s(arms, comparison.session.run_count - len(comparison.session.usable_runs()))
    for comparison in night:  # only after all checks: a rejected plan leaves no folder
        comparison.session.begin()
    needed, tests = needed_blocks(max(1, plan.tests)), counted(plan.tests, "gate")
    runs = sum(comparison.session.run_count for comparison in night)
    about = f", about {duration_text(took_s)} without the analysis" if took_s else ""
    print_line(f"{counted(len(night), 'comparison')}, {counted(runs, 'run')}{about}")
    if plan.tests:
        print_line(
            f"{tests} against the reference {plan.vary} {plan.reference}: "
            f"each needs {needed} blocks before it can fail or pass"
        )
        for comparison in night:
            if comparison.benchmark.relative and comparison.session.blocks < needed:
                print_line(
                    f"{comparison.name}: with {counted(comparison.session.blocks, 'block')} its gates stay undecided"
                )


def make_cells(night: Sequence[Planned], print_line: PrintLine) -> list[NightlyCell]:
    """Make the missing runs of every comparison. A comparison that fails does not stop the others."""
    return [_cell(comparison, at, len(night), print_line) for at, comparison in enumerate(night, start=1)]


def _cell(comparison: Planned, at: int, total: int, print_line: PrintLine) -> NightlyCell:
    print_line(f"comparison {at} of {total}: {comparison.name}")
    benchmark, outcome, trouble = comparison.benchmark, None, ""
    try:
        primary = tuple(dict.fromkeys(gate.metric.path for gate in benchmark.relative))
        (outcome,) = compare_runs(
            ComparisonInput(tuple(make([comparison.session], print_line)), primary, SAME_WITHIN, allow_unlike=False)
        )
    except (UserError, OSError) as error:
        trouble = sentence(error)
        print_line(f"  {trouble}")
    scenario = Path(benchmark.scenario).stem
    return NightlyCell(
        scenario,
        comparison.topology,
        benchmark.relative,
        benchmark.checks,
        outcome,
        trouble,
        _setup(comparison.session),
        tuple(arm_name(comparison.session.option.replace("-", "_"), value) for value in comparison.session.values[1:]),
    )


def _setup(session: ComparisonSession) -> str:
    """Return eight hexadecimal digits that identify the runs' options, without gates, which change no figure."""
    options = [option for option in session.common_options if not option.startswith("--check=")]
    return hashlib.sha256(json.dumps([session.option, session.values, options]).encode()).hexdigest()[:8]
