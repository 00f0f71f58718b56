"""Compares the arms of designs: every figure's values, ratios and intervals, and a verdict for each primary one.

A design is of one scenario. Several make several comparisons with the same arms, whose tests share one level.

The first verdict stands when more blocks are added after it. Blocks after a verdict was possible are chosen by what was
seen: who adds them until a verdict comes finds one too often. So later figures stand beside the first verdict as a
description. Blocks that are added while there were too few for any verdict are free.
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
from reports.comparison.verdicts import INVALID, SAME_WITHIN, FirstVerdict, Question, Verdict, effect_text, judge


@dataclass(frozen=True)
class ArmFigure:
    """One figure of one arm. ``values``: one a block, None where left out.

    ``own``: estimate of the arm's figure over its runs, in the figure's unit. ``log_ratios``: against the first arm,
    one a block; empty for the first arm. ``against``: estimate of these, as logarithms. ``doubtful``: values left out
    because their timing is doubtful, in either arm of a block; ``missing``: because a run lacks the figure, or has 0
    there, which has no ratio.
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
        """How many of the values are 0: ``own`` is a geometric mean, so it leaves them out."""
        return sum(value == 0 for value in self.values)

    @property
    def told_apart(self) -> bool:
        """Whether the interval of the ratio, at 95 %, leaves out 1. Not under Holm: a description, not a verdict."""
        found = self.against
        return found is not None and found.confidence >= 0.95 and not found.low <= 0 <= found.high


@dataclass(frozen=True)
class Test:
    """A primary figure of one arm against the first. ``adjusted_p``: by Holm over all tests.

    ``verdict``: the one that stands. ``first``: if it is that of earlier blocks; the other fields are of all blocks.
    """

    figure: ArmFigure
    p: float
    adjusted_p: float
    verdict: Verdict
    first: FirstVerdict | None = None


