"""Evaluates the gates of a night, and decides the result of the night.

Gates against the reference are tested together with Holm's correction, the checks of each run separately. A gate fails
only on clear evidence: a check of a candidate's run failed, or the candidate is beyond the gate's limit and the test
against this limit is significant after Holm's correction over all tests of the night.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from records.verdicts import EXIT_STATUS
from reports.comparison.arms import Arm
from reports.comparison.comparison import ArmFigure, Comparison, count_missed_rate
from reports.comparison.runs import AnalysedRun
from reports.comparison.sentences import unsteady
from reports.comparison.statistics import LEVEL, holm, needed_blocks, p_value
from reports.comparison.verdicts import WORSE, FigureTest, effect_text, forecast, judge_offered_rate, too_few
from reports.nightly.gates import RelativeGate
from reports.parts.numbers import counted, sentence
from reports.run.for_ci import failure_message, unknown_reason

PASS, FAIL, UNDECIDED, INVALID = "pass", "fail", "undecided", "invalid"
OWN_CHECKS = "the scenario's own checks"


@dataclass(frozen=True)
class NightlyCell:
    """One scenario on one topology, with the runs of every arm. The first arm is the reference.

    ``checks``: gates that are checks of every run. ``trouble``: the reason for a missing comparison, else ''.
    ``setup``: identifies the varied option and the options of the runs. Trends only join nights with the same setup.
    ``candidates``: the planned arms after the reference, by name. Needed only without a comparison.
    """

    scenario: str
    topology: str
    gates: tuple[RelativeGate, ...]
    checks: tuple[str, ...]
    comparison: Comparison | None
    trouble: str = ""
    setup: str = ""
    candidates: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.scenario} on {self.topology}" if self.topology else self.scenario

    @property
    def runs(self) -> tuple[AnalysedRun, ...]:
        """All runs that were compared."""
        if self.comparison is None:
            return ()
        return tuple(run for arm in self.comparison.design.rows for run in arm.runs)


@dataclass(frozen=True)
class GateResult:
    """The result of a gate for one candidate. ``p`` and ``adjusted_p``: only for gates against the reference."""

    cell: NightlyCell
    arm: str
    gate: str
    outcome: str
    reasons: tuple[str, ...] = ()
    figure: ArmFigure | None = None
    p: float | None = None
    adjusted_p: float | None = None


@dataclass(frozen=True)
class _GateTest:
    """One gate against the reference, for one candidate.

    ``p``: p value of the hypothesis that the ratio is at the gate's limit.
    """

    cell: NightlyCell
    gate: RelativeGate
    figure: ArmFigure
    p: float


def judge_gates(cells: Sequence[NightlyCell]) -> tuple[GateResult, ...]:
    """Return a result for each gate and candidate, in the order of the cells."""
    gate_tests = [
        _gate_test(cell, gate, figure) for cell in cells for gate in cell.gates for figure in _figures(cell, gate)
    ]
    adjusted = holm([gate_test.p for gate_test in gate_tests])
    relative_results = [
        _relative(gate_test, p, len(gate_tests)) for gate_test, p in zip(gate_tests, adjusted, strict=True)
    ]
    results: list[GateResult] = []
    for cell in cells:
        if cell.trouble:
            results += [GateResult(cell, arm, "runs", INVALID, (cell.trouble,)) for arm in cell.candidates or ("",)]
        else:
            results += [*_of_checks(cell), *(gate_test for gate_test in relative_results if gate_test.cell is cell)]
    return tuple(results)


def _gate_test(cell: NightlyCell, gate: RelativeGate, figure: ArmFigure) -> _GateTest:
    beyond = [ratio - gate.log_limit for ratio in figure.used]
    return _GateTest(cell, gate, figure, p_value(beyond) if beyond else 1.0)


def _figures(cell: NightlyCell, gate: RelativeGate) -> list[ArmFigure]:
    """Return the gate's figure of each candidate."""
    if cell.comparison is None:
        return []
    return [cell.comparison.figures[gate.metric.path, arm.name] for arm in cell.comparison.design.arms[1:]]


