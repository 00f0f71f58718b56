"""Checks that the text drawing of a topology shows all its brokers, links and client groups."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerbench.drawing import draw_topology, has_same_drawing
from tests.topologies.artemis_samples import clusters_and_connections
from tests.topologies.golden_files import assert_golden
from tests.topologies.samples import topologies
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.model.topology import Topology
from topologies.products import ENTRIES

WIDTH = 100
DRAWN = (
    *ENTRIES, "mesh(brokers=5)", "mesh(brokers=20)", "source-and-sink(duplex=True)",
    "parallel-connectors(queue_connectors=4)", "hub-and-spoke(spokes=20, hub_standby=True)", "cluster(brokers=20)",
    "cluster(message_load_balancing='OFF')", "receivers(alternate=True)", "concentrator(edges=5)",
    "topologies/examples/branch-offices.yaml",
)  # fmt: skip


def test_each_is_drawn_as_it_is() -> None:
    assert_golden("drawings.txt", "\n".join(f"{name}\n\n{indented(draw_topology(build(name)))}" for name in DRAWN))


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("name", [name for name in DRAWN if "20" in name])
def test_twenty_brokers_are_still_legible(name: str) -> None:
    lines = draw_topology(build(name)).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= 24


@settings(max_examples=60, deadline=None)
@given(topologies() | clusters_and_connections())
def test_every_broker_and_group_is_in_the_drawing(topology: Topology) -> None:
    text = draw_topology(topology)
    assert all(group.name in text for group in topology.groups)
    if " … " not in text:
        assert all(broker.name in text for broker in topology.brokers)


@given(st.lists(st.integers(1, 12), unique=True, min_size=1).map(sorted))
def test_rows_of_numbered_brokers_lose_none(numbers: list[int]) -> None:
    hub = Broker("hub")
    spokes = tuple(Broker(f"s-{number}") for number in numbers)
    links = tuple(NetworkConnector(hub, spoke) for spoke in spokes)
    (line,) = draw_topology(Topology("t", (hub, *spokes), links, (), CLASSIC)).splitlines()
    shown: list[int] = []
    for part in line.removeprefix("hub → ").split(", "):
        begin, _, last = (end.removeprefix("s-") for end in part.partition(" … "))
        shown += range(int(begin), int(last or begin) + 1)
    assert shown == numbers


def test_a_broker_that_nothing_joins_is_drawn_alone() -> None:
    assert draw_topology(Topology("t", (Broker("a"), Broker("b")), (), (), CLASSIC)) == "a\nb"


def test_shapes_differ_by_brokers_links_and_where_clients_enter() -> None:
    assert has_same_drawing(build("mesh(message_ttl=2)"), build("mesh"))
    assert not has_same_drawing(build("mesh(brokers=4)"), build("mesh"))
    assert not has_same_drawing(build("source-and-sink(duplex=True)"), build("source-and-sink"))
    assert not has_same_drawing(build("hub-and-spoke(hub_standby=True)"), build("hub-and-spoke"))
