"""Compares the hot methods of arms: which methods have a different share of the brokers' execution samples."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from records.figures.profiles import FEWEST_SAMPLES, JvmProfile, samples_by_activemq_method, samples_by_method
from reports.parts.values import Cell, Column, Table

MOST_DIFFERENCES = 12
LEAST_SIGMAS = 3.0
"""A difference of shares must be this many times its standard error, as samples are few."""

Profiles = Sequence[JvmProfile]
"""The profiles of one run."""
CountSamples = Callable[[Profiles], Counter[str]]


@dataclass(frozen=True)
class MethodDifference:
    method: str
    reference_samples: int
    reference_share: float
    arm_samples: int
    arm_share: float

    @property
    def points(self) -> float:
        """The difference in percentage points."""
        return 100 * (self.arm_share - self.reference_share)


def differences_tables(profiles_by_arm: Mapping[str, Sequence[Profiles]]) -> tuple[Table, ...]:
    """Return the methods whose share differs from the first arm, by ActiveMQ's methods and by the running methods.

    ``profiles_by_arm``: the profiles of each run of an arm, the reference first. Empty if no run recorded a profile.
    """
    of_brokers = {
        arm: [[profile for profile in profiles if not profile.is_of_clients] for profiles in runs]
        for arm, runs in profiles_by_arm.items()
    }
    if not any(profiles for runs in of_brokers.values() for profiles in runs):
        return ()
    differs = "share of execution samples differs"
    return (
        _table(f"Methods of ActiveMQ, with the library methods they called, whose {differs}", of_brokers,
               samples_by_activemq_method),
        _table(f"Hot methods whose {differs}", of_brokers, samples_by_method),
    )  # fmt: skip


def _table(caption: str, profiles_by_arm: Mapping[str, Sequence[Profiles]], count: CountSamples) -> Table:
    reference, *others = profiles_by_arm
    sparse = [arm for arm, runs in profiles_by_arm.items() if not runs or min(map(_samples, runs)) < FEWEST_SAMPLES]
    rows: list[tuple[Cell, ...]] = []
    for arm in others:
        if not {arm, reference} & set(sparse):
            for found in differences(profiles_by_arm[reference], profiles_by_arm[arm], count)[:MOST_DIFFERENCES]:
                shares = 100 * found.reference_share, 100 * found.arm_share
                counts = found.reference_samples, found.arm_samples
                rows.append((arm, found.method, counts[0], shares[0], counts[1], shares[1], found.points))
    columns = (
        Column("Arm"),
        Column("Method"),
        Column(f"Samples in {reference}", 0),
        Column(f"Share in {reference} (%)", 1),
        Column("Samples in the arm", 0),
        Column("Share in the arm (%)", 1),
        Column("Difference (percentage points)", 1),
    )
    few = f"Too few samples in {', '.join(sparse)}: each run needs {FEWEST_SAMPLES} in the load. Use longer runs."
    empty = few if sparse else "No difference is larger than the differences between runs of one arm, and than chance."
    return Table(f"{caption}. {few}" if sparse and rows else caption, columns, tuple(rows), empty)


def differences(reference: Sequence[Profiles], arm: Sequence[Profiles], count: CountSamples) -> list[MethodDifference]:
    """Return the differences that neither equal runs nor chance explain, the largest first.

    The method's share must be higher in every run of one arm than in every run of the other, and the shares of all
    samples of an arm must differ by `LEAST_SIGMAS` standard errors.
    """
    there_counts, here_counts = ([count(profiles) for profiles in runs] for runs in (reference, arm))
    there_all, here_all = ([_samples(profiles) for profiles in runs] for runs in (reference, arm))
    found = []
    for method in set().union(*there_counts, *here_counts):
        there, here = ([counts[method] for counts in runs] for runs in (there_counts, here_counts))
        there_shares, here_shares = _shares(there, there_all), _shares(here, here_all)
        if min(here_shares) > max(there_shares) or max(here_shares) < min(there_shares):
            first, second = (sum(there), sum(there_all)), (sum(here), sum(here_all))
            if _sigmas(*first, *second) >= LEAST_SIGMAS:
                found.append(MethodDifference(method, first[0], first[0] / first[1], second[0], second[0] / second[1]))
    return sorted(found, key=lambda difference: (-abs(difference.points), difference.method))


def _samples(profiles: Profiles) -> int:
    return sum(profile.samples for profile in profiles)


def _shares(counts: Sequence[int], totals: Sequence[int]) -> list[float]:
    return [count / total for count, total in zip(counts, totals, strict=True)]


def _sigmas(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the difference of two shares in standard errors of that difference, if both were equal."""
    share = (first + second) / (of_first + of_second)
    error = math.sqrt(share * (1 - share) * (1 / of_first + 1 / of_second))
    return abs(first / of_first - second / of_second) / error if error else 0.0
