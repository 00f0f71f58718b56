"""Checks the syntax of a search for the highest rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.errors import UserError
from records.loads.rate_search import SearchSettings, is_search, make_pause_step, parse_search

RATES = st.integers(1, 100_000).map(float)


@given(st.builds(SearchSettings, RATES, st.integers(5, 60), RATES))
def test_a_search_is_read_as_it_is_written(search: SearchSettings) -> None:
    assert is_search(str(search))
    assert parse_search(str(search)) == search


@pytest.mark.parametrize(
    ("text", "search"),
    [
        ("search", SearchSettings()),
        ("search()", SearchSettings()),
        (" search( 400 ) ", SearchSettings(400)),
        ("search(p99=20)", SearchSettings(p99_ms=20)),
        ("search(step=30, 400)", SearchSettings(400, 30)),
    ],
)
def test_what_is_left_out_is_the_default(text: str, search: SearchSettings) -> None:
    assert parse_search(text) == search


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("search 400", "search 400: cannot be read"),
        ("search(fast)", "search(fast): 'fast' is not a number"),
        ("search(400, 500)", "search(400, 500): '500' is not known, or given twice"),
        ("search(400, rate=500)", "search(400, rate=500): 'rate=500' is not known, or given twice"),
        ("search(until=9)", "search(until=9): 'until=9' is not known, or given twice"),
        ("search(step=7.5)", "search(step=7.5): a step lasts a whole number of seconds"),
        ("search(step=4)", "search(200, step=4, p99=500): a step lasts at least 5 s"),
        ("search(0)", "search(0, step=10, p99=500): the rate and p99 must be more than 0, and finite"),
        ("search(inf)", "search(inf, step=10, p99=500): the rate and p99 must be more than 0, and finite"),
        ("search(p99=nan)", "search(200, step=10, p99=nan): the rate and p99 must be more than 0, and finite"),
    ],
)
def test_what_is_no_search_is_refused_with_what_to_write(text: str, problem: str) -> None:
    with pytest.raises(UserError) as error:
        parse_search(text)
    assert str(error.value).startswith(f"{problem}; write search, search(200), or")


def test_in_a_rest_each_producer_sends_a_message_in_two_seconds() -> None:
    first, rest = SearchSettings(400).first_steps(6)
    assert (first.from_per_s, first.for_s, first.rest) == (400, 10, False)
    assert (rest, rest.rest, rest.from_per_s) == (make_pause_step(6), True, 3.0)
