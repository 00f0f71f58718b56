"""Checks that a message's properties depend on its number, and that invalid properties are rejected."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.loads.message_properties import MessageProperties

values = st.lists(st.text("ab", min_size=1), min_size=1, max_size=9) | st.lists(st.integers(-9, 9), min_size=1)


def test_messages_take_the_values_of_a_property_in_turn() -> None:
    properties = MessageProperties.of({"color": ["red", "blue"], "weight": [1, 2, 3], "shop": "north"})
    assert properties.period == 6
    assert [properties.of_message(number)["color"] for number in range(4)] == ["red", "blue", "red", "blue"]
    assert properties.of_message(8) == {"color": "red", "weight": 3, "shop": "north"}


@given(st.dictionaries(st.sampled_from(["one", "two"]), values), st.integers(0, 10_000))
def test_properties_repeat_after_their_period_and_come_back_from_text(values: Mapping[str, Any], number: int) -> None:
    properties = MessageProperties.of(values)
    assert properties.of_message(number) == properties.of_message(number % properties.period)
    assert MessageProperties.parse(str(properties)) == properties


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        ({"2nd": "x"}, "property '2nd': a name has letters"),
        ({"between": "x"}, "property 'between': a name has letters"),
        ({"JMSPriority": 9}, "property 'JMSPriority': brokers use this name themselves"),
        ({"priority": "high"}, "property 'priority': brokers use this name themselves"),
        ({"color": []}, "property color has no value"),
        ({"color": ["red", 1]}, "property color = .*: write only text, only numbers or only truth values"),
        ({"color": ""}, "property color = '': text must have at least one character"),
        ({"color": None}, "property color = None: write text"),
        ({"weight": float("nan")}, "property weight = nan: must be a finite number"),
        ({"weight": 2**63}, "must fit into 64 bits"),
        ({"a": range(31), "b": range(37)}, "the properties a, b repeat after 1,147 messages only; 1,000 is the most"),
    ],
)
def test_what_no_property_may_be_is_refused_by_name(values: Mapping[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        MessageProperties.of(values)
