"""Checks that the send schedule is fixed, complete and independent of the broker, at one rate and in steps."""

import itertools
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from drivers.client.pacing import LEAD_NS, wait_until_due
from records.loads.rate_steps import RateStep, ends_s
from records.loads.send_schedule import Schedule, SteppedSchedule, random_phase_ns, share
from records.units import NS_PER_S

RATES = st.floats(0.01, 100_000, allow_nan=False)
STEP_RATES = st.floats(0.5, 50, allow_nan=False)
STEPS = st.lists(st.builds(RateStep, STEP_RATES, STEP_RATES, st.integers(5, 12)), min_size=1, max_size=4)


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
    wait_until_due(LEAD_NS, lambda: next(ticks))
    assert next(ticks) >= LEAD_NS


def test_a_time_that_is_far_away_is_not_waited_for_by_reading_the_clock() -> None:
    wait_until_due(LEAD_NS + 1, lambda: 0)


def stepped(steps: list[RateStep], phase: float, warm_up_s: float) -> tuple[SteppedSchedule, int]:
    """A schedule that begins at 1 s, and when its load begins (ns)."""
    rate_per_s, began_ns = steps[0].from_per_s, NS_PER_S + round(warm_up_s * NS_PER_S)
    schedule = SteppedSchedule(NS_PER_S, rate_per_s, round(phase * NS_PER_S / rate_per_s), steps=steps)
    schedule.set_load_times(began_ns, began_ns + ends_s(steps)[-1] * NS_PER_S)
    return schedule, began_ns


@given(STEPS, st.floats(0, 0.999), st.floats(0, 9))
def test_each_step_has_the_messages_of_its_rate_in_order(steps: list[RateStep], phase: float, warm_up_s: float) -> None:
    schedule, began_ns = stepped(steps, phase, warm_up_s)
    due = due_times(schedule)
    assert due == sorted(due)
    from_ns = began_ns
    for step in steps:
        until_ns = from_ns + step.for_s * NS_PER_S
        assert abs(sum(from_ns <= at_ns < until_ns for at_ns in due) - step.messages) <= 1.001
        from_ns = until_ns


@given(STEPS, st.floats(0, 0.999), st.floats(0, 9), st.floats(0, 1))
def test_the_slots_of_steps_due_by_a_moment_are_those_whose_due_time_has_come(
    steps: list[RateStep], phase: float, warm_up_s: float, share: float
) -> None:
    schedule, began_ns = stepped(steps, phase, warm_up_s)
    now_ns = round(share * (began_ns + ends_s(steps)[-1] * NS_PER_S))
    assert schedule.slots_due(now_ns) == sum(at_ns <= now_ns for at_ns in due_times(schedule))


@given(STEP_RATES, st.floats(0, 0.999), st.floats(0, 9))
def test_one_step_of_one_rate_is_the_schedule_without_steps(rate_per_s: float, phase: float, warm_up_s: float) -> None:
    schedule, _ = stepped([RateStep(rate_per_s, rate_per_s, 6)], phase, warm_up_s)
    plain = Schedule(NS_PER_S, rate_per_s, schedule.phase_ns, ends_ns=schedule.ends_ns)
    assert all(
        abs(stepped_ns - plain_ns) <= 2
        for stepped_ns, plain_ns in zip(due_times(schedule), due_times(plain), strict=True)
    )


def test_a_ramp_sends_a_quarter_of_its_messages_in_its_first_half() -> None:
    schedule, began_ns = stepped([RateStep(0.001, 40, 10)], 0.0, 0.0)
    due = due_times(schedule)
    assert sum(at_ns < began_ns + 5 * NS_PER_S for at_ns in due) == 51
    assert len(due) == 201


def test_until_the_load_begins_the_first_rate_goes_on() -> None:
    schedule = SteppedSchedule(0, 10.0, steps=[RateStep(10, 10, 5), RateStep(100, 100, 5)])
    before = [schedule.due_ns(slot) for slot in range(300)]
    assert before[250] == 25 * NS_PER_S
    schedule.set_load_times(20 * NS_PER_S, 30 * NS_PER_S)
    assert [schedule.due_ns(slot) for slot in range(250)] == before[:250]
    assert schedule.due_ns(260) == 25 * NS_PER_S + NS_PER_S // 10
    assert schedule.due_ns(750) is None


@given(STEPS, STEPS, st.integers(1, 30), st.floats(0, 0.999))
def test_a_change_leaves_what_was_due_before_it_and_has_its_own_steps_from_then_on(
    steps: list[RateStep], later: list[RateStep], from_s: int, phase: float
) -> None:
    schedule, began_ns = stepped(steps, phase, 0.0)
    schedule.ends_ns = None
    change_ns = began_ns + from_s * NS_PER_S
    before = [schedule.planned_ns(slot) for slot in range(schedule.slots_planned(change_ns))]
    schedule.change(change_ns, later)
    assert [schedule.planned_ns(slot) for slot in range(len(before))] == before
    due_by = [schedule.slots_planned(change_ns + end_s * NS_PER_S) for end_s in (0, *ends_s(later))]
    for step, (from_slot, last) in zip(later, pairwise(due_by), strict=True):
        assert abs(last - from_slot - step.messages) <= 1.001
