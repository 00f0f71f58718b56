"""Checks the master's estimate of a worker's clock: its offset, its error bound, and their change during a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.distributed.clocks import MOST_READINGS, ClockAssessment, Offset, assess_clock, thin_out
from records.run import ProcessInfo

MS, S = 1_000_000, 1_000_000_000
HOUR_S = 3_600


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**9), st.integers(0, 10**9))
def test_the_true_offset_lies_within_the_bound_however_the_round_trip_is_split(
    offset: int, out: int, back: int
) -> None:
    asked_ns = 10**12
    answer = Offset.of(asked_ns, asked_ns + out + offset, asked_ns + out + back)
    assert answer.bound is not None
    assert abs(answer.offset_ns - offset) <= answer.bound


def still(offset_ns: int, bound_ns: int, *, one_host: bool) -> ClockAssessment:
    """Assess a clock that shows the same offset before and after a run of ten seconds."""
    return assess_clock([Offset(offset_ns, bound_ns, at_s * S) for at_s in (0, 10)], one_host=one_host)


def test_on_one_host_an_offset_within_its_bound_is_none() -> None:
    assert still(300, 500, one_host=True) == ClockAssessment(0, 0)


def test_on_one_host_an_offset_beyond_its_bound_is_another_clock() -> None:
    assert still(2_000 * MS, 500, one_host=True) == ClockAssessment(2_000 * MS, 500)


def test_on_two_hosts_the_offset_stays_with_its_bound() -> None:
    assert still(300, 500, one_host=False) == ClockAssessment(300, 500)


def test_a_clock_that_stood_still_against_ours_has_no_readings() -> None:
    went = assess_clock([Offset(10 * MS, MS, 0), Offset(11 * MS, MS, 10 * S)], one_host=False)
    assert went == ClockAssessment(10 * MS, MS)


@pytest.mark.parametrize("one_host", [False, True])
def test_a_clock_that_was_set_is_doubted_by_how_much(one_host: bool) -> None:
    went = assess_clock([Offset(0, MS, 0), Offset(-2_000 * MS, MS, 10 * S)], one_host=one_host)
    assert "its clock moved by -2000.0 ms against the master's during the run" in went.doubt


def test_a_clock_that_was_set_and_set_back_is_doubted() -> None:
    answers = [Offset(offset_ns, MS, at_s * S) for offset_ns, at_s in ((0, 0), (50 * MS, 20), (0, 40))]
    assert "+50.0 ms" in assess_clock(answers, one_host=False).doubt


@pytest.mark.parametrize("silent", [0, -1])
def test_a_clock_that_never_answered_before_or_after_the_run_is_doubted(silent: int) -> None:
    answers = [Offset(0, MS, at_s * S) for at_s in (0, 20, 40)]
    answers[silent] = Offset(0, None)
    assert "did not answer" in assess_clock(answers, one_host=False).doubt


def test_an_answer_that_did_not_come_during_the_run_is_left_out() -> None:
    answers = [Offset(0, MS, 0), Offset(0, None), Offset(0, MS, 40 * S)]
    assert assess_clock(answers, one_host=False) == ClockAssessment(0, MS)


def after_an_hour(ppm: float, wobble_ns: int = 0) -> ClockAssessment:
    """Assess a clock that drifts and is read every minute. ``wobble_ns``: its alternating distance from the line."""
    answers = [
        Offset(round(at_s * S * ppm / 1e6) + (wobble_ns if number % 2 else 0), MS // 10, at_s * S)
        for number, at_s in enumerate(range(0, HOUR_S + 1, 60))
    ]
    return assess_clock(answers, one_host=False)


def process(went: ClockAssessment) -> ProcessInfo:
    return ProcessInfo("w", 1, "w", 0, 0, offset_ns=went.offset_ns, clock=went.readings)


@pytest.mark.parametrize("ppm", [20, -20, 400])
def test_a_clock_that_drifts_evenly_is_not_in_doubt(
    ppm: float,
) -> None:
    """After an hour, its error bound is not larger than the bounds of its readings."""
    went = after_an_hour(ppm)
    assert (went.doubt, went.offset_ns) == ("", 0)
    assert went.bound_ns <= MS // 10 + 1
    for at_s in (0, 17, 1_800, 3_600):
        assert abs(process(went).offset_at(at_s * S) - at_s * S * ppm / 1e6) <= 1


def test_how_unevenly_a_clock_runs_is_in_its_bound() -> None:
    went = after_an_hour(20, wobble_ns=3 * MS)
    assert went.doubt == ""
    assert went.bound_ns == pytest.approx(MS // 10 + 3 * MS, abs=10)


def test_before_its_first_reading_and_after_its_last_a_clock_is_as_it_was_then() -> None:
    clock = process(assess_clock([Offset(0, 10, 0), Offset(2 * MS, 10, 100 * S)], one_host=False))
    assert [clock.offset_at(at_ns) for at_ns in (-S, 0, 50 * S, 100 * S, 900 * S)] == [0, 0, MS, 2 * MS, 2 * MS]


def test_of_very_many_answers_every_second_is_kept_with_the_first() -> None:
    answers = [Offset(0, 1, at_ns) for at_ns in range(MOST_READINGS + 1)]
    assert [reading.at_ns for reading in thin_out(answers)] == list(range(0, MOST_READINGS + 1, 2))
    assert thin_out(answers[:3]) == answers[:3]
