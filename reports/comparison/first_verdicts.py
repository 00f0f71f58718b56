"""Lets the first verdict of a comparison stand when more blocks are added after it.

More blocks after a verdict was possible are chosen by what was seen: who adds them until a verdict comes finds one too
often. So the first one stands, and later figures stand beside it as a description. Blocks that are added while there
were too few for any verdict are free.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reports.comparison.comparison import Comparison, Test
from reports.comparison.statistics import Estimate
from reports.comparison.verdicts import INVALID, FirstVerdict, Verdict, effect_text


def first_verdicts(comparison: Comparison) -> tuple[FirstVerdict, ...]:
    """Of the tests that had enough blocks for a verdict."""
    return tuple(
        _first(comparison, test, test.figure.against)
        for test in comparison.tests
        if test.figure.against is not None
        and len(test.figure.used) >= comparison.needed
        and test.verdict.word != INVALID
    )


def _first(comparison: Comparison, test: Test, found: Estimate) -> FirstVerdict:
    return FirstVerdict(
        *_question(comparison, test),
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


def _question(comparison: Comparison, test: Test) -> tuple[str, str, str, str, float]:
    names = comparison.reference.name, test.figure.arm
    return comparison.scenario, test.figure.metric.path, *names, comparison.same_within


def let_stand(comparison: Comparison, kept: Sequence[FirstVerdict]) -> Comparison:
    """The comparison with the verdicts that its tests had before blocks were added or replaced.

    ``kept``: of the session of its runs. Runs of several sessions together are another comparison.
    """
    if len({run.info.options.get("session") for arm in comparison.design.arms for run in arm.runs}) > 1:
        return comparison
    known = {each.question: each for each in kept}
    tests = tuple(_standing(comparison, test, known.get(_question(comparison, test))) for test in comparison.tests)
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
