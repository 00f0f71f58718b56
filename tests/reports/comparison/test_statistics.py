"""The statistics are held against scipy and against the enumeration of every sign."""

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from reports.comparison.statistics import (
    LEVEL,
    can_be_judged,
    detectable,
    estimate,
    holm,
    needed_blocks,
    p_value,
    pairwise_means,
    smallest_p,
)

FEW = settings(max_examples=40, deadline=None)
WHOLE = st.integers(-6, 6)  # few values, so that ties and zeros are frequent
REAL = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 6))


def enumerated_p(differences: list[float]) -> float:
    """By brute force: every way to give signs to the non-zero differences is as likely as the others."""
    ranks = [r for r, d in zip(stats.rankdata(np.abs(differences)), differences, strict=True) if d != 0]
    every = product((0, 1), repeat=len(ranks))
    sums = np.array([sum(r for r, up in zip(ranks, signs, strict=True) if up) for signs in every])
    observed = sum(r for r, d in zip(ranks, [d for d in differences if d != 0], strict=True) if d > 0)
    return min(1.0, 2 * min(float(np.mean(sums <= observed + 1e-9)), float(np.mean(sums >= observed - 1e-9))))


@FEW
@given(st.lists(WHOLE, min_size=1, max_size=8))
def test_p_is_that_of_all_signs_enumerated_ties_and_zeros_included(differences: list[float]) -> None:
    assert p_value(differences) == pytest.approx(enumerated_p(differences), abs=1e-12)


@FEW
@given(st.lists(REAL, min_size=1, max_size=25, unique_by=abs))
def test_p_is_that_of_scipy_where_there_are_no_ties(differences: list[float]) -> None:
    assume(0 not in differences)
    assert p_value(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9)


@FEW
@given(st.lists(REAL, min_size=1, max_size=12))
def test_the_estimate_is_the_median_of_all_pairwise_means(values: list[float]) -> None:
    means = sorted((values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values)))
    assert list(pairwise_means(values)) == pytest.approx(means)
    interval = estimate(values)
    assert interval.center == pytest.approx(np.median(means))
    assert interval.low <= interval.center <= interval.high


@FEW
@given(st.lists(REAL, min_size=6, max_size=14, unique=True), st.floats(-1, 1))
def test_the_interval_holds_just_the_shifts_that_the_test_does_not_reject(values: list[float], shift: float) -> None:
    interval = estimate(values)
    moved = [value - shift for value in values]
    assume(len({abs(value) for value in moved}) == len(moved) and 0 not in moved)
    assume(min(abs(shift - mean) for mean in pairwise_means(values)) > 1e-9)
    assert (interval.low < shift < interval.high) == (p_value(moved) > LEVEL)


@pytest.mark.parametrize(
    ("values", "confidence"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375), (6, 0.96875), (7, 1 - 2 * 3 / 128)]
)
def test_the_interval_states_its_confidence(values: int, confidence: float) -> None:
    """If the blocks are too few for 95 %, the interval is the whole range."""
    interval = estimate([float(n**2) for n in range(values)])
    assert interval.confidence == pytest.approx(confidence)
    if values < 7:
        assert (interval.low, interval.high) == (0, (values - 1) ** 2)


@pytest.mark.parametrize("blocks", [3, 6, 7, 10])
def test_the_interval_covers_the_truth_as_often_as_it_says(blocks: int) -> None:
    random = np.random.default_rng(blocks)
    intervals = [estimate(list(sample)) for sample in random.normal(0.3, 1, (800, blocks))]
    covered = sum(interval.low <= 0.3 <= interval.high for interval in intervals)
    assert stats.binomtest(covered, len(intervals), intervals[0].confidence).pvalue > 0.001


def test_an_estimate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        estimate([])


def test_differences_that_are_all_zero_say_nothing() -> None:
    assert p_value([0.0] * 7) == 1.0


@FEW
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_rejects_what_the_step_by_step_rule_rejects(p_values: list[float]) -> None:
    adjusted, rejecting, rejected = holm(p_values), True, set()
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        rejecting = rejecting and (len(p_values) - rank) * p_values[at] <= LEVEL
        rejected |= {at} if rejecting else set()
    assert {at for at, p in enumerate(adjusted) if p <= LEVEL} == rejected


def test_holm_adjusts_as_in_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))


@pytest.mark.parametrize(("tests", "blocks"), [(1, 7), (2, 7), (3, 7), (4, 8), (6, 8), (7, 9), (12, 9)])
def test_the_needed_blocks_let_all_tests_succeed_under_holm(tests: int, blocks: int) -> None:
    assert needed_blocks(tests) == blocks
    assert tests * smallest_p(blocks) <= LEVEL
    assert blocks == 7 or tests * smallest_p(blocks - 1) > LEVEL


def test_the_smallest_p_is_that_of_blocks_that_all_point_the_same_way() -> None:
    assert [smallest_p(n) for n in (1, 5, 7)] == [p_value([1.0 * k for k in range(1, n + 1)]) for n in (1, 5, 7)]


def test_of_pairs_with_the_usual_spread_as_many_are_told_as_the_project_states() -> None:
    """The interval lies above 0: of +10 % for 65, 83 and 96 % with 5, 7 and 10 pairs; of +20 % with 5 for 98 %."""
    random = np.random.default_rng(16)
    stated = {(5, 1.1): 0.65, (7, 1.1): 0.83, (10, 1.1): 0.96, (5, 1.2): 0.98}
    for (pairs, ratio), power in stated.items():
        samples = random.normal(log(ratio), 0.0687, (800, pairs))
        share_told = np.mean([estimate(list(sample)).low > 0 for sample in samples])
        assert share_told == pytest.approx(power, abs=0.045), (pairs, ratio)


@pytest.mark.parametrize(("blocks", "tests"), [(8, 1), (12, 1), (12, 3), (20, 2)])
def test_the_difference_that_would_probably_be_told_is_told_four_times_in_five(blocks: int, tests: int) -> None:
    random = np.random.default_rng(blocks)
    size = detectable(0.1, blocks, tests)
    assert size is not None
    share_told = np.mean([p_value(list(s)) <= LEVEL / tests for s in random.normal(size, 0.1, (700, blocks))])
    assert share_told == pytest.approx(0.8, abs=0.06)


def test_one_block_forecasts_nothing_and_blocks_that_agree_tell_anything() -> None:
    assert detectable(0.1, 1) is None
    assert detectable(0.0, 7) == 0.0


@pytest.mark.parametrize(
    ("blocks", "judged"),
    [((7, 3), [True, False]), ((3, None), [False, True]), ((7, 8), [True, True]), ((3, 3), [True, True]), ((), [])],
)
def test_a_scenario_of_too_few_blocks_for_any_verdict_is_only_described(
    blocks: tuple[int | None, ...], judged: list[bool]
) -> None:
    assert can_be_judged(blocks) == judged
