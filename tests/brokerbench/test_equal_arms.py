"""The arms that a comparison proposes are equal in brokers, and the nearest that are."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerbench.compare.equal_arms import proposal
from brokerbench.compare.session import split_values
from topologies.catalogue.lookup import build

GROW = ("mesh", "hub-and-spoke", "concentrator", "mesh-of-pairs", "ring", "chain", "cluster", "two-regions", "tree")


@pytest.mark.parametrize(
    ("topologies", "nearest"),
    [
        (("mesh", "hub-and-spoke"), "mesh(brokers=5),hub-and-spoke"),
        (("mesh", "hub-and-spoke(spokes=4)"), "mesh(brokers=5),hub-and-spoke(spokes=4)"),
        (("mesh", "hub-and-spoke", "concentrator"), "mesh(brokers=5),hub-and-spoke,concentrator"),
        (("mesh", "source-and-sink"), "mesh(brokers=2),source-and-sink"),
        (("mesh(message_ttl=2)", "tree(depth=3)"), "mesh(message_ttl=2, brokers=15),tree(depth=3)"),
        (("mesh-of-pairs", "cluster"), "mesh-of-pairs,cluster(brokers=6)"),
    ],
)
def test_the_nearest_arms_change_as_few_of_those_named_as_they_can(topologies: tuple[str, ...], nearest: str) -> None:
    assert f"--topologies '{nearest}'" in proposal(topologies)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(GROW), min_size=2, max_size=3, unique=True))
def test_what_is_proposed_can_be_built_and_is_equal_in_brokers(topologies: list[str]) -> None:
    sentence = proposal(topologies)
    if not sentence:
        assert len({len(build(name).brokers) for name in topologies}) == 1
    elif match := re.search(r"--topologies '(.+?)'\.", sentence):
        sizes = {len(build(name).brokers) for name in split_values(match[1])}
        assert len(sizes) == 1
        assert f"{sizes.pop()} each" in sentence
    else:
        assert sentence.startswith("No parameters make these arms equal in brokers")


def test_arms_that_no_parameter_makes_equal_say_so() -> None:
    assert proposal(("single", "mesh")).startswith(
        "No parameters make these arms equal in brokers: single always has 1."
    )


def test_nothing_is_proposed_for_equal_arms_and_for_what_is_not_known_here() -> None:
    assert proposal(("mesh(brokers=5)", "hub-and-spoke")) == ""
    assert proposal(("mesh", "a-friends-network.yaml")) == ""
