"""Checks how a load in steps is written and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.errors import UserError
from records.loads.rate_steps import RateStep, format_steps, parse_steps

RATES = st.floats(1e-3, 1e6, allow_nan=False) | st.integers(1, 10**6).map(float)


@pytest.mark.parametrize(
    ("text", "load_s", "steps"),
    [
        ("100,200,400@20s", None, [(100, 100, 20), (200, 200, 20), (400, 400, 20)]),
        ("100@30,500@5s, 100@25", None, [(100, 100, 30), (500, 500, 5), (100, 100, 25)]),
        ("100..1000@60s", 60, [(100, 1_000, 60)]),
        ("50,100", 30, [(50, 50, 15), (100, 100, 15)]),
        ("5,10@6s,20@9s", None, [(5, 5, 6), (10, 10, 6), (20, 20, 9)]),
    ],
)
def test_steps_are_rates_with_their_seconds(
    text: str, load_s: float | None, steps: list[tuple[float, float, int]]
) -> None:
    assert list(parse_steps(text, load_s)) == [RateStep(*step) for step in steps]


@given(st.lists(st.builds(RateStep, RATES, RATES, st.integers(5, 900)), min_size=1, max_size=5))
def test_what_is_written_is_read_again_exactly(steps: list[RateStep]) -> None:
    assert list(parse_steps(format_steps(steps))) == steps


@pytest.mark.parametrize(
    ("text", "load_s", "problem"),
    [
        ("100,fast@20s", None, "100,fast@20s: 'fast@20s' is not a rate; write 100, 100@20s or 100..1000@60s"),
        ("100,,200@9s", None, "100,,200@9s: '' is not a rate; write 100, 100@20s or 100..1000@60s"),
        ("-5,10@9s", None, "-5,10@9s: '-5' is not a rate; write 100, 100@20s or 100..1000@60s"),
        ("100@20s,200", None, "100@20s,200: the last step has no duration; write @20s after it"),
        ("1,2,3,4", 30, "1,2,3,4: 4 steps cannot divide the load into whole seconds; write @20s"),
        ("1,2", None, "1,2: 2 steps cannot divide the load into whole seconds; write @20s"),
        ("0,9@20s", None, "0,9@20s: the step 0@20s has the rate 0; a rate must be more than 0 messages per second"),
        ("9,8@4s", None, "9,8@4s: the step 9@4s is too short; a step lasts at least 5 s"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(text: str, load_s: float | None, problem: str) -> None:
    with pytest.raises(UserError) as error:
        parse_steps(text, load_s)
    assert str(error.value) == problem
