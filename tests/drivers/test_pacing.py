"""Checks that the send schedule is fixed, complete and independent of the broker."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from drivers.client.pacing import LEAD_NS, NS_PER_S, Schedule, random_phase_ns, share, until_due

RATES = st.floats(0.01, 100_000, allow_nan=False)


def due_times(schedule: Schedule) -> list[int]:
    times: list[int] = []
    while (due_ns := schedule.due_ns(len(times))) is not None:
        times.append(due_ns)
    return times


def test_slots_are_due_one_period_apart_from_the_start_and_phase() -> None:
    schedule = Schedule(start_ns=1_000, rate_per_s=4, phase_ns=7, count=3)
    assert due_times(schedule) == [1_007, 250_001_007, 500_001_007]


def test_a_schedule_ends_at_its_end_even_if_slots_are_left() -> None:
    schedule = Schedule(start_ns=0, rate_per_s=10, ends_ns=NS_PER_S)
    assert len(due_times(schedule)) == 10


def test_a_slot_that_is_due_exactly_at_the_end_is_too_late() -> None:
    assert Schedule(start_ns=0, rate_per_s=1, ends_ns=NS_PER_S).due_ns(1) is None


@given(RATES, st.integers(0, 10_000_000))
def test_the_schedule_does_not_drift_however_many_slots_have_passed(rate: float, slot: int) -> None:
    due_ns = Schedule(start_ns=0, rate_per_s=rate).due_ns(slot)
    assert due_ns is not None
    assert abs(due_ns - slot * NS_PER_S / rate) <= 1 + slot * NS_PER_S / rate * 1e-15


@given(RATES, st.integers(0, 2**31), st.integers(0, 2**31))
def test_a_phase_lies_within_one_period_and_comes_again_with_the_seed(rate: float, seed: int, client: int) -> None:
    phase_ns = random_phase_ns(rate, seed, client)
    assert 0 <= phase_ns <= NS_PER_S / rate
    assert phase_ns == random_phase_ns(rate, seed, client)


@given(
    st.floats(0.1, 5_000), st.integers(0, 10**9), st.none() | st.integers(0, 40), st.integers(0, 10**10), st.booleans()
)
def test_the_slots_due_by_a_moment_are_those_whose_due_time_has_come(
    rate: float, phase_ns: int, count: int | None, now_ns: int, ends: bool
) -> None:
    now_ns = min(now_ns, round(200 / rate * NS_PER_S))
    schedule = Schedule(0, rate, phase_ns, count, now_ns // 2 if ends else None)
    slot = 0
    while (due_ns := schedule.due_ns(slot)) is not None and due_ns <= now_ns:
        slot += 1
    assert abs(schedule.slots_due(now_ns) - slot) <= 1  # a nanosecond of rounding may fall on either side
    assert schedule.slots_due(-1) == 0


def test_two_producers_do_not_send_in_step() -> None:
    assert len({random_phase_ns(10, 1, client) for client in range(50)}) == 50


@given(st.integers(0, 10**9), st.integers(1, 1_000))
def test_shares_add_up_to_the_whole_and_differ_by_one_at_most(total: int, parts: int) -> None:
    shares = [share(total, parts, index) for index in range(parts)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


def test_what_is_due_by_now_is_what_is_late_and_no_more_than_asked_for() -> None:
    schedule = Schedule(start_ns=100, rate_per_s=NS_PER_S / 10, count=6)
    assert schedule.due_by(125, 0, 9) == [(0, 100), (1, 110), (2, 120)]
    assert schedule.due_by(125, 1, 1) == [(1, 110)]
    assert schedule.due_by(10_000, 4, 9) == [(4, 140), (5, 150)]
    assert schedule.due_by(125, 3, 9) == schedule.due_by(10_000, 0, 0) == schedule.due_by(10_000, 0, -1) == []


def test_a_producer_that_was_woken_early_waits_until_its_message_is_due() -> None:
    ticks = itertools.count(0, 1_000)
    until_due(LEAD_NS, lambda: next(ticks))
    assert next(ticks) >= LEAD_NS


def test_a_time_that_is_far_away_is_not_waited_for_by_reading_the_clock() -> None:
    until_due(LEAD_NS + 1, lambda: 0)
