"""Checks the destination names of a class, and that its users together have all of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.loads.destination_pattern import expand_names, share_of


def test_destinations_are_numbered_from_one_and_a_single_one_needs_no_number() -> None:
    assert expand_names("queue://orders.{n}.in", 3) == (
        "queue://orders.1.in",
        "queue://orders.2.in",
        "queue://orders.3.in",
    )
    assert expand_names("queue://orders.{n}", 1) == ("queue://orders.1",)
    assert expand_names("topic://prices", 1) == ("topic://prices",)


@pytest.mark.parametrize(
    ("pattern", "count", "refusal"),
    [
        ("queue://orders.{n}", 0, "destinations = 0: must be at least 1"),
        ("queue://orders", 2, "all of them would be queue://orders; write a destination with a place for the number"),
    ],
)
def test_no_destination_and_several_of_one_name_are_refused(pattern: str, count: int, refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        expand_names(pattern, count)


@given(users=st.integers(1, 40), destinations=st.integers(1, 120))
def test_the_users_of_a_class_have_each_destination_and_about_as_many_as_each_other(
    users: int, destinations: int
) -> None:
    names = expand_names("queue://q.{n}", destinations)
    shares = [share_of(user, users, names) for user in range(users)]
    held = Counter(name for share in shares for name in share)
    assert set(held) == set(names)
    assert all(shares)
    assert max(held.values()) - min(held.values()) <= 1
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