def _relative(gate_test: _GateTest, adjusted_p: float, tests: int) -> GateResult:
    cell, gate, figure = gate_test.cell, gate_test.gate, gate_test.figure
    assert cell.comparison is not None
    question = FigureTest(
        figure.used,
        gate.metric.higher_is_better,
        tests,
        abs(gate.percent),
        tuple(run.unusable for run in _runs_of(cell.comparison, figure.arm) if run.unusable),
        *count_missed_rate(cell.comparison.design, figure.arm),
        aborted=any(run.aborted for run in _runs_of(cell.comparison, figure.arm)),
    )
    outcome, reasons = _outcome(gate, question, figure, adjusted_p)
    return GateResult(cell, figure.arm, gate.text, outcome, reasons, figure, gate_test.p, adjusted_p)


def _outcome(
    gate: RelativeGate, question: FigureTest, figure: ArmFigure, adjusted_p: float
) -> tuple[str, tuple[str, ...]]:
    ratio = figure.against
    if question.invalid:
        return INVALID, question.invalid
    if (by_rate := judge_offered_rate(question)) and by_rate.word == WORSE:
        return FAIL, by_rate.reasons
    if ratio is None:
        return UNDECIDED, (f"No block has {gate.metric.path} in both arms{_doubtful(figure)}.",)
    if len(figure.used) < question.needed:
        return UNDECIDED, too_few(question, ratio)
    effect = f"Against the reference it is {effect_text(ratio)}"
    if gate.forbids(ratio.center) and adjusted_p <= LEVEL:
        tests = counted(question.tests, "test")
        return FAIL, (f"{effect}, which is beyond the limit; p is {adjusted_p:.2g} under Holm over {tests}.",)
    if not gate.forbids(ratio.low) and not gate.forbids(ratio.high):
        return PASS, (f"{effect}: the whole interval is within the limit.",)
    return UNDECIDED, (f"{effect}: it is undecided whether this is beyond the limit.", *forecast(question))


def _doubtful(figure: ArmFigure) -> str:
    return f", as {counted(figure.doubtful, 'block')} had doubtful timing" if figure.doubtful else ""


def _runs_of(comparison: Comparison, arm: str) -> Iterator[AnalysedRun]:
    for comparison_arm in comparison.design.arms:
        if comparison_arm is comparison.reference or comparison_arm.name == arm:
            yield from comparison_arm.runs


def _of_checks(cell: NightlyCell) -> Iterator[GateResult]:
    assert cell.comparison is not None
    for arm in cell.comparison.design.arms[1:]:
        for gate in (*cell.checks, OWN_CHECKS):
            yield GateResult(cell, arm.name, gate, *_check(cell, arm, gate))


def _check(cell: NightlyCell, arm: Arm, gate: str) -> tuple[str, tuple[str, ...]]:
    """Return the outcome of one check over all runs of a candidate, and its reasons."""
    assert cell.comparison is not None
    if unusable := tuple(run.unusable for run in arm.runs if run.unusable):
        return INVALID, unusable
    if gate == OWN_CHECKS and (aborted := tuple(_aborted(arm.runs))):
        return FAIL, aborted
    for outcome, word in (("fail", FAIL), ("unknown", UNDECIDED)):
        if sentences := tuple(_check_sentences(cell, gate, arm.runs, outcome)):
            too = len(list(_check_sentences(cell, gate, cell.comparison.reference.runs, outcome)))
            return word, (
                *sentences,
                *((f"{counted(too, 'check')} of the reference's runs ended the same way.",) if too else ()),
            )
    if gate == OWN_CHECKS:
        for verdict, word in (("fail", FAIL), ("unknown", UNDECIDED)):
            if sentences := tuple(_by_verdict_alone(arm.runs, verdict)):
                return word, sentences
    return PASS, ()


def _check_sentences(cell: NightlyCell, gate: str, runs: Sequence[AnalysedRun], outcome: str) -> Iterator[str]:
    """Yield a sentence for each run in which the check had this ``outcome``."""
    for run in runs:
        for result in run.summary["checks"]:
            belongs = result["name"] not in cell.checks if gate == OWN_CHECKS else result["name"] == gate
            if belongs and result["outcome"] == outcome:
                why = failure_message(result) if outcome == "fail" else unknown_reason(result, run.summary)
                yield f"{run.name}: {why}."


