"""Decides the verdict of a comparison of two arms in one figure, with its reasons in plain sentences.

A verdict requires enough blocks, a test that holds under Holm, and a difference larger than the one declared
irrelevant. It is `better`, `worse`, `same`, `undecided`, `unstable` or `invalid`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import exp, log
from typing import Any

import numpy as np

from reports.comparison.statistics import LEVEL, Estimate, detectable, needed_blocks, smallest_p
from reports.parts.numbers import counted, significant

BETTER, WORSE, SAME, UNDECIDED, UNSTABLE, INVALID = "better", "worse", "same", "undecided", "unstable", "invalid"
VERDICTS = (BETTER, WORSE, SAME, UNDECIDED, UNSTABLE, INVALID)
UNSTABLE_SPAN = 2.0
"""If the upper end of an interval exceeds its lower end by this factor, the runs do not repeat."""
SAME_WITHIN = 5.0
MOST_AS_PERCENT, MOST_OF_AN_END = 3.0, 10.0
"""A ratio beyond the first value, or an interval with an end beyond the second, is shown as × 4.2, not in percent."""


@dataclass(frozen=True)
class ComparisonVerdict:
    """``word``: one of `VERDICTS`. ``reasons``: sentences.

    ``by_rate``: the reason if a missed rate decides the verdict without the figure, such as ``did not hold the offered
    rate``; otherwise empty.
    """

    word: str
    reasons: tuple[str, ...]
    by_rate: str = ""


@dataclass(frozen=True)
class FirstVerdict:
    """The verdict of one test by the first blocks that could have one.

    ``scenario`` to ``same_within`` define the test. ``blocks``: number of blocks in the comparison; ``used``: number of
    blocks without an omitted figure. ``centre`` to ``confidence``: the estimate of the log ratio. ``p``,
    ``adjusted_p``: the test's p values. The field names are keys in the session's file.
    """

    scenario: str
    figure: str
    reference: str
    arm: str
    same_within: float
    blocks: int
    used: int
    word: str
    reasons: tuple[str, ...]
    centre: float
    low: float
    high: float
    confidence: float
    p: float
    adjusted_p: float

    @property
    def question(self) -> tuple[str, str, str, str, float]:
        return self.scenario, self.figure, self.reference, self.arm, self.same_within

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.centre, self.low, self.high, self.confidence)

    @classmethod
    def from_json(cls, document: Any) -> "FirstVerdict":
        """Build a verdict from its fields by name. Raises ValueError for anything else."""
        kinds: dict[object, type | tuple[type, ...]] = {str: str, int: int, float: (int, float)}
        values = dict(document) if isinstance(document, dict) else {}
        for declared_field in fields(cls):
            kind = kinds.get(declared_field.type, list)
            if not isinstance(values.get(declared_field.name), kind):
                raise ValueError(f"{declared_field.name} is {values.get(declared_field.name)!r}")
        if values.keys() - {declared_field.name for declared_field in fields(cls)} or values["word"] not in VERDICTS:
            raise ValueError("it has other keys, or another verdict")
        return cls(**(values | {"reasons": tuple(map(str, values["reasons"]))}))


@dataclass(frozen=True)
class FigureTest:
    """One test: is this arm's figure larger or smaller than the first arm's, by more than ``same_within`` percent?

    ``log_ratios``: one per usable block. ``tests``: the number that Holm covers. ``invalid``: a sentence per run that
    cannot be used. ``fell_short``: number of blocks in which brokers, links or consumers of this arm, but not of
    the first arm, kept it from holding the offered rate; ``first_fell_short``: the reverse. ``aborted``: whether that
    includes loads that were aborted.
    """

    log_ratios: tuple[float, ...]
    higher_is_better: bool
    tests: int
    same_within: float = SAME_WITHIN
    invalid: tuple[str, ...] = ()
    fell_short: int = 0
    first_fell_short: int = 0
    aborted: bool = False

    @property
    def margin(self) -> float:
        return log(1 + self.same_within / 100)

    @property
    def needed(self) -> int:
        return needed_blocks(self.tests)


def judge(question: FigureTest, ratio: Estimate | None, adjusted_p: float) -> ComparisonVerdict:
    """Return the verdict of a test.

    ``ratio``: estimate of the log ratio, None if no block could be used. ``adjusted_p``: p after Holm's correction.
    """
    if question.invalid:
        return ComparisonVerdict(INVALID, question.invalid)
    if by_rate := judge_offered_rate(question):
        return by_rate
    if ratio is None:
        return ComparisonVerdict(UNDECIDED, ("No block has this figure in both arms.",))
    if len(question.log_ratios) < question.needed:
        return ComparisonVerdict(UNDECIDED, too_few(question, ratio))
    is_significant = adjusted_p <= LEVEL
    if is_significant and abs(ratio.center) > question.margin:
        return _different(question, ratio, adjusted_p)
    if -question.margin <= ratio.low and ratio.high <= question.margin:
        within = f"within {question.same_within:g} % either way"
        return ComparisonVerdict(SAME, (f"The whole interval, {interval_text(ratio)}, lies {within}.",))
    if ratio.high - ratio.low > log(UNSTABLE_SPAN):
        return ComparisonVerdict(UNSTABLE, (_unstable(ratio),))
    return ComparisonVerdict(UNDECIDED, (_undecided_reason(question, ratio, adjusted_p), *forecast(question)))


def judge_offered_rate(question: FigureTest) -> ComparisonVerdict | None:
    """Judge by the offered rate: an arm that did not hold it where the other did is worse in every figure.

    It takes as many blocks that all point the same way as any other verdict (a sign test).
    """
    for word, only, never in (
        (WORSE, question.fell_short, question.first_fell_short),
        (BETTER, question.first_fell_short, question.fell_short),
    ):
        if only >= question.needed and not never:
            subject, opponent = ("It", "the first arm did") if word == WORSE else ("The first arm", "this one did")
            unheld = f"did not hold the offered rate{' or was aborted' if question.aborted else ''}"
            reason = f"{subject} {unheld} in {counted(only, 'block')} in which {opponent}."
            return ComparisonVerdict(word, (reason,), by_rate=unheld)
    return None


def _different(question: FigureTest, ratio: Estimate, adjusted_p: float) -> ComparisonVerdict:
    good = (ratio.center > 0) == question.higher_is_better
    limit = f"more than the {question.same_within:g} % that count as the same"
    reason = f"It is {effect_text(ratio)}, {limit}; p is {adjusted_p:.2g} under Holm."
    return ComparisonVerdict(BETTER if good else WORSE, (reason,))


def _unstable(ratio: Estimate) -> str:
    times = significant(exp(ratio.high - ratio.low), 2)
    return (
        f"The ratio varies between blocks: the upper end of the interval is {times} times the lower "
        "end. Find out why the runs do not repeat before making more of them."
    )


def _undecided_reason(question: FigureTest, ratio: Estimate, adjusted_p: float) -> str:
    """Return the result of the test, and the conditions for a verdict."""
    limit, interval = f"{question.same_within:g} %", interval_text(ratio)
    if adjusted_p <= LEVEL:
        return f"There is a difference ({interval}), but it may be smaller than {limit}."
    if not ratio.low <= 0 <= ratio.high:
        tests = f"with {counted(question.tests, 'test')}, Holm demands more" if question.tests > 1 else ""
        return (
            f"The interval, {interval}, excludes no difference, but the test does not: p is {adjusted_p:.2g}, and a "
            f"verdict requires at most {LEVEL:g}{f' ({tests})' if tests else ''}."
        )
    return f"The interval, {interval}, includes both no difference and one of more than {limit}."


def too_few(question: FigureTest, ratio: Estimate) -> tuple[str, ...]:
    """Explain why the blocks are too few, and the differences that they and the required number could detect."""
    blocks, needed = len(question.log_ratios), question.needed
    least = smallest_p(blocks) * question.tests
    rule = f"{counted(blocks, 'block')} cannot give a verdict: the smallest p under Holm would be {min(1.0, least):.2g}"
    why = f"{rule}. With {counted(question.tests, 'test')} at {LEVEL:g}, a verdict needs {needed} blocks."
    if blocks == 1:
        return (why, f"Observed in the only block: {effect_text(ratio)}; one block has no interval.")
    same_way = max(sum(r > 0 for r in question.log_ratios), sum(r < 0 for r in question.log_ratios))
    ways = f"{same_way} of {blocks} blocks point the same way"
    return (why, f"Observed: {effect_text(ratio)}; {ways}.", *forecast(question))


def forecast(question: FigureTest) -> tuple[str, ...]:
    """Return a sentence on the difference that the required number of blocks would detect four times in five.

    The estimate uses the spread of the existing blocks. Empty for fewer than two.
    """
    if len(question.log_ratios) < 2:
        return ()
    blocks = max(question.needed, len(question.log_ratios))
    size = detectable(_deviation(question.log_ratios), blocks, question.tests)
    if size is None:
        return ()
    size = max(size, question.margin)
    return (
        f"With {blocks} blocks that spread as these do, a difference of {size_text(size)} or more would be detected "
        "four times in five.",
    )


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1))


def effect_text(ratio: Estimate) -> str:
    """Return ``62 % higher (48 … 79 %)``; if that is long, ratio and interval as factors: ``× 7.3 (× 6.1 … × 8.4)``.

    One block has no interval.
    """
    if not ratio.has_interval:
        return change_text(ratio.center)
    if abs(ratio.center) > log(MOST_AS_PERCENT) or _is_wide(ratio):
        return f"{_times_text(ratio.center)} ({_with_confidence(_times_interval(ratio), ratio)})"
    return f"{change_text(ratio.center)} ({interval_text(ratio)})"


def change_text(log_ratio: float) -> str:
    """Return 0.4824 as ``62 % higher``, -0.1054 as ``10 % lower``; if beyond threefold, as ``× 4.2``."""
    if abs(log_ratio) > log(MOST_AS_PERCENT):
        return _times_text(log_ratio)
    text = percent_text(abs(log_ratio) if log_ratio > 0 else log_ratio)
    if text == "0 %":
        return "unchanged"
    return f"{text.removeprefix('−')} {'higher' if log_ratio > 0 else 'lower'}"


def size_text(log_ratio: float) -> str:
    """Return the size of a difference: ``12 %``, or, beyond threefold, ``× 4.2``."""
    return _times_text(log_ratio) if log_ratio > log(MOST_AS_PERCENT) else percent_text(log_ratio)


def percent_text(log_ratio: float) -> str:
    """Return a ratio as a change in percent, with one decimal below 10: 0.0488 -> ``5 %``; -0.1054 -> ``−10 %``."""
    change = 100 * (exp(log_ratio) - 1)
    digits = f"{abs(change):,.0f}" if abs(change) >= 9.95 else f"{abs(change):.1f}".removesuffix(".0")
    return f"{'−' if change < 0 and digits != '0' else ''}{digits} %"


def interval_text(ratio: Estimate) -> str:
    """Return ``48 … 79 %``; ``× 0.9 … × 12`` if an end is beyond tenfold. Confidence below 95 % is added."""
    if _is_wide(ratio):
        return _with_confidence(_times_interval(ratio), ratio)
    ends = [percent_text(end) for end in (ratio.low, ratio.high)]
    return _with_confidence(f"{ends[0].removesuffix(' %')} … {ends[1]}", ratio)


def _is_wide(ratio: Estimate) -> bool:
    return max(abs(ratio.low), abs(ratio.high)) > log(MOST_OF_AN_END)


def _times_interval(ratio: Estimate) -> str:
    return f"{_times_text(ratio.low)} … {_times_text(ratio.high)}"


def _times_text(log_ratio: float) -> str:
    return f"× {significant(exp(log_ratio), 2)}"


def _with_confidence(interval: str, ratio: Estimate) -> str:
    return interval if ratio.confidence >= 1 - LEVEL else f"{interval}, {100 * ratio.confidence:.0f} % confidence"
