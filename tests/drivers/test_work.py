"""Consumers that take time: the drawn times, one message at a time, and the times of receipt."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.client.work import Work


@pytest.mark.parametrize(
    ("text", "work", "mean_ms"),
    [
        ("5", Work(5, 5), 5),
        ("2.5", Work(2.5, 2.5), 2.5),
        (" 2..8 ", Work(2, 8), 5),
        ("0..1", Work(0, 1), 0.5),
        ("exponential(5)", Work(5, 5, exponential=True), 5),
    ],
)
def test_a_time_is_fixed_or_drawn_from_a_range_or_exponentially(text: str, work: Work, mean_ms: float) -> None:
    assert Work.parse(text) == work
    assert work.mean_ms == mean_ms


@pytest.mark.parametrize("text", ["0", "0.0", "0..0", "exponential(0)"])
def test_no_time_is_no_work(text: str) -> None:
    assert Work.parse(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "soon",
            "'soon': 'soon' is not a time in milliseconds; write milliseconds such as 5, a range such as 2..8, or exp",
        ),
        ("-1", "'-1': '-1' is not a time in milliseconds"),
        ("nan", "'nan' is not a time in milliseconds"),
        ("8..2", "'8..2': a range begins with its lower end, such as 2..8"),
        ("2..x", "'2..x': 'x' is not a time in milliseconds"),
        ("normal(5)", "'normal(5)' is not a time in milliseconds"),
        ("exponential()", "'exponential()' is not a time in milliseconds"),
        ("exponential(5, mean=7)", "'exponential(5, mean=7)' is not a time in milliseconds"),
        ("x(a=1, a=2)", "'x(a=1, a=2)': a is given twice"),
        ("2..", "'2..' cannot be read; write milliseconds such as 5"),
        ("", "'' cannot be read; write milliseconds such as 5"),
    ],
)
def test_what_is_no_time_is_refused_with_the_way_to_write_it(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        Work.parse(text)


@given(st.floats(0, 50), st.floats(0, 50), st.integers(0, 2**32))
def test_what_is_drawn_lies_within_the_range(low_or_high: float, high_or_low: float, seed: int) -> None:
    low, high = sorted((low_or_high, high_or_low))
    drawn_s = Work(low, high).draw_s(Random(seed))
    assert low / 1_000 <= drawn_s <= high / 1_000 or drawn_s == pytest.approx(low / 1_000)


def test_exponential_times_have_the_mean_that_was_asked_for() -> None:
    rng, work = Random(7), Work(5, 5, exponential=True)
    drawn_s = [work.draw_s(rng) for _ in range(20_000)]
    assert sum(drawn_s) / len(drawn_s) == pytest.approx(0.005, rel=0.03)
    assert sum(seconds > 0.005 for seconds in drawn_s) / len(drawn_s) == pytest.approx(0.368, abs=0.02)