@dataclass(frozen=True)
class Comparison:
    """All that a page, a file or an exit status says of one scenario.

    ``figures``: by path and name of an arm or of the control, primary ones among them. ``together``: how many tests
    Holm covers, those of other scenarios on the same page among them. ``nearest``: a sentence with the nearest arms
    that are equal in brokers; '' if these are, or if none are known.
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
        """The verdicts that occur."""
        return {test.verdict.word for test in self.tests}

    def shown(self) -> tuple[Metric, ...]:
        """The figures of the table, those among them that no run has included."""
        more = tuple(metric for metric in self.primary if metric.path not in SHOWN)
        return (*(METRICS[path] for path in SHOWN), *more)


@dataclass(frozen=True)
class Asked:
    """A design and the figures that are to be judged in it."""

    design: Design
    primary: tuple[Metric, ...]


def compare(asked: Sequence[Asked], same_within: float = SAME_WITHIN) -> tuple[Comparison, ...]:
    """A comparison for each design. Pure: the same runs give the same comparisons."""
    figures = [_figures(each) for each in asked]
    primary = [_of_primary(each, found) for each, found in zip(asked, figures, strict=True)]
    judged = can_be_judged([len(each.design.blocks) for each in asked])
    together = sum(len(of_each) for of_each, counts in zip(primary, judged, strict=True) if counts)
    told = iter(_p_values(primary, judged))
    return tuple(
        Comparison(
            each.design,
            each.primary,
            same_within,
            tuple(_test(each.design, figure, *next(told), together, same_within) for figure in of_each),
            found,
            together,
        )
        for each, found, of_each in zip(asked, figures, primary, strict=True)
    )


def _p_values(primary: Sequence[Sequence[ArmFigure]], judged: Sequence[bool]) -> list[tuple[float, float]]:
    """The p value of each test, and the same under Holm: 1 for those of a scenario that is only described."""
    counts = [each for figures, each in zip(primary, judged, strict=True) for _ in figures]
    p_values = [p_value(figure.used) if figure.used else 1.0 for figures in primary for figure in figures]
    adjusted = iter(holm([p for p, counted in zip(p_values, counts, strict=True) if counted]))
    return [(p, next(adjusted) if counted else 1.0) for p, counted in zip(p_values, counts, strict=True)]


def _figures(asked: Asked) -> dict[tuple[str, str], ArmFigure]:
    paths = dict.fromkeys((*SHOWN, *(metric.path for metric in asked.primary)))
    arms = asked.design.rows
    return {(path, arm.name): _figure(METRICS[path], arm, arms[0]) for path in paths for arm in arms}


def _of_primary(asked: Asked, figures: dict[tuple[str, str], ArmFigure]) -> list[ArmFigure]:
    return [figures[metric.path, arm.name] for metric in asked.primary for arm in asked.design.arms[1:]]


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
    others = tuple(run.value(metric) for run in reference.runs)
    either = [mine or bool(run.doubt(metric)) for mine, run in zip(doubts, reference.runs, strict=True)]
    ratios = tuple(_log_ratio(value, other) for value, other in zip(values, others, strict=True))
    used = [ratio for ratio in ratios if ratio is not None]
    against = estimate(used) if used else None
    return ArmFigure(metric, arm.name, values, own, ratios, against, sum(either), _absent(ratios, either))


def _absent(values: Sequence[float | None], doubts: Sequence[bool]) -> int:
    return sum(value is None and not doubt for value, doubt in zip(values, doubts, strict=True))


def _log_ratio(value: float | None, other: float | None) -> float | None:
    """None where one is absent or not positive: it has no ratio."""
    return log(value / other) if value and other and value > 0 and other > 0 else None


def _exponentiated(found: Estimate) -> Estimate:
    return replace(found, centre=exp(found.centre), low=exp(found.low), high=exp(found.high))


def _question(design: Design, figure: ArmFigure, tests: int, same_within: float) -> Question:
    arms = [arm for arm in design.arms if arm is design.arms[0] or arm.name == figure.arm]
    unusable = tuple(run.unusable for arm in arms for run in arm.runs if run.unusable)
    short, first_short = fell_short(design, figure.arm)
    return Question(figure.used, figure.metric.higher_is_better, tests, same_within, unusable, short, first_short)


def fell_short(design: Design, arm: str) -> tuple[int, int]:
    """In how many blocks the arm did not hold the offered rate and the first one did, and the other way round."""
    first = design.arms[0].runs
    runs = next((each.runs for each in design.arms if each.name == arm), first)
    pairs = list(zip(runs, first, strict=True))
    return (
        sum(run.fell_short and reference.rate_held is True for run, reference in pairs),
        sum(reference.fell_short and run.rate_held is True for run, reference in pairs),
    )


def first_verdicts(comparison: Comparison) -> tuple[FirstVerdict, ...]:
    """Of the tests that had enough blocks for a verdict."""
    return tuple(
        _as_first_verdict(comparison, test, test.figure.against)
        for test in comparison.tests
        if test.figure.against is not None
        and len(test.figure.used) >= comparison.needed
        and test.verdict.word != INVALID
    )


def _as_first_verdict(comparison: Comparison, test: Test, found: Estimate) -> FirstVerdict:
    return FirstVerdict(
        *_question_of_test(comparison, test),
        len(comparison.design.blocks),
        len(test.figure.used),
        test.verdict.word,
        test.verdict.reasons,
        found.centre,
        found.low,
        found.high,
        found.confidence,
        test.p,
        test.adjusted_p,
    )


def _question_of_test(comparison: Comparison, test: Test) -> tuple[str, str, str, str, float]:
    names = comparison.reference.name, test.figure.arm
    return comparison.scenario, test.figure.metric.path, *names, comparison.same_within


def let_stand(comparison: Comparison, kept: Sequence[FirstVerdict]) -> Comparison:
    """The comparison with the verdicts that its tests had before blocks were added or replaced.

    ``kept``: of the session of its runs. Runs of several sessions together are another comparison.
    """
    if len({run.info.options.get("session") for arm in comparison.design.arms for run in arm.runs}) > 1:
        return comparison
    known = {each.question: each for each in kept}
    firsts = (known.get(_question_of_test(comparison, test)) for test in comparison.tests)
    tests = tuple(_standing(comparison, test, first) for test, first in zip(comparison.tests, firsts, strict=True))
    return replace(comparison, tests=tests)


def _standing(comparison: Comparison, test: Test, first: FirstVerdict | None) -> Test:
    """An invalid run is no matter of how many blocks there are: it is told all the same."""
    now, blocks = test.figure.against, len(comparison.design.blocks)
    if first is None or test.verdict.word == INVALID:
        return test
    if (first.blocks, first.word) == (blocks, test.verdict.word) and now == first.estimate:
        return test
    later = f"it is {effect_text(now)}" if now else "no block has this figure in both arms"
    reasons = (
        f"This is the verdict of the first {first.blocks} blocks, which could have one, and it stands.",
        *first.reasons,
        f"By all {blocks} blocks {later}. That describes: blocks that are added after a verdict was possible are "
        "chosen by what was seen. A new verdict takes new runs, with so many blocks from the start (--session NAME).",
    )
    return replace(test, verdict=Verdict(first.word, reasons), first=first)


def newly_decided(comparisons: Iterable[Comparison], kept: Sequence[FirstVerdict]) -> list[FirstVerdict]:
    """Those that are to be kept beside the ``kept``: of tests that had none yet."""
    known = {each.question for each in kept}
    decided = [first for comparison in comparisons for first in first_verdicts(comparison)]
    return [first for first in decided if first.question not in known]
