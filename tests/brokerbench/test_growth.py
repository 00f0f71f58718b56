"""Is it told right which brokers one broker more would restart?"""

import pytest

from brokerbench.growth import Growth, compared, growths
from topologies.catalogue import ENTRIES, build


def test_a_mesh_reconfigures_every_broker_that_opens_a_link_to_the_new_one() -> None:
    assert growths("mesh") == (Growth("brokers=4", ("broker-4",), ("broker-1", "broker-2", "broker-3"), ()),)


def test_a_concentrators_edge_grows_without_a_restart_and_its_centre_does_not() -> None:
    edges, centres = growths("concentrator(edges=2)")
    assert edges == Growth("edges=3", ("edge-3",), (), ("centre-1", "centre-2", "edge-1", "edge-2"))
    assert centres == Growth("centres=3", ("centre-3",), ("edge-1", "edge-2"), ("centre-1", "centre-2"))


def test_a_pair_joins_a_mesh_of_pairs_with_both_of_each_corner_restarted() -> None:
    (growth,) = growths("mesh-of-pairs(pairs=2)")
    assert growth.added == ("broker-3", "broker-3-standby")
    assert growth.restarted == ("broker-1", "broker-1-standby", "broker-2", "broker-2-standby")


def test_parameters_that_add_no_broker_are_left_out() -> None:
    assert growths("parallel-connectors") == ()
    assert [growth.change for growth in growths("ring(ttl=2)")] == ["brokers=5"]


def test_what_cannot_grow_any_more_is_left_out() -> None:
    assert growths("mesh(brokers=50)") == ()


def test_equal_topologies_restart_nobody() -> None:
    assert compared("", build("ring"), build("ring")).untouched == ("broker-1", "broker-2", "broker-3", "broker-4")


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_can_be_asked(entry: str) -> None:
    for growth in growths(entry):
        now = [broker.name for broker in build(entry).brokers]
        assert growth.added
        assert sorted((*growth.restarted, *growth.untouched)) == sorted(now)
