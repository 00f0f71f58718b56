"""Compares the arms of designs: values, ratios and intervals of every figure, and a verdict for each primary figure.

A design covers one scenario. Several designs give one comparison each, with the same arms. All their tests share one
significance level.

Blocks that are added after the first verdict do not change it. If blocks were added until a verdict appears, chance
alone would produce verdicts too often. So later figures are shown next to the first verdict as a description. Blocks
can be added freely while there are too few for any verdict.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from reports.comparison.arms import Arm, Design
from reports.comparison.metrics import METRICS, SHOWN, Metric
from reports.comparison.statistics import (
    Estimate,
    can_be_judged,
    estimate,
    holm,
    needed_blocks,
    p_value,
)
from reports.comparison.verdicts import (
    INVALID,
    SAME_WITHIN,
    ComparisonVerdict,
    FigureTest,
    FirstVerdict,
    effect_text,
    judge,
)


@dataclass(frozen=True)
class ArmFigure:
    """One figure of one arm. ``values``: one per block, None if left out.

    ``own``: estimate of the arm's figure over its runs, in the figure's unit. ``log_ratios``: logarithms of the ratios
    to the first arm, one per block; empty for the first arm. ``against``: estimate of ``log_ratios``. ``doubtful``:
    values left out because their timing is doubtful, in either arm of a block; ``missing``: because a run lacks the
    figure, or has 0 there, which has no ratio.
    """

    metric: Metric
    arm: str
    values: tuple[float | None, ...]
    own: Estimate | None
    log_ratios: tuple[float | None, ...] = ()
    against: Estimate | None = None
    doubtful: int = 0
    missing: int = 0

    @property
    def used(self) -> tuple[float, ...]:
        return tuple(ratio for ratio in self.log_ratios if ratio is not None)

    @property
    def zeros(self) -> int:
        """Number of values that are 0. ``own`` is a geometric mean, so it leaves them out."""
        return sum(value == 0 for value in self.values)

    @property
    def interval_excludes_1(self) -> bool:
        """Whether the interval of the ratio, at 95 %, leaves out 1. Not under Holm: a description, not a verdict."""
        ratio = self.against
        return ratio is not None and ratio.confidence >= 0.95 and not ratio.low <= 0 <= ratio.high


@dataclass(frozen=True)
class Test:
    """A primary figure of one arm against the first. ``adjusted_p``: by Holm over all tests.

    ``verdict``: the valid one. ``first``: set if earlier blocks decided it; the other fields are of all blocks.
    """

    figure: ArmFigure
    p: float
    adjusted_p: float
    verdict: ComparisonVerdict
    first: FirstVerdict | None = None


@dataclass(frozen=True)
class Comparison:
    """The comparison of one scenario, for pages, files and exit statuses.

    ``figures``: all figures, including primary ones, by path and by name of an arm or of the control. ``together``: the
    number of tests that Holm covers, including tests of other scenarios on the same page. ``nearest``: a sentence with
    the nearest arms that are equal in brokers; empty if these are equal, or if none are known.
    """

    design: Design
    primary: tuple[Metric, ...]
    same_within: float
    tests: tuple[Test, ...]
    figures: dict[tuple[str, str], ArmFigure]
    together: int
    nearest: str = ""

    @property
    def scenario(self) -> str:
        return self.reference.runs[0].info.scenario

    @property
    def reference(self) -> Arm:
        return self.design.arms[0]

    @property
    def needed(self) -> int:
        return needed_blocks(self.together)

    def words(self) -> set[str]:
        """Return the verdicts that occur."""
        return {test.verdict.word for test in self.tests}

    def shown(self) -> tuple[Metric, ...]:
        """Return the figures of the table, including figures that no run has."""
        added = tuple(metric for metric in self.primary if metric.path not in SHOWN)
        return (*(METRICS[path] for path in SHOWN), *added)


@dataclass(frozen=True)
class JudgedDesign:
    """A design and the figures that are to be judged in it."""

    design: Design
    primary: tuple[Metric, ...]


def compare(judged_designs: Sequence[JudgedDesign], same_within: float = SAME_WITHIN) -> tuple[Comparison, ...]:
    """Return a comparison per design. Does no I/O: equal runs give equal comparisons."""
    figures = [_figures(judged_design) for judged_design in judged_designs]
    primary = [
        _of_primary(judged_design, figures_of_design)
        for judged_design, figures_of_design in zip(judged_designs, figures, strict=True)
    ]
    judged = can_be_judged([len(judged_design.design.blocks) for judged_design in judged_designs])
    together = sum(len(of_each) for of_each, counts in zip(primary, judged, strict=True) if counts)
    p_values = iter(_p_values(primary, judged))
    return tuple(
        Comparison(
            judged_design.design,
            judged_design.primary,
            same_within,
            tuple(_test(judged_design.design, figure, *next(p_values), together, same_within) for figure in of_each),
            figures_of_design,
            together,
        )
        for judged_design, figures_of_design, of_each in zip(judged_designs, figures, primary, strict=True)
    )


def _p_values(primary: Sequence[Sequence[ArmFigure]], judged: Sequence[bool]) -> list[tuple[float, float]]:
    """Return the p value of each test, plain and under Holm: 1 in a scenario that is only described."""
    counts = [is_judged for figures, is_judged in zip(primary, judged, strict=True) for _ in figures]
    p_values = [p_value(figure.used) if figure.used else 1.0 for figures in primary for figure in figures]
    adjusted = iter(holm([p for p, counted in zip(p_values, counts, strict=True) if counted]))
    return [(p, next(adjusted) if counted else 1.0) for p, counted in zip(p_values, counts, strict=True)]


def _figures(judged_design: JudgedDesign) -> dict[tuple[str, str], ArmFigure]:
    paths = dict.fromkeys((*SHOWN, *(metric.path for metric in judged_design.primary)))
    arms = judged_design.design.rows
    return {(path, arm.name): _figure(METRICS[path], arm, arms[0]) for path in paths for arm in arms}


def _of_primary(judged_design: JudgedDesign, figures: dict[tuple[str, str], ArmFigure]) -> list[ArmFigure]:
    return [figures[metric.path, arm.name] for metric in judged_design.primary for arm in judged_design.design.arms[1:]]


def _test(design: Design, figure: ArmFigure, p: float, adjusted_p: float, together: int, same_within: float) -> Test:
    question = _question(design, figure, together, same_within)
    return Test(figure, p, adjusted_p, judge(question, figure.against, adjusted_p))


def _figure(metric: Metric, arm: Arm, reference: Arm) -> ArmFigure:
    values = tuple(run.value(metric) for run in arm.runs)
    positive = [log(value) for value in values if value is not None and value > 0]
    own = _exponentiated(estimate(positive)) if positive else None
    doubts = [bool(run.doubt(metric)) for run in arm.runs]
    if arm is reference:
        return ArmFigure(metric, arm.name, values, own, doubtful=sum(doubts), missing=_absent(values, doubts))
    reference_values = tuple(run.value(metric) for run in reference.runs)
    either = [mine or bool(run.doubt(metric)) for mine, run in zip(doubts, reference.runs, strict=True)]
    ratios = tuple(
        _log_ratio(value, reference_value) for value, reference_value in zip(values, reference_values, strict=True)
    )
    used = [ratio for ratio in ratios if ratio is not None]
    against = estimate(used) if used else None
    return ArmFigure(metric, arm.name, values, own, ratios, against, sum(either), _absent(ratios, either))


def _absent(values: Sequence[float | None], doubts: Sequence[bool]) -> int:
    return sum(value is None and not doubt for value, doubt in zip(values, doubts, strict=True))


def _log_ratio(value: float | None, reference_value: float | None) -> float | None:
    """Return the logarithm of the ratio; None if a value is absent or not positive."""
    return log(value / reference_value) if value and reference_value and value > 0 and reference_value > 0 else None


def _exponentiated(log_estimate: Estimate) -> Estimate:
    return replace(
        log_estimate, center=exp(log_estimate.center), low=exp(log_estimate.low), high=exp(log_estimate.high)
    )


def _question(design: Design, figure: ArmFigure, tests: int, same_within: float) -> FigureTest:
    arms = [arm for arm in design.arms if arm is design.arms[0] or arm.name == figure.arm]
    unusable = tuple(run.unusable for arm in arms for run in arm.runs if run.unusable)
    short, first_short = count_missed_rate(design, figure.arm)
    return FigureTest(
        figure.used,
        figure.metric.higher_is_better,
        tests,
        same_within,
        unusable,
        short,
        first_short,
        aborted=any(run.aborted for arm in arms for run in arm.runs),
    )


def count_missed_rate(design: Design, arm: str) -> tuple[int, int]:
    """Return the number of blocks in which only this arm did not hold its load, and in which only the first did not.

    An aborted load is not held: its arm cannot win that block.
    """
    reference_runs = design.arms[0].runs
    runs = next((candidate.runs for candidate in design.arms if candidate.name == arm), reference_runs)
    pairs = list(zip(runs, reference_runs, strict=True))
    return (
        sum(run.fell_short and reference.holds_its_load for run, reference in pairs),
        sum(reference.fell_short and run.holds_its_load for run, reference in pairs),
    )


def first_verdicts(comparison: Comparison) -> tuple[FirstVerdict, ...]:
    """Return the verdicts of the tests that had enough blocks."""
    return tuple(
        _as_first_verdict(comparison, test, test.figure.against)
        for test in comparison.tests
        if test.figure.against is not None
        and len(test.figure.used) >= comparison.needed
        and test.verdict.word != INVALID
    )


def _as_first_verdict(comparison: Comparison, test: Test, ratio: Estimate) -> FirstVerdict:
    return FirstVerdict(
        *_question_of_test(comparison, test),
        len(comparison.design.blocks),
        len(test.figure.used),
        test.verdict.word,
        test.verdict.reasons,
        ratio.center,
        ratio.low,
        ratio.high,
        ratio.confidence,
        test.p,
        test.adjusted_p,
    )


def _question_of_test(comparison: Comparison, test: Test) -> tuple[str, str, str, str, float]:
    names = comparison.reference.name, test.figure.arm
    return comparison.scenario, test.figure.metric.path, *names, comparison.same_within


def keep_first_verdicts(comparison: Comparison, standing_verdicts: Sequence[FirstVerdict]) -> Comparison:
    """Return the comparison with the verdicts from before blocks were added or replaced.

    ``standing_verdicts``: earlier verdicts of the session. Runs from several sessions form another comparison.
    """
    if len({run.info.options.get("session") for arm in comparison.design.arms for run in arm.runs}) > 1:
        return comparison
    verdict_by_question = {verdict.question: verdict for verdict in standing_verdicts}
    firsts = (verdict_by_question.get(_question_of_test(comparison, test)) for test in comparison.tests)
    tests = tuple(
        _standing(comparison, test, standing_verdict)
        for test, standing_verdict in zip(comparison.tests, firsts, strict=True)
    )
    return replace(comparison, tests=tests)


def _standing(comparison: Comparison, test: Test, standing_verdict: FirstVerdict | None) -> Test:
    """Return the test with its first verdict. An invalid run is reported regardless of the number of blocks."""
    now, blocks = test.figure.against, len(comparison.design.blocks)
    if standing_verdict is None or test.verdict.word == INVALID:
        return test
    if (standing_verdict.blocks, standing_verdict.word) == (
        blocks,
        test.verdict.word,
    ) and now == standing_verdict.estimate:
        return test
    later = f"it is {effect_text(now)}" if now else "no block has this figure in both arms"
    reasons = (
        f"This is the verdict of the first {standing_verdict.blocks} blocks, which were enough for one. "
        "Later blocks do not change it.",
        *standing_verdict.reasons,
        f"By all {blocks} blocks {later}. That is only a description: blocks added after a verdict was possible are "
        "chosen by its outcome. A new verdict requires new runs with all blocks planned from the start "
        "(--session NAME).",
    )
    return replace(test, verdict=ComparisonVerdict(standing_verdict.word, reasons), first=standing_verdict)


def newly_decided(comparisons: Iterable[Comparison], standing_verdicts: Sequence[FirstVerdict]) -> list[FirstVerdict]:
    """Return the verdicts to add to the ``standing_verdicts``: verdicts of tests that had none yet."""
    questions = {verdict.question for verdict in standing_verdicts}
    decided = [verdict for comparison in comparisons for verdict in first_verdicts(comparison)]
    return [verdict for verdict in decided if verdict.question not in questions]
