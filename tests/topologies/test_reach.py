"""Checks the prediction of which Classic brokers messages reach."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topologies.walks import can_reach
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.model.deliveries import matches
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import ENTRIES

A, B, C = (Broker(name) for name in "abc")
QUEUE = "queue://orders.eu"


def network(*links: NetworkConnector, brokers: tuple[Broker, ...] = (A, B, C)) -> Topology:
    return Topology("t", brokers, links, (), CLASSIC)


def link(opened_by: Broker = A, to: Broker = B, **settings_: Any) -> NetworkConnector:
    return NetworkConnector(opened_by=opened_by, to=to, **settings_)


def crosses(destination: str = QUEUE, **settings_: Any) -> bool:
    """Whether one link from a to b lets a message through."""
    return network(link(**settings_)).reaches("a", "b", destination)


def test_messages_go_the_way_that_a_link_is_opened() -> None:
    assert network(link()).reaches("a", "b", QUEUE)
    assert not network(link()).reaches("b", "a", QUEUE)
    assert network(link(duplex=True)).reaches("b", "a", QUEUE)


def test_a_broker_reaches_its_own_consumers_without_links() -> None:
    assert network().reaches("a", "a", QUEUE)


def test_the_second_hop_needs_both_ttls_each_at_the_right_link() -> None:
    first_link, last = link(consumer_ttl=2), link(B, C, message_ttl=2)
    assert network(first_link, last).reaches("a", "c", QUEUE)
    assert not network(replace(first_link, consumer_ttl=1), last).reaches("a", "c", QUEUE)
    assert not network(first_link, replace(last, message_ttl=1)).reaches("a", "c", QUEUE)


def test_what_is_excluded_does_not_cross() -> None:
    assert not crosses(excluded_destinations=("queue://orders.>",))
    assert crosses(excluded_destinations=("topic://orders.>",))
    assert crosses("queue://prices", excluded_destinations=("queue://orders.>",))


def test_excluded_wins_over_included() -> None:
    lists = {
        "excluded_destinations": ("queue://orders.eu",),
        "statically_included_destinations": ("queue://orders.eu",),
    }
    assert not crosses(**lists)


def test_with_a_dynamic_list_only_what_it_names_crosses() -> None:
    assert crosses(dynamically_included_destinations=("queue://orders.*",))
    assert not crosses("queue://orders.eu.de", dynamically_included_destinations=("queue://orders.*",))
    assert not crosses("topic://orders.eu", dynamically_included_destinations=("queue://orders.*",))


def test_what_is_statically_included_crosses_beside_a_dynamic_list() -> None:
    lists = {
        "dynamically_included_destinations": ("queue://prices",),
        "statically_included_destinations": ("queue://orders.eu",),
    }
    assert crosses(**lists)
    assert not crosses("queue://else", **lists)


def test_a_static_bridge_asks_for_its_static_destinations_only() -> None:
    assert not crosses(static_bridge=True)
    assert crosses(static_bridge=True, statically_included_destinations=(QUEUE,))
    assert not crosses(static_bridge=True, dynamically_included_destinations=(QUEUE,))


def test_a_broker_without_advisories_is_reached_by_static_destinations_only() -> None:
    silent = Broker("b", advisory_support=False)
    assert not network(link(to=silent), brokers=(A, silent)).reaches("a", "b", QUEUE)
    static = link(to=silent, statically_included_destinations=(QUEUE,))
    assert network(static, brokers=(A, silent)).reaches("a", "b", QUEUE)


def test_a_sending_broker_needs_no_advisories_of_its_own() -> None:
    silent = Broker("a", advisory_support=False)
    assert network(link(opened_by=silent), brokers=(silent, B)).reaches("a", "b", QUEUE)


@pytest.mark.parametrize(
    ("destination_filter", "heard"),
    [
        ("Queue.orders.eu", True),
        ("Queue.>", True),
        (">", True),
        ("Topic.>", False),
        ("NO_DESTINATION", False),
        ("Topic.>,ActiveMQ.Advisory.Consumer.Queue.orders.*", True),
        ("Topic.>,Queue.orders.*", False),  # the broker adds its prefix only to the first one
        ("ActiveMQ.Advisory.Consumer.Queue.orders.*", True),
    ],
)
def test_consumers_are_heard_of_as_the_destination_filter_says(destination_filter: str, heard: bool) -> None:
    assert crosses(destination_filter=destination_filter) is heard


def test_a_static_subscription_is_told_on() -> None:
    """a learns at b of b's own subscription for c, although c announces nothing."""
    static = link(B, C, static_bridge=True, statically_included_destinations=(QUEUE,), message_ttl=2)
    assert network(link(consumer_ttl=2), static).reaches("a", "c", QUEUE)
    assert not network(link(consumer_ttl=1), static).reaches("a", "c", QUEUE)


def test_a_standby_reaches_what_its_active_does() -> None:
    pair = build("hub-and-spoke(hub_standby=True)")
    assert pair.reaches("hub-standby", "spoke-1", QUEUE)
    assert pair.reaches("spoke-1", "hub-standby", QUEUE)


