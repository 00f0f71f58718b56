"""Checks that Poisson arrivals are a Poisson process, repeat with their seed, and agree with their counts."""

from itertools import pairwise
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.loads.arrivals import (
    ARRIVALS,
    BLOCK,
    BLOCKS_KEPT,
    FIXED,
    POISSON,
    PoissonArrivals,
    arrivals_of,
    max_shortfall,
)
from records.loads.rate_steps import RateStep
from records.loads.send_schedule import producer_schedule
from records.units import NS_PER_S

CLIENTS = st.integers(0, 2**31)
PLACES = st.floats(-10, 5_000, allow_nan=False)


def largest_gap(values: list[float]) -> float:
    """Return the Kolmogorov-Smirnov distance between values and an exponential distribution with mean 1."""
    ordered, count = sorted(values), len(values)
    cumulative = [1 - exp(-value) for value in ordered]
    return max(max(at - n / count, (n + 1) / count - at) for n, at in enumerate(cumulative))


def test_gaps_between_poisson_arrivals_are_exponentially_distributed() -> None:
    """The critical distance of 20,000 values at the 0.1 % level is 1.95 / sqrt(20,000)."""
    arrivals = PoissonArrivals(seed=7, client=3)
    places = [0.0, *(arrivals.place(slot) for slot in range(20_000))]
    assert largest_gap([later - earlier for earlier, later in pairwise(places)]) < 1.95 / 20_000**0.5


def test_evenly_spaced_arrivals_would_fail_that_test() -> None:
    assert largest_gap([1.0] * 20_000) > 0.5


def test_due_times_of_a_schedule_have_exponential_gaps() -> None:
    schedule = producer_schedule(POISSON, 250.0, 7, 4, start_ns=5)
    due_ns = [schedule.planned_ns(slot) for slot in range(5_000)]
    gaps = [(later - earlier) * 250 / NS_PER_S for earlier, later in pairwise(due_ns)]
    assert largest_gap(gaps) < 1.95 / len(gaps) ** 0.5


def test_counts_of_a_second_vary_as_a_poisson_distribution_does() -> None:
    """Mean and variance are equal; fixed arrivals have no variance."""
    arrivals = PoissonArrivals(seed=1, client=1)
    counts = [arrivals.slots_by(20.0 * (second + 1)) - arrivals.slots_by(20.0 * second) for second in range(2_000)]
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    assert abs(mean - 20) < 0.5
    assert abs(variance - 20) < 3


@given(CLIENTS, CLIENTS, st.integers(0, 10 * BLOCK))
def test_places_come_again_with_the_seed_in_any_order(seed: int, client: int, slot: int) -> None:
    asked_first, asked_later = PoissonArrivals(seed, client), PoissonArrivals(seed, client)
    asked_later.place(3 * BLOCK)
    assert asked_first.place(slot) == asked_later.place(slot)
    assert asked_first.place(slot) < asked_first.place(slot + 1)


def test_places_of_blocks_that_were_dropped_are_computed_again() -> None:
    arrivals = PoissonArrivals(seed=5, client=5)
    first = arrivals.place(10)
    for block in range(1, BLOCKS_KEPT + 2):
        arrivals.place(block * BLOCK)
    assert arrivals.place(10) == first


@pytest.mark.parametrize("kind", ARRIVALS)
def test_arrivals_know_their_kind(kind: str) -> None:
    """Another process creates the same arrivals from it."""
    assert arrivals_of(kind, 1, 1).kind == kind


def test_two_clients_and_two_seeds_have_different_arrivals() -> None:
    places = {PoissonArrivals(seed, client).place(0) for seed in range(10) for client in range(10)}
    assert len(places) == 100


@given(st.sampled_from((FIXED, POISSON)), CLIENTS, PLACES)
def test_slots_by_a_place_are_those_at_it_or_before_it(kind: str, client: int, place: float) -> None:
    arrivals = arrivals_of(kind, 1, client)
    slots = arrivals.slots_by(place)
    assert slots == 0 or arrivals.place(slots - 1) <= place
    assert arrivals.place(slots) > place


@given(
    st.floats(0.5, 2_000),
    CLIENTS,
    st.lists(st.builds(RateStep, st.floats(0.5, 50), st.floats(0.5, 50), st.integers(5, 12)), max_size=3),
    st.floats(0, 30),
)
def test_a_poisson_schedule_counts_the_slots_whose_due_times_have_come(
    rate_per_s: float, client: int, steps: list[RateStep], now_s: float
) -> None:
    schedule = producer_schedule(POISSON, rate_per_s, 1, client, start_ns=NS_PER_S, steps=steps)
    schedule.set_load_times(4 * NS_PER_S, 40 * NS_PER_S)
    now_ns = round(now_s * NS_PER_S)
    slots = schedule.slots_due(now_ns)
    assert slots == 0 or schedule.planned_ns(slots - 1) <= now_ns
    assert schedule.planned_ns(slots) > now_ns
    due_ns = [schedule.planned_ns(slot) for slot in range(min(slots + 5, 3_000))]
    assert due_ns == sorted(due_ns)


def test_steps_change_the_rate_of_a_poisson_load() -> None:
    steps = [RateStep(100, 100, 50), RateStep(400, 400, 50)]
    schedule = producer_schedule(POISSON, 100.0, 1, 1, start_ns=0, steps=steps)
    schedule.set_load_times(0, None)
    first, both = schedule.slots_planned(50 * NS_PER_S), schedule.slots_planned(100 * NS_PER_S)
    assert abs(first - 5_000) < 4 * 5_000**0.5
    assert abs(both - first - 20_000) < 4 * 20_000**0.5


def test_counts_may_be_four_deviations_below_the_rate() -> None:
    assert max_shortfall(10_000, 3, FIXED) == 3
    assert max_shortfall(10_000, 3, POISSON) == 403
    assert max_shortfall(-1.0, 3, POISSON) == 3
