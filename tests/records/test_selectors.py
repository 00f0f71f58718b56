"""Checks the selector parser against the JMS specification, and against SQLite, which has the same conditions."""

import re
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from records.errors import UserError
from records.loads.message_properties import MessageProperties
from records.loads.selectors import parse

MESSAGE: Mapping[str, Any] = {"color": "red", "weight": 5, "size": 2.5, "urgent": True}


@pytest.mark.parametrize(
    "selector",
    [
        "color = 'red'",
        "color <> 'blue' AND weight >= 5",
        "weight BETWEEN 5 AND 6 or color = 'blue'",
        "weight not between 6 and 7",
        "color IN ('green', 'red')",
        "color NOT IN ('green', 'blue')",
        "color LIKE 'r%'",
        "color LIKE '_e_'",
        "color NOT LIKE 'r!_d' ESCAPE '!'",
        "missing IS NULL AND color IS NOT NULL",
        "NOT (missing = 'red') OR urgent",
        "urgent = TRUE AND NOT (weight < 5 OR size > 2.5)",
        "2 * weight - 1 = 9 AND weight / 2 = 2",
        "-weight < -4 AND size = .25E1",
        "'it''s' = 'it''s'",
    ],
)
def test_a_selector_that_is_true_of_a_message_matches_it(selector: str) -> None:
    assert parse(selector).matches(MESSAGE)


@pytest.mark.parametrize(
    "selector",
    [
        "color = 'RED'",
        "Color = 'red'",  # property names are case-sensitive
        "missing = 'red'",
        "NOT missing = 'red'",  # unknown, and so is its negation
        "missing <> 'red'",
        "missing LIKE '%'",
        "missing IN ('red')",
        "weight / 0 = 1",
        "color = 'red' AND weight > 5",
    ],
)
def test_a_selector_that_is_false_or_unknown_of_a_message_does_not_match(selector: str) -> None:
    assert not parse(selector).matches(MESSAGE)


@pytest.mark.parametrize(
    ("selector", "refusal"),
    [
        ("color = 'red", "at character 9: a quote is opened here and not closed; write ' where the text ends"),
        ("color = #red", "at character 9: '#red' is not allowed in a selector"),
        ("color = ", "at character 9: a property, a number or text in single quotes is expected, not its end"),
        ("(color = 'red'", "at character 15: \\) is expected, not its end"),
        ("color = 'red' weight", "at character 15: AND, OR or the end is expected, not 'weight'"),
        ("color = 'red' AND", "not its end"),
        ("color == 'red'", "at character 8"),
        ('color = "red"', "at character 9"),
        ("color IN ()", "text in single quotes is expected"),
        ("color NOT 'red'", "BETWEEN, IN or LIKE is expected"),
        ("JMSPriority > 4", "JMSPriority is a JMS header; select by properties"),
        ("", "not its end"),
    ],
)
def test_a_selector_that_does_not_parse_is_refused_with_the_place(selector: str, refusal: str) -> None:
    with pytest.raises(UserError, match=refusal):
        parse(selector)


@pytest.mark.parametrize(
    ("selector", "refusal"),
    [
        ("weight = '5'", "5 and '5' cannot be compared"),
        ("color > 'a'", "only numbers have an order"),
        ("weight", "5 is not a condition"),
        ("color + 1 = 2", "'red' is not a number"),
        ("weight LIKE '5'", "5 is not text"),
    ],
)
def test_a_comparison_of_unlike_values_is_an_error(selector: str, refusal: str) -> None:
    with pytest.raises(UserError, match=refusal):
        parse(selector).matches(MESSAGE)


def test_what_matches_is_told_for_each_message_of_a_period() -> None:
    properties = MessageProperties.of({"color": ["red", "blue"], "weight": [1, 2, 3]})
    assert parse("color = 'red' AND weight > 1").match_period(properties) == (False, False, True, False, True, False)


texts, numbers = st.sampled_from(["color", "shade", "missing"]), st.sampled_from(["weight", "size", "absent"])
words = st.sampled_from(["'red'", "'blue'", "'r%'", "'it''s'"])
amounts = st.integers(0, 4).map(str) | numbers
simple = st.one_of(
    st.builds("{} {} {}".format, texts, st.sampled_from(["=", "<>", "LIKE", "NOT LIKE"]), words),
    st.builds("{} IN ({}, {})".format, texts, words, words),
    st.builds("{} NOT IN ({})".format, texts, words),
    st.builds("{} IS {}NULL".format, texts | numbers, st.sampled_from(["", "NOT "])),
    st.builds("{} {} {}".format, amounts, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), amounts),
    st.builds("{} {} {} * {} > {}".format, amounts, st.sampled_from("+-"), amounts, amounts, amounts),
    st.builds("{} {}BETWEEN {} AND {}".format, amounts, st.sampled_from(["", "NOT "]), amounts, amounts),
)
conditions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds("{} AND {}".format, inner, inner),
        st.builds("{} OR {}".format, inner, inner),
        st.builds("NOT {}".format, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=6,
)


@given(conditions, st.sampled_from(["red", "blue"]), st.integers(0, 4))
@example("NOT color = 'red' AND shade = 'red' OR weight > 1", "red", 0)
def test_it_says_what_a_database_says_of_the_same_condition(condition: str, color: str, weight: int) -> None:
    message = {"color": color, "shade": "it's", "weight": weight, "size": 2}
    row = ", ".join(
        f"{property_value!r} AS {name}" if isinstance(property_value, int) else "? AS " + name
        for name, property_value in message.items()
    )
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        query = f"SELECT count(*) FROM (SELECT {row}, NULL AS missing, NULL AS absent) WHERE {condition}"
        (answer,) = database.execute(query, (color, "it's")).fetchone()
    assert parse(condition).matches(message) is bool(answer)


@pytest.mark.parametrize(
    ("selector", "text", "matches"),
    [
        ("a LIKE '" + "%a" * 60 + "%b'", "a" * 500, False),
        ("a LIKE '" + "%a" * 60 + "%b'", "a" * 500 + "b", True),
        ("a LIKE '%ab%_b'", "abb", False),
        ("a LIKE '%ab%_b'", "abcabb", True),
        ("a LIKE 'a%a'", "a", False),
        ("a LIKE '%%%'", "", True),
    ],
)
def test_a_pattern_of_many_wildcards_is_matched_at_once(selector: str, text: str, matches: bool) -> None:
    began_s = time.process_time()
    assert parse(selector).matches({"a": text}) is matches
    assert time.process_time() - began_s < 0.5


@given(st.text("ab%_", max_size=8), st.text("ab", max_size=8))
def test_like_is_what_a_regular_expression_of_all_its_ways_is(pattern: str, text: str) -> None:
    plain = "".join({"%": ".*", "_": "."}.get(letter, letter) for letter in pattern)
    assert parse(f"a LIKE '{pattern}'").matches({"a": text}) is bool(re.fullmatch(plain, text))


def test_a_long_chain_of_conditions_and_sums_is_evaluated_without_calling_itself() -> None:
    assert parse(" AND ".join(["a = 1"] * 2_000)).matches({"a": 1})
    assert parse(" OR ".join(["a = 2"] * 2_000)).matches({"a": 1}) is False
    assert parse(f"a = {'+'.join(['1'] * 5_000)}").matches({"a": 5_000})


def test_a_number_that_grows_beyond_all_bounds_is_refused_in_a_sentence() -> None:
    with pytest.raises(UserError, match="a number in it becomes too large; use smaller numbers"):
        parse(f"a < {'*'.join(['9223372036854775807'] * 50)} / 1.5").matches({"a": 1})
