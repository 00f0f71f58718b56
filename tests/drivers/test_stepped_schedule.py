"""Checks that a load in steps has in each step the messages that its rate asks for, one after the other."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from drivers.client.pacing import NS_PER_S, Schedule, SteppedSchedule
from records.rate_steps import RateStep, ends_s

RATES = st.floats(0.5, 50, allow_nan=False)
STEPS = st.lists(st.builds(RateStep, RATES, RATES, st.integers(5, 12)), min_size=1, max_size=4)


def stepped(steps: list[RateStep], phase: float, warm_up_s: float) -> tuple[SteppedSchedule, int]:
    """A schedule that begins at 1 s, and when its load begins (ns)."""
    rate_per_s, began_ns = steps[0].from_per_s, NS_PER_S + round(warm_up_s * NS_PER_S)
    schedule = SteppedSchedule(NS_PER_S, rate_per_s, round(phase * NS_PER_S / rate_per_s), steps=steps)
    schedule.load_is(began_ns, began_ns + ends_s(steps)[-1] * NS_PER_S)
    return schedule, began_ns


def due_times(schedule: Schedule) -> list[int]:
    times: list[int] = []
    while (due_ns := schedule.due_ns(len(times))) is not None:
        times.append(due_ns)
    return times


@given(STEPS, st.floats(0, 0.999), st.floats(0, 9))
def test_each_step_has_the_messages_of_its_rate_and_none_is_due_before_the_one_before_it(
    steps: list[RateStep], phase: float, warm_up_s: float
) -> None:
    schedule, began_ns = stepped(steps, phase, warm_up_s)
    due = due_times(schedule)
    assert due == sorted(due)
    from_ns = began_ns
    for step in steps:
        until_ns = from_ns + step.for_s * NS_PER_S
        assert abs(sum(from_ns <= at_ns < until_ns for at_ns in due) - step.messages) <= 1.001
        from_ns = until_ns


@given(STEPS, st.floats(0, 0.999), st.floats(0, 9), st.floats(0, 1))
def test_the_slots_due_by_a_moment_are_those_whose_due_time_has_come(
    steps: list[RateStep], phase: float, warm_up_s: float, share: float
) -> None:
    schedule, began_ns = stepped(steps, phase, warm_up_s)
    now_ns = round(share * (began_ns + ends_s(steps)[-1] * NS_PER_S))
    assert schedule.slots_due(now_ns) == sum(at_ns <= now_ns for at_ns in due_times(schedule))


@given(RATES, st.floats(0, 0.999), st.floats(0, 9))
def test_one_step_of_one_rate_is_the_schedule_without_steps(rate_per_s: float, phase: float, warm_up_s: float) -> None:
    schedule, _ = stepped([RateStep(rate_per_s, rate_per_s, 6)], phase, warm_up_s)
    plain = Schedule(NS_PER_S, rate_per_s, schedule.phase_ns, ends_ns=schedule.ends_ns)
    assert all(abs(one - other) <= 2 for one, other in zip(due_times(schedule), due_times(plain), strict=True))


def test_a_ramp_sends_a_quarter_of_its_messages_in_its_first_half() -> None:
    schedule, began_ns = stepped([RateStep(0.001, 40, 10)], 0.0, 0.0)
    due = due_times(schedule)
    assert sum(at_ns < began_ns + 5 * NS_PER_S for at_ns in due) == 51
    assert len(due) == 201


def test_until_the_load_begins_the_first_rate_goes_on() -> None:
    schedule = SteppedSchedule(0, 10.0, steps=[RateStep(10, 10, 5), RateStep(100, 100, 5)])
    before = [schedule.due_ns(slot) for slot in range(300)]
    assert before[250] == 25 * NS_PER_S
    schedule.load_is(20 * NS_PER_S, 30 * NS_PER_S)
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
    due_by = [schedule.slots_planned(change_ns + each * NS_PER_S) for each in (0, *ends_s(later))]
    for step, (first, last) in zip(later, pairwise(due_by), strict=True):
        assert abs(last - first - step.messages) <= 1.001
