"""Checks that address patterns and mirror filters match the addresses that Artemis 2.44.0 matches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.artemis.matching import filter_overlaps, filter_passes, filters_overlap, overlap

words = st.lists(st.sampled_from(["a", "b", "*", "#"]), min_size=1, max_size=4).map(".".join)
plain = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4)
beginnings = st.sampled_from(["a", "b", "a.", "a.b", "a.b.", "ab", "b.b.a", "a.b.a"])
filters = st.lists(beginnings | beginnings.map("!{}".format), max_size=3).map(",".join)


def matches(pattern: list[str], address: list[str]) -> bool:
    """A plain reference model: whether the pattern matches the address."""
    if not pattern:
        return not address
    if pattern[0] == "#":
        return any(matches(pattern[1:], address[n:]) for n in range(len(address) + 1))
    return bool(address) and pattern[0] in ("*", address[0]) and matches(pattern[1:], address[1:])


@given(words, words, plain)
def test_patterns_that_match_one_address_overlap(pattern: str, other_pattern: str, address: list[str]) -> None:
    if matches(pattern.split("."), address) and matches(other_pattern.split("."), address):
        assert overlap(pattern, other_pattern)
    assert overlap(pattern, other_pattern) == overlap(other_pattern, pattern)


@given(words, plain)
def test_a_pattern_overlaps_an_address_exactly_if_it_matches(pattern: str, address: list[str]) -> None:
    assert overlap(pattern, ".".join(address)) == matches(pattern.split("."), address)


@pytest.mark.parametrize(
    ("address_filter", "address", "passes"),
    [
        ("", "eu", True),
        ("eu", "eu.orders", True),
        ("eu", "euro", True),  # prefixes of the text, not of words
        ("eu", "us", False),
        ("eu,us", "us", True),
        ("eu, us", "us", False),  # the space belongs to it
        ("eu,!eu.uk", "eu.uk.orders", False),
        ("eu.uk,!eu", "eu.uk", False),
        ("!eu", "us", True),
        ("!,,eu", "us", False),
        ("!", "us", True),
    ],
)
def test_a_filter_has_beginnings_of_addresses_and_what_it_leaves_out_wins(
    address_filter: str, address: str, passes: bool
) -> None:
    assert filter_passes(address_filter, address) is passes


@settings(max_examples=500)
@given(filters, words, plain)
def test_a_filter_overlaps_a_pattern_that_matches_what_passes(
    address_filter: str, pattern: str, address: list[str]
) -> None:
    if matches(pattern.split("."), address) and filter_passes(address_filter, ".".join(address)):
        assert filter_overlaps(address_filter, pattern)


@given(filters, plain)
def test_a_filter_overlaps_an_address_exactly_if_it_passes(address_filter: str, address: list[str]) -> None:
    assert filter_overlaps(address_filter, ".".join(address)) == filter_passes(address_filter, ".".join(address))


@given(filters, filters, plain)
def test_filters_that_let_one_address_pass_overlap(address_filter: str, other_filter: str, address: list[str]) -> None:
    if filter_passes(address_filter, ".".join(address)) and filter_passes(other_filter, ".".join(address)):
        assert filters_overlap(address_filter, other_filter)
    assert filters_overlap(address_filter, other_filter) == filters_overlap(other_filter, address_filter)


@pytest.mark.parametrize(
    ("address_filter", "pattern"),
    [
        ("eu", "us.#"),
        ("eu.", "eu"),
        ("!eu", "eu.#"),
        ("!eu.", "eu.*"),
        ("!eu.", "eu.#.orders"),
        ("eu,!eu.uk", "eu.uk.#"),
        ("eu,!e", "#"),
        ("eu.uk.", "eu.*"),
    ],
)
def test_a_filter_does_not_overlap_a_pattern_of_which_it_passes_nothing(address_filter: str, pattern: str) -> None:
    assert not filter_overlaps(address_filter, pattern)


def test_filters_of_which_one_leaves_out_what_the_other_takes_do_not_overlap() -> None:
    assert not filters_overlap("eu", "us")
    assert not filters_overlap("eu.uk", "!eu")
    assert filters_overlap("eu", "eu.uk,!eu.uk.x")
