"""Checks which links a broker that joins opens itself, and which links are there without it."""

from dataclasses import replace

import pytest

from topologies.catalogue.lookup import build
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.topology import Topology, present_links, with_links_opened_by
from topologies.products import ENTRIES


def opened(topology: Topology) -> list[tuple[str, str]]:
    return [(link.opened_by.name, link.to.name) for link in topology.links]


def test_duplex_links_to_a_joining_broker_are_turned_and_carry_as_before() -> None:
    mesh = build("mesh(brokers=4)")
    turned = with_links_opened_by(mesh, {"broker-3"})
    assert opened(turned) == [
        (f"broker-{a}", f"broker-{b}") for a, b in ((1, 2), (3, 1), (1, 4), (3, 2), (2, 4), (3, 4))
    ]
    assert turned.paths().keys() == mesh.paths().keys()


def test_a_link_keeps_its_settings_and_the_name_it_was_given() -> None:
    pair = build("source-and-sink(duplex=True)")
    named = replace(pair.links[0], name="over-the-sea", message_ttl=3)
    (link,) = with_links_opened_by(replace(pair, links=(named,)), {"sink"}).links
    assert (link.opened_by.name, link.name, link.message_ttl, link.duplex) == ("sink", "over-the-sea", 3, True)
    assert isinstance(link, NetworkConnector)


@pytest.mark.parametrize("entry", ["two-one-way", "cluster", "ring"])
def test_one_way_links_and_clusters_are_left_as_they_are(entry: str) -> None:
    topology = build(entry)
    assert with_links_opened_by(topology, {topology.brokers[-1].name}) == topology


def test_a_link_between_two_joining_brokers_keeps_its_opener() -> None:
    turned = with_links_opened_by(build("mesh"), {"broker-2", "broker-3"})
    assert opened(turned) == [("broker-2", "broker-1"), ("broker-3", "broker-1"), ("broker-2", "broker-3")]


@pytest.mark.parametrize("entry", ENTRIES)
def test_without_a_joining_broker_nothing_changes(entry: str) -> None:
    topology = build(entry)
    assert with_links_opened_by(topology, ()) is topology
    assert present_links(topology, ()) == topology.links


def test_links_of_an_absent_broker_are_not_there() -> None:
    assert [link.name for link in present_links(build("mesh"), {"broker-3"})] == ["broker-1-to-broker-2"]
