"""Checks the master's estimate of a worker's clock offset, and its error bound."""

from hypothesis import given
from hypothesis import strategies as st

from scenarios.harness.distributed.clocks import Offset

MS = 1_000_000


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**9), st.integers(0, 10**9))
def test_the_true_offset_lies_within_the_bound_however_the_round_trip_is_split(
    offset: int, out: int, back: int
) -> None:
    asked_ns = 10**12
    answer = Offset.of(asked_ns, asked_ns + out + offset, asked_ns + out + back)
    assert answer.bound is not None
    assert abs(answer.offset_ns - offset) <= answer.bound


def test_on_one_host_an_offset_within_its_bound_is_none() -> None:
    assert Offset(300, 500).between("a", "a") == Offset(0, 0)


def test_on_one_host_an_offset_beyond_its_bound_is_another_clock() -> None:
    assert Offset(2_000 * MS, 500).between("a", "a") == Offset(2_000 * MS, 500)


def test_on_two_hosts_the_offset_stays_with_its_bound() -> None:
    assert Offset(300, 500).between("a", "b") == Offset(300, 500)


def test_a_clock_that_stood_still_against_ours_is_not_doubted() -> None:
    assert Offset(10 * MS, MS).doubt(Offset(11 * MS, MS)) == ""


def test_a_clock_that_moved_is_doubted_by_how_much() -> None:
    assert "-2000.0 ms" in Offset(0, MS).doubt(Offset(-2_000 * MS, MS))


def test_a_clock_that_never_answered_is_doubted() -> None:
    assert "did not answer" in Offset(0, None).doubt(Offset(0, MS))
