"""Computes the statistics of paired blocks: Hodges–Lehmann estimate, exact signed-rank interval and test, Holm.

The run is the unit: each block gives one number, the logarithm of a ratio of two runs. Everything is exact for small
samples; nothing assumes a normal distribution except `detectable`, which is a forecast and not a test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

Floats = npt.NDArray[np.float64]

LEVEL = 0.05
"""Level of all tests together, and 1 − the confidence that intervals aim at."""
LEAST_BLOCKS = 7
POWER = 0.8


@dataclass(frozen=True)
class Estimate:
    """A Hodges–Lehmann estimate, in the unit of the values (here mostly logarithms).

    ``confidence``: the true coverage of the interval ``low`` to ``high``. It is below 0.95 for fewer than 6 values,
    and 0 for one value.
    """

    center: float
    low: float
    high: float
    confidence: float

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval. A single value has none."""
        return self.confidence > 0


def estimate(values: Sequence[float]) -> Estimate:
    """Return the median of all pairwise means, with the exact Wilcoxon signed-rank interval.

    Raises ValueError if there are no values.
    """
    if not values:
        raise ValueError("an estimate needs at least one value, and there is none")
    means = pairwise_means(values)
    below = _cumulative(len(values))
    cut = max(0, int(np.searchsorted(below, LEVEL / 2, side="right")) - 1)
    return Estimate(
        center=float(np.median(means)),
        low=float(means[cut]),
        high=float(means[len(means) - 1 - cut]),
        confidence=max(0.0, float(1 - 2 * below[cut])),
    )


@lru_cache
def _cumulative(count: int) -> Floats:
    """Return the probability that the signed-rank sum of ``count`` untied values is at most each index."""
    sums: Floats = np.cumsum(_signed_rank_probabilities(range(2, 2 * count + 1, 2)))[::2]
    return sums


def pairwise_means(values: Sequence[float]) -> Floats:
    """Return the Walsh averages in ascending order: the means of all pairs, including each value with itself."""
    array = np.asarray(values, dtype=np.float64)
    rows, columns = np.triu_indices(len(array))
    means: Floats = np.sort((array[rows] + array[columns]) / 2)
    return means


def p_value(differences: Sequence[float]) -> float:
    """Return the two-sided p of the exact signed-rank test.

    Ties share their mean rank. Zeros keep their ranks, which are left out of the sums.
    """
    array = np.asarray(differences, dtype=np.float64)
    doubled_ranks = np.rint(2 * stats.rankdata(np.abs(array))).astype(int)
    if not np.any(array):
        return 1.0
    probabilities = _signed_rank_probabilities(doubled_ranks[array != 0])
    positive = int(doubled_ranks[array > 0].sum())
    tail = min(probabilities[: positive + 1].sum(), probabilities[positive:].sum())
    return min(1.0, 2 * float(tail))


def _signed_rank_probabilities(doubled_ranks: Sequence[int] | npt.NDArray[np.int_] | range) -> Floats:
    """Return the probability of each sum of the ranks (doubled) if each rank is included with probability 1/2.

    The index is the sum.
    """
    probabilities = np.ones(1)
    for rank in doubled_ranks:
        without = np.concatenate([probabilities, np.zeros(rank)])
        chosen = np.concatenate([np.zeros(rank), probabilities])
        probabilities = (without + chosen) / 2
    return probabilities


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p values adjusted by Holm's method, in the given order, to be compared with `LEVEL`."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = largest
    return tuple(adjusted)


def smallest_p(blocks: int) -> float:
    """Return the smallest possible two-sided p for this number of blocks: all point the same way."""
    return min(1.0, float(2.0 ** (1 - blocks)))


def can_be_judged(blocks: Sequence[int | None]) -> list[bool]:
    """Return for each number of blocks whether a scenario is judged; None: the number that a verdict needs.

    With fewer than `LEAST_BLOCKS`, no result can give a verdict. So Holm leaves these scenarios out, which does not
    make the verdicts of the others harder (Tarone 1990). If all scenarios are that small, all count.
    """
    able = [count is None or count >= LEAST_BLOCKS for count in blocks]
    return able if any(able) else [True] * len(able)


def needed_blocks(tests: int) -> int:
    """Return the blocks that a verdict needs: at least 7, and enough for the smallest p under Holm."""
    blocks = LEAST_BLOCKS
    while tests * smallest_p(blocks) > LEVEL:
        blocks += 1
    return blocks


def detectable(deviation: float, blocks: int, tests: int = 1) -> float | None:
    """Return the difference that this number of blocks would probably detect, by the noncentral t distribution.

    ``deviation``: standard deviation of the differences of single blocks. The result has its unit. None for fewer than
    two blocks. The rank test needs π/3 as many blocks as t for normal values.
    """
    if blocks < 2:
        return None
    return deviation * _standardized(blocks, tests)


@lru_cache
def _standardized(blocks: int, tests: int) -> float:
    """Return the detectable difference in standard deviations of single blocks."""
    freedom, effective = blocks - 1, blocks * 3 / np.pi
    critical = stats.t.ppf(1 - LEVEL / tests / 2, freedom)

    def missing(shift: float) -> float:
        return float(stats.nct.sf(critical, freedom, shift)) - POWER

    return float(optimize.brentq(missing, 0.01, 10 * critical + 10)) / sqrt(effective)