def test_what_is_no_destination_or_broker_is_refused() -> None:
    with pytest.raises(TopologyInvalid, match="write queue://NAME"):
        network().reaches("a", "b", "orders")
    with pytest.raises(KeyError, match="no broker 'x'"):
        network().reaches("x", "b", QUEUE)


@pytest.mark.parametrize(
    ("pattern", "name", "meant"),
    [
        (">", "a", True), (">", "a.b", True), ("a.>", "a", True), ("a.>", "a.b.c", True), ("a.>", "ab", False),
        ("a.*", "a.b", True), ("a.*", "a", False), ("a.*", "a.b.c", False), ("*.b", "a.b", True), ("a", "a", True),
        ("a", "a.b", False), ("a.*.c", "a.b.c", True), ("a.*.c", "a.b.d", False), ("a.*.>", "a", False),
    ],
)  # fmt: skip
def test_a_wildcard_means_levels_as_the_broker_does(pattern: str, name: str, meant: bool) -> None:
    assert matches(pattern, name) is meant


@pytest.mark.parametrize("entry", [name for name in ENTRIES if build(name).flavour == "classic"])
def test_every_path_of_a_catalogue_entry_is_predicted(entry: str) -> None:
    """The catalogue's links pass all queues, so only TTLs decide which brokers can be reached."""
    topology = build(entry)
    names = [broker.name for broker in topology.brokers if not broker.standby_of]
    reached = {(a, b) for a in names for b in names if topology.reaches(a, b, "queue://any")}
    assert reached == set(topology.paths())


PATTERNS = ("queue://>", "queue://orders.>", "queue://orders.*", "queue://orders.eu", "queue://prices", "topic://>")
lists = st.just(()) | st.lists(st.sampled_from(PATTERNS), max_size=2, unique=True).map(tuple)
ttls = st.sampled_from([-1, 1, 2, 3])


@st.composite
def networks(draw: st.DrawFn) -> tuple[tuple[Broker, ...], tuple[NetworkConnector, ...]]:
    """Draw two to five brokers and up to seven links, including parallel and two-way links."""
    brokers = tuple(Broker(name, advisory_support=draw(st.integers(0, 5)) > 0) for name in "abcde")[
        : draw(st.integers(2, 5))
    ]
    ends = st.permutations(brokers).map(lambda order: order[:2])
    links = [
        NetworkConnector(
            *draw(ends), name=f"link-{n}", duplex=draw(st.booleans()), message_ttl=draw(ttls), consumer_ttl=draw(ttls),
            static_bridge=draw(st.integers(0, 4)) == 0,
            excluded_destinations=draw(lists) if draw(st.booleans()) else (),
            dynamically_included_destinations=draw(lists), statically_included_destinations=draw(lists),
            destination_filter=draw(st.sampled_from(["", "", "", "Queue.orders.eu", "Queue.>", "Topic.>", ">"])),
        )
        for n in range(draw(st.integers(1, 7)))
    ]  # fmt: skip
    return brokers, tuple(links)


@settings(max_examples=400, deadline=None)
@given(networks(), st.sampled_from(["queue://orders.eu", "queue://prices", "topic://orders.eu"]))
def test_on_any_network_the_prediction_is_what_walking_every_way_finds(
    drawn: tuple[tuple[Broker, ...], tuple[NetworkConnector, ...]], destination: str
) -> None:
    brokers, links = drawn
    both_ways = {frozenset((link.opened_by.name, link.to.name)) for link in links if link.duplex}
    one_way_or_duplex = tuple(
        link for link in links if link.duplex or frozenset((link.opened_by.name, link.to.name)) not in both_ways
    )
    topology = Topology("t", brokers, _without_mirrored(one_way_or_duplex), (), CLASSIC)
    for producer in brokers:
        for consumer in brokers:
            expected = can_reach(topology.links, producer.name, consumer.name, destination)  # type: ignore[arg-type]
            assert topology.reaches(producer.name, consumer.name, destination) is expected


def _without_mirrored(links: tuple[NetworkConnector, ...]) -> tuple[NetworkConnector, ...]:
    """Leave out duplex links that both ends open, as a topology rejects them."""
    opened = {
        (link.opened_by.name, link.to.name) for link in links if link.duplex and link.opened_by.name < link.to.name
    }
    return tuple(link for link in links if not link.duplex or (link.to.name, link.opened_by.name) not in opened)


@settings(max_examples=200, deadline=None)
@given(networks(), st.sampled_from(["queue://orders.eu", "queue://prices", "topic://orders.eu"]))
def test_stopped_paths_end_at_unreached_brokers(
    drawn: tuple[tuple[Broker, ...], tuple[NetworkConnector, ...]], destination: str
) -> None:
    brokers, links = drawn
    topology = Topology("t", brokers, _without_mirrored(links), (), CLASSIC)
    paths = topology.paths().values()
    expected = tuple(path for path in paths if not topology.reaches(path.begin, path.end, destination))
    assert topology.stopped(paths, destination) == expected