def _aborted(runs: Sequence[AnalysedRun]) -> Iterator[str]:
    """Yield a sentence with all reasons for each run whose load was aborted.

    Neither a failed check nor an unknown verdict may hide that.
    """
    for run in runs:
        if run.aborted:
            yield f"{run.name}: aborted: {' '.join(map(sentence, run.summary['reasons']))}"


def _by_verdict_alone(runs: Sequence[AnalysedRun], verdict: str) -> Iterator[str]:
    """Yield a sentence for each run with this verdict, but no check with this outcome.

    For example, nothing arrived, or a queue could not be browsed.
    """
    for run in runs:
        if run.summary["verdict"] == verdict and all(check["outcome"] != verdict for check in run.summary["checks"]):
            yield f"{run.name}: {' '.join(map(sentence, run.summary['reasons'])) or f'its verdict is {verdict}.'}"


GREEN, YELLOW, RED = "green", "yellow", "red"


@dataclass(frozen=True)
class Night:
    """A night with its results. ``name``: its date, or the given name.

    ``environment``: fingerprint of the machine, '' without a run. ``results``: the result of every gate.
    """

    name: str
    plan: str
    cells: tuple[NightlyCell, ...]
    results: tuple[GateResult, ...]
    environment: str = ""

    @property
    def tests(self) -> int:
        """Gates against the reference, which Holm covers."""
        return sum(result.figure is not None for result in self.results)

    @property
    def blocks_needed(self) -> int:
        return needed_blocks(max(1, self.tests))

    def results_with(self, *outcomes: str) -> list[GateResult]:
        return [result for result in self.results if result.outcome in outcomes]

    @property
    def color(self) -> str:
        """Return red only for a failed gate, or for runs that could not be made."""
        if self.results_with(FAIL, INVALID):
            return RED
        return YELLOW if self.results_with(UNDECIDED) else GREEN

    def exit_status(self, strict: bool) -> int:
        """Return 1: a gate failed; 3: runs could not be made or used; 4 (``strict``): a gate is undecided; else 0."""
        if self.results_with(FAIL):
            return EXIT_STATUS["fail"]
        if self.results_with(INVALID):
            return EXIT_STATUS["invalid"]
        return EXIT_STATUS["unknown"] if strict and self.results_with(UNDECIDED) else 0


def night(name: str, plan: str, cells: Sequence[NightlyCell], environment: str = "") -> Night:
    return Night(name, plan, tuple(cells), judge_gates(cells), environment)


def answer(night: Night) -> str:
    """Return the night in a sentence or two: the failed gates by name, or else the undecided ones."""
    gates = counted(len(night.results), "gate")
    passed = f"{len(night.results_with(PASS))} of {gates} passed"
    bad = [_named(result) for result in night.results_with(FAIL)]
    unusable = [_named(result) for result in night.results_with(INVALID)]
    other_outcomes = ((FAIL, "failed"), (UNDECIDED, "undecided"), (INVALID, "invalid"))
    other_words = [
        f"{len(results)} {words}" for outcome, words in other_outcomes if (results := night.results_with(outcome))
    ]
    parts = [
        f"Failed: {'; '.join(bad)}." if bad else "",
        f"Invalid: {'; '.join(unusable)}." if unusable else "",
        f"{', '.join([passed, *other_words])}.",
    ]
    return " ".join(part for part in parts if part)


def doubts(night: Night) -> tuple[str, ...]:
    """Count, for each cell and arm, the runs that missed the offered rate or whose warm-up did not settle."""
    return tuple(
        f"{cell.name}: {line}" for cell in night.cells if cell.comparison for line in unsteady(cell.comparison)
    )


def _named(result: GateResult) -> str:
    return f"{result.gate} ({', '.join(filter(None, (result.cell.name, result.arm)))})"


def lead(night: Night) -> str:
    """Return the line below the title: how the night was judged."""
    tests = counted(night.tests, "test")
    judged_by = f"{tests} against the reference, Holm at {LEVEL:g}, {night.blocks_needed} blocks needed"
    return " · ".join(
        filter(None, (f"plan {night.plan}", judged_by, night.environment and f"environment {night.environment}"))
    )
