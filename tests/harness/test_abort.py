"""Checks --abort-on: how conditions are read, and when one of them ends a load, with planted values and seconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judgement import parse_abort_conditions
from harness.run.abort import AbortWatch
from records.errors import UserError
from records.figures.abort import COUNTS, LIVE_FIGURES, SIGNS, Abort, AbortCondition

P99 = "latency_ms.due_to_received.p99"
FAILED = "messages.failed"
S = 1_000_000_000
BEGAN_NS = 50 * S
TIMED = [figure for figure in LIVE_FIGURES if figure not in COUNTS]


# -- the text ----------------------------------------------------------------------------------------------------------


def test_conditions_are_read_as_written() -> None:
    assert parse_abort_conditions(f"{FAILED} > 0; {P99}>500 for 10s;") == (
        AbortCondition(FAILED, ">", 0),
        AbortCondition(P99, ">", 500, 10),
    )
    assert parse_abort_conditions("") == ()


@given(
    st.lists(
        st.builds(
            AbortCondition,
            st.sampled_from(TIMED),
            st.sampled_from(list(SIGNS)),
            st.integers(-1_000, 100_000).map(lambda number: number / 4),
            st.integers(0, 86_400),
        ),
        unique_by=lambda condition: (condition.figure, condition.sign, condition.limit),
    ),
    st.sampled_from(["; ", ";", " ;\t"]),
)
def test_what_a_condition_shows_can_be_read(conditions: list[AbortCondition], separator: str) -> None:
    assert parse_abort_conditions(separator.join(map(str, conditions))) == tuple(conditions)


@given(st.text(st.sampled_from(f"{P99} <>=!0123456789.-e+for s;"), max_size=60))
def test_any_text_is_read_or_rejected(text: str) -> None:
    try:
        read = bool(parse_abort_conditions(text)) or not text
    except UserError as error:
        read = "; " in str(error) and str(error).isprintable()  # one line, with the next step
    assert read


@given(st.sampled_from(COUNTS), st.sampled_from(list(SIGNS)), st.integers(-3, 3))
def test_no_condition_on_counts_holds_from_the_beginning(figure: str, sign: str, limit: int) -> None:
    """For example a check's messages.failed <= 0: it would end every load at once, like a failed run."""
    try:
        (condition,) = parse_abort_conditions(f"{figure} {sign} {limit}")
    except UserError:
        assert SIGNS[sign](0, limit) or not any(SIGNS[sign](count, limit) for count in range(9))
    else:
        assert not condition.holds(0)


# -- when it ends a load -----------------------------------------------------------------------------------------------


def aborts(text: str, values: list[float | None], *, every_s: float = 1.0) -> list[tuple[int, Abort]]:
    """Look at the planted values of p99 in order. Return the look and the condition that ended the load."""
    watch = AbortWatch(parse_abort_conditions(text))
    found = []
    for look, value in enumerate(values):
        now_ns = BEGAN_NS + round(look * every_s * S)
        ended = watch.look(lambda value=value: {P99: value, FAILED: 0}, BEGAN_NS, now_ns, in_warm_up=False)
        found += [(look, abort) for abort in ended]
    return found


def test_a_condition_ends_the_load_at_once() -> None:
    assert aborts(f"{P99} > 500", [None, 400, 501, 400]) == [(2, Abort(AbortCondition(P99, ">", 500), 501, 2.0))]


def test_nine_seconds_of_ten_do_not_abort() -> None:
    """It holds from second 3 to second 12, which is 9 s."""
    assert aborts(f"{P99} > 500 for 10s", [400] * 3 + [600] * 10 + [400] * 5 + [600] * 10) == []


def test_ten_seconds_of_ten_abort() -> None:
    ((look, abort),) = aborts(f"{P99} > 500 for 10s", [400] * 3 + [600] * 11)
    assert (look, abort.at_s, abort.value) == (13, 13.0, 600)


def test_an_unknown_figure_is_no_breach() -> None:
    """It also ends the period during which a condition has held."""
    assert aborts(f"{P99} > 500", [None] * 30) == []
    assert aborts(f"{P99} < 500", [None] * 30) == []
    assert aborts(f"{P99} > 500 for 3s", [600, 600, None, 600, 600, 600, None]) == []


def test_an_unknown_figure_is_visible() -> None:
    watch = AbortWatch(parse_abort_conditions(f"{P99} > 500; {FAILED} > 0"))
    watch.look(lambda: {P99: None, FAILED: 0}, BEGAN_NS, BEGAN_NS, in_warm_up=False)
    assert [state.value for state in watch.states] == [None, 0]
    (sentence,) = watch.never_evaluated()
    assert sentence == f"--abort-on '{P99} > 500' was never evaluated: {P99} was not known at any moment of the load"


def test_every_condition_that_holds_is_a_reason() -> None:
    text = f"{P99} > 500; {P99} > 400 for 2s; {P99} > 900"
    (_, first), (_, second) = aborts(text, [450, 450, 600])
    assert [str(abort.condition) for abort in (first, second)] == [f"{P99} > 500", f"{P99} > 400 for 2s"]


def test_figures_are_asked_for_once_per_second() -> None:
    watch, asked = AbortWatch(parse_abort_conditions(f"{P99} > 500")), 0

    def values() -> dict[str, float | None]:
        nonlocal asked
        asked += 1
        return {}

    for look in range(51):  # every 0.2 s for 10 s, each look a little late
        watch.look(values, BEGAN_NS, BEGAN_NS + round(look * 0.2 * S) + look % 3 * 1_000_000, in_warm_up=False)
    assert asked in (10, 11)


@pytest.mark.parametrize("with_warm_up", [True, False])
def test_the_warm_up_counts_only_if_asked(with_warm_up: bool) -> None:
    watch = AbortWatch(parse_abort_conditions(f"{P99} > 500"), with_warm_up=with_warm_up)
    found = watch.look(lambda: {P99: 600}, BEGAN_NS, BEGAN_NS + 3 * S, in_warm_up=True)
    said = ["the run was aborted in its warm-up after 3.0 s" in str(abort) for abort in found]
    assert said == ([True] if with_warm_up else [])


@given(
    st.lists(st.none() | st.sampled_from([100.0, 900.0]), max_size=40),
    st.integers(0, 6),
    st.sampled_from([1.0, 1.2, 2.0]),
)
def test_a_load_ends_after_so_many_seconds_in_a_row(values: list[float | None], for_s: int, every_s: float) -> None:
    """The planted values give the expected look: the first that ends an unbroken period of at least ``for_s``."""
    since, expected = None, None
    for look, value in enumerate(values):
        since = (look if since is None else since) if value == 900.0 else None
        if since is not None and round((look - since) * every_s, 6) >= for_s:
            expected = look
            break
    text = f"{P99} > 500{f' for {for_s}s' if for_s else ''}"
    assert next((look for look, _ in aborts(text, values, every_s=every_s)), None) == expected
