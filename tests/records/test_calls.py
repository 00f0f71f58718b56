"""Checks how ``NAME(TEXT, SETTING=TEXT)`` is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.calls import Call, before_missing_comma, parse_call

NAMES = st.from_regex(r"[a-z][a-z0-9_-]*", fullmatch=True)
PLAIN = st.from_regex(r"[^\s,()='\"\\]([^,()='\"\\]*[^\s,()='\"\\])?", fullmatch=True)
TEXTS = PLAIN | st.text().map(repr)


@given(NAMES, st.lists(TEXTS), st.dictionaries(NAMES, TEXTS))
def test_a_call_is_read_as_it_is_written(name: str, texts: list[str], settings: dict[str, str]) -> None:
    written = ", ".join([*texts, *(f"{setting}={text}" for setting, text in settings.items())])
    assert parse_call(f" {name} ( {written} ) ") == Call(name, tuple(texts), settings)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("mesh", Call("mesh")),
        ("mesh()", Call("mesh")),
        ("mesh(brokers=5,)", Call("mesh", (), {"brokers": "5"})),
        ("kill(it's, at=10)", Call("kill", ("it's",), {"at": "10"})),
        ("kill(broker-2 at=10)", Call("kill", ("broker-2 at=10",))),
        ("kill(b, for=)", Call("kill", ("b",), {"for": ""})),
        ("kill(at=10, b)", Call("kill", ("b",), {"at": "10"})),
        ("search(200,, step=10)", Call("search", ("200",), {"step": "10"})),
    ],
)
def test_brackets_order_needless_commas_and_quotes_within_a_text_are_free(text: str, call: Call) -> None:
    assert parse_call(text) == call


@pytest.mark.parametrize("text", ["", "my mesh", "mesh(", "mesh)", "a(b)c", "a(b(c))", "a('b'c(d))", "2..8"])
def test_what_is_no_call_is_none(text: str) -> None:
    assert parse_call(text) is None


def test_a_setting_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="at is given twice; keep one"):
        parse_call("kill(b, at=1, at=2)")


@pytest.mark.parametrize(
    ("text", "before"), [("broker-2 at=10", "broker-2"), ("5 rebalance = True", "5"), ("broker-2", ""), ("a b", "")]
)
def test_where_a_comma_is_missing_is_known(text: str, before: str) -> None:
    assert before_missing_comma(text) == before


def test_a_text_of_many_quotes_or_blanks_is_read_at_once() -> None:
    assert parse_call("a(" + "'," * 20_000 + ")") is not None
    assert parse_call("a(" + "'" * 20_001 + "(") is None
    assert parse_call("a(" + " " * 20_000 + "(x)") is None
    assert parse_call("a(b=" + " " * 20_000 + "(x)") is None
