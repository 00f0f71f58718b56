"""Checks the error for each mistake in an Artemis topology, and the paths that its links allow."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.topologies.golden_files import assert_golden_refusals
from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import Acceptor, ArtemisBroker, HaPolicy, Journal
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterConnection, ClusterLink, Mirror
from topologies.artemis.loops import MOST_TOLD
from topologies.artemis.product import ARTEMIS
from topologies.artemis.router import Router
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import PRODUCTS

A, B, C = ArtemisBroker("a"), ArtemisBroker("b"), ArtemisBroker("c")
PAIR = (ArtemisBroker("b", ha=HaPolicy()), ArtemisBroker("b-backup", standby_of="b", ha=HaPolicy()))
BY_TWO_NAMES = ArtemisBroker("two-names", addresses=(Address("orders", queue="orders.out"),))
ROUTER = Router("r", waypoints=("queue",))
EVERYTHING = AddressMatch("#")


def topology(brokers: tuple[AnyBroker, ...], *links: Link, flavour: str = "artemis") -> Topology:
    return Topology("t", brokers, links, (ClientGroup("anybody", brokers[:1]),), PRODUCTS[flavour])


def pushing(opener: ArtemisBroker, to: AnyBroker, match: str = "#", name: str = "") -> BrokerConnection:
    return BrokerConnection(opener, to, name, senders=(AddressMatch(match),))


MISTAKES: dict[str, Callable[[], Any]] = {
    "a Classic broker": lambda: topology((A, Broker("x"))),
    "a Classic link": lambda: topology((A, B), NetworkConnector(A, B)),
    "an Artemis broker in a Classic topology": lambda: topology((A,), flavour="classic"),
    "no acceptor": lambda: ArtemisBroker("a", acceptors=()),
    "two acceptors for one protocol": lambda: ArtemisBroker("a", acceptors=(Acceptor("amqp"), Acceptor("amqp", "x"))),
    "an unknown protocol": lambda: Acceptor("rabbit"),
    "two settings for one pattern": lambda: ArtemisBroker("a", address_settings=(AddressSetting(), AddressSetting())),
    "an address twice": lambda: ArtemisBroker("a", addresses=(Address("q"), Address("q"))),
    "an unknown journal": lambda: Journal("KAHADB"),
    "an unknown high availability": lambda: HaPolicy("colocated"),
    "a pair that only one broker declares": lambda: topology((A, ArtemisBroker("a2", standby_of="a", ha=HaPolicy()))),
    "a pair without a store": lambda: topology(
        (
            ArtemisBroker("a", persistence=None, ha=HaPolicy()),
            ArtemisBroker("a2", standby_of="a", persistence=None, ha=HaPolicy()),
        )
    ),
    "an unknown balancing": lambda: ClusterConnection(message_load_balancing="ROUND_ROBIN"),
    "no hops": lambda: ClusterConnection(max_hops=0),
    "a cluster of two minds": lambda: topology(
        (A, B, C), ClusterLink(A, B), ClusterLink(B, C, cluster=ClusterConnection(max_hops=2))
    ),
    "a cluster without core": lambda: topology(
        (A, ArtemisBroker("b", acceptors=(Acceptor("amqp"),))),
        ClusterLink(A, ArtemisBroker("b", acceptors=(Acceptor("amqp"),))),
    ),
    "a connection for nothing": lambda: BrokerConnection(A, B),
    "a match of two kinds": lambda: AddressMatch("orders", "orders"),
    "a match of nothing": lambda: AddressMatch(),
    "no attempts": lambda: BrokerConnection(A, B, mirror=Mirror(), reconnect_attempts=0),
    "hops on a connection that counts none": lambda: BrokerConnection(A, B, mirror=Mirror(), message_ttl=5),
    "a connection in both directions": lambda: BrokerConnection(A, B, mirror=Mirror(), duplex=True),
    "hops in addition to the cluster's": lambda: ClusterLink(A, B, consumer_ttl=2),
    "no interval": lambda: BrokerConnection(A, B, mirror=Mirror(), retry_interval_ms=0),
    "a connection without amqp": lambda: topology(
        (A, ArtemisBroker("b", acceptors=(Acceptor("core"),))),
        pushing(A, ArtemisBroker("b", acceptors=(Acceptor("core"),))),
    ),
    "an alternate of nowhere": lambda: topology((A, B), BrokerConnection(A, B, mirror=Mirror(), alternates=(C,))),
    "an alternate that is the end itself": lambda: topology(
        (A, B), BrokerConnection(A, B, senders=(EVERYTHING,), alternates=(B,))
    ),
    "an alternate that is the beginning": lambda: topology(
        (A, B), BrokerConnection(A, B, mirror=Mirror(), alternates=(A,))
    ),
    "an alternate that stands by for the beginning": lambda: topology(
        (*PAIR, A), BrokerConnection(PAIR[0], A, senders=(EVERYTHING,), alternates=PAIR[1:])
    ),
    "a mirror to two stores": lambda: topology((A, B, C), BrokerConnection(A, B, mirror=Mirror(), alternates=(C,))),
    "a peer that is a broker": lambda: topology((A, B), BrokerConnection(A, B, peers=(EVERYTHING,))),
    "sender and receiver of the same": lambda: topology(
        (A, B), BrokerConnection(A, B, senders=(AddressMatch("orders.#"),), receivers=(AddressMatch("orders.*"),))
    ),
    "senders both ways": lambda: topology((A, B), pushing(A, B), pushing(B, A, "orders")),
    "a sender that comes round by an alternate": lambda: topology(
        (A, B, C),
        BrokerConnection(A, B, senders=(EVERYTHING,), alternates=(C,)),
        pushing(C, A),
    ),
    "a receiver that comes round by an alternate": lambda: topology(
        (A, B, C),
        BrokerConnection(A, B, receivers=(EVERYTHING,), alternates=(C,)),
        pushing(A, C),
    ),
    "a sender back to the active of the alternate": lambda: topology(
        (A, *PAIR), BrokerConnection(A, PAIR[0], senders=(EVERYTHING,), alternates=PAIR[1:]), pushing(PAIR[0], A)
    ),
    "a mirror and a sender back": lambda: topology((A, B), BrokerConnection(A, B, mirror=Mirror()), pushing(B, A)),
    "a mirror and a receiver back": lambda: topology(
        (A, B), BrokerConnection(A, B, mirror=Mirror(address_filter="eu,us"), receivers=(AddressMatch("*.orders"),))
    ),
    "mirrors and a sender all the way round": lambda: topology(
        (A, B, C), BrokerConnection(A, B, mirror=Mirror()), BrokerConnection(B, C, mirror=Mirror()), pushing(C, A)
    ),
    "senders all the way round": lambda: topology((A, B, C), pushing(A, B), pushing(B, C, "o.#"), pushing(C, A, "o.x")),
    "a receiver that brings back what a sender took from a queue of another name": lambda: topology(
        (BY_TWO_NAMES, B),
        BrokerConnection(
            BY_TWO_NAMES, B, senders=(AddressMatch(queue_name="orders.out"),), receivers=(AddressMatch("orders"),)
        ),
    ),
    "a router of nothing": lambda: Router("r"),
    "a router that opens": lambda: topology((A, ROUTER), BrokerConnection(ROUTER, A, senders=(EVERYTHING,))),
    "a name that is not one": lambda: ArtemisBroker("a b"),
    "too many brokers": lambda: build("cluster(brokers=100)"),
    "a pair by hearsay": lambda: build("live-backup(ha='hearsay')"),
}


def test_each_mistake_draws_its_own_sentence() -> None:
    assert_golden_refusals("artemis-errors.txt", MISTAKES)


def test_what_goes_one_way_each_may_go_both() -> None:
    there_and_back = BrokerConnection(A, B, senders=(AddressMatch("out.#"),), receivers=(AddressMatch("in.#"),))
    assert topology((A, B), there_and_back).paths().keys() >= {("a", "b"), ("b", "a")}


def test_a_way_round_that_no_one_address_can_take_is_no_loop() -> None:
    around = (pushing(A, B, "x.#"), pushing(B, C, "y.#"), pushing(C, A, "x.#"))
    assert len(topology((A, B, C), *around).links) == 3


def test_mirrors_alone_may_lead_round() -> None:
    ways = ((A, B), (B, A), (B, C), (C, A))
    around = [BrokerConnection(here, there, mirror=Mirror()) for here, there in ways]
    assert len(topology((A, B, C), *around).links) == 4


def test_a_sender_may_lead_back_what_the_mirror_leaves_out() -> None:
    mirrored = BrokerConnection(A, B, mirror=Mirror(address_filter="!back."))
    assert len(topology((A, B), mirrored, pushing(B, A, "back.*")).links) == 2


def test_links_that_only_lead_on_are_soon_known_to_lead_nowhere_round() -> None:
    """There are as many paths as a set of twenty has subsets."""
    brokers = tuple(ArtemisBroker(f"b{number}") for number in range(20))
    onwards = [pushing(opener, end) for number, opener in enumerate(brokers) for end in brokers[number + 1 :]]
    assert len(topology(brokers, *onwards).links) == 190


def test_a_loop_is_told_once_wherever_one_begins_to_follow_it() -> None:
    with pytest.raises(TopologyInvalid) as caught:
        topology((A, B, C), pushing(C, A), pushing(B, C), pushing(A, B))
    assert len(caught.value.problems) == 1


def test_of_many_ways_round_the_first_are_told_and_none_is_searched_for_twice() -> None:
    brokers = tuple(ArtemisBroker(f"b{number}") for number in range(10))
    both_ways = [pushing(opener, end) for opener in brokers for end in brokers if opener != end]
    with pytest.raises(TopologyInvalid) as caught:
        topology(brokers, *both_ways)
    assert len(caught.value.problems) == MOST_TOLD


def test_a_receiver_by_pattern_whose_queue_and_address_differ_is_warned_of_too() -> None:
    here = ArtemisBroker(
        "a", addresses=(Address("orders.eu", queue="orders.in"), Address("orders.us"), Address("x", queue="y"))
    )
    link = BrokerConnection(here, B, receivers=(AddressMatch("orders.#"),))
    (warning,) = topology((here, B), link).warnings
    assert warning.startswith("link 'a-to-b' receives into queue 'orders.in' of address 'orders.eu': it requests")


def test_a_receiver_without_its_queue_is_warned_of() -> None:
    link = BrokerConnection(A, B, receivers=(AddressMatch(queue_name="orders"),))
    (warning,) = topology((A, B), link).warnings
    assert warning.startswith("link 'a-to-b' receives into queue 'orders', which 'a' does not have when it starts")


def test_a_receiver_whose_queue_and_address_differ_is_warned_of() -> None:
    here = ArtemisBroker("a", addresses=(Address("orders", queue="orders.in"),))
    link = BrokerConnection(here, B, receivers=(AddressMatch(queue_name="orders.in"),))
    (warning,) = topology((here, B), link).warnings
    assert "it requests 'orders' from the other end" in warning


def test_a_receiver_with_its_queue_is_not_warned_of() -> None:
    here = ArtemisBroker("a", addresses=(Address("orders"),))
    link = BrokerConnection(here, B, receivers=(AddressMatch(queue_name="orders"),))
    assert topology((here, B), link).warnings == ()


def test_a_peer_whose_queue_nobody_makes_is_warned_of() -> None:
    (warning,) = topology((A, ROUTER), BrokerConnection(A, ROUTER, peers=(AddressMatch("queue.#"),))).warnings
    assert warning.startswith("link 'a-to-r' has a peer for 'queue.#', but 'a' has no such queue when it starts")


def test_a_peer_whose_queue_is_no_waypoint_is_warned_of_and_one_that_is_is_not() -> None:
    here = ArtemisBroker("a", addresses=(Address("queue.in"), Address("queues.in")))
    (warning,) = topology((here, ROUTER), BrokerConnection(here, ROUTER, peers=(EVERYTHING,))).warnings
    assert warning.startswith("link 'a-to-r' has a peer for 'queues.in', which is not a waypoint of 'r'")


@pytest.mark.parametrize(
    ("address", "is_one"),
    [("queue", True), ("queue.in", True), ("queue/in", True), ("queues", False), ("in.queue", False)],
)
def test_a_waypoint_is_an_address_that_begins_with_a_prefix_as_a_whole_word(address: str, is_one: bool) -> None:
    assert ROUTER.is_waypoint(address) is is_one


@pytest.mark.parametrize(
    ("link", "directions"),
    [
        (pushing(A, B), {("a", "b")}),
        (BrokerConnection(A, B, receivers=(EVERYTHING,)), {("b", "a")}),
        (BrokerConnection(A, B, mirror=Mirror()), {("a", "b")}),
        (BrokerConnection(A, ROUTER, peers=(EVERYTHING,)), {("a", "r"), ("r", "a")}),
        (ClusterLink(A, B), {("a", "b"), ("b", "a")}),
        (ClusterLink(A, B, cluster=ClusterConnection(message_load_balancing="OFF")), set()),
    ],
)
def test_messages_go_where_the_kind_of_link_lets_them(link: Link, directions: set[tuple[str, str]]) -> None:
    assert set(link.directions) == directions
    assert link.duplex == (len(directions) == 2) or not directions


def test_what_follows_may_be_given_as_it_is() -> None:
    link = BrokerConnection(A, ROUTER, peers=(EVERYTHING,))
    assert replace(link, name="other") == BrokerConnection(A, ROUTER, "other", True, -1, -1, peers=(EVERYTHING,))
    assert replace(ClusterLink(A, B), name="other").duplex


def test_hops_within_a_cluster_are_limited_as_it_says() -> None:
    for hops, reached in ((1, False), (2, True)):
        cluster = ClusterConnection(max_hops=hops)
        chain = topology((A, B, C), ClusterLink(A, B, cluster=cluster), ClusterLink(B, C, cluster=cluster))
        assert (("a", "c") in chain.paths()) is reached


def test_a_cluster_of_too_few_hops_is_told_by_its_own_word() -> None:
    groups = (ClientGroup("producers", (A,)), ClientGroup("consumers", (B, C)))
    chain = Topology("t", (A, B, C), (ClusterLink(A, B), ClusterLink(B, C)), groups, ARTEMIS)
    (warning,) = chain.warnings
    assert warning.endswith("raise max_hops of cluster 'cluster' from 1 to 2, in each of its links")


def test_a_cluster_of_too_few_hops_is_told_once_with_what_its_furthest_link_needs() -> None:
    furthest = ArtemisBroker("d")
    groups = (ClientGroup("producers", (A,)), ClientGroup("consumers", (furthest,)))
    links = (ClusterLink(A, B), ClusterLink(B, C), ClusterLink(C, furthest))
    with pytest.raises(TopologyInvalid, match=r"from 'a' to 'd' raise max_hops of cluster 'cluster' from 1 to 3, in"):
        Topology("t", (A, B, C, furthest), links, groups, ARTEMIS)


@pytest.mark.parametrize(
    "links",
    [
        (pushing(A, B), ClusterLink(B, C)),
        (ClusterLink(A, B), BrokerConnection(C, B, receivers=(EVERYTHING,))),
    ],
)
def test_a_cluster_counts_none_of_the_links_before_it_and_behind(links: tuple[Link, ...]) -> None:
    groups = (ClientGroup("producers", (A,)), ClientGroup("consumers", (C,)))
    network = Topology("t", (A, B, C), links, groups, ARTEMIS)
    assert network.warnings == ()
    assert network.reaches("a", "c", "queue://orders")
    (path,) = network.paths_between("producers", "consumers")
    assert path.route == ("a", "b", "c")


def test_connections_from_both_ends_that_carry_different_addresses_are_no_loop() -> None:
    there = BrokerConnection(A, B, senders=(AddressMatch("w"),), receivers=(AddressMatch("x"),))
    back = BrokerConnection(B, A, senders=(AddressMatch("y"),), receivers=(AddressMatch("z"),))
    assert len(topology((A, B), there, back).links) == 2


@pytest.mark.parametrize(("auto_start", "step"), [(True, "write auto_start: false"), (False, "the link to 'b'")])
def test_ends_that_are_no_pair_are_warned_of_and_the_first_is_predicted(auto_start: bool, step: str) -> None:
    link = BrokerConnection(A, B, senders=(EVERYTHING,), alternates=(C,), auto_start=auto_start)
    network = topology((A, B, C), link)
    (warning,) = network.warnings
    assert warning.startswith("link 'a-to-b' may end at 'b' or 'c', which are not a pair: it stays with")
    assert step in warning
    assert [network.reaches("a", end, "queue://orders") for end in "bc"] == [True, False]
    assert ("a", "c") not in network.paths()


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        (pushing(A, B, "orders.>"), "has the address_match 'orders.>': '>' is Classic's wildcard"),
        (pushing(A, B, "queue://orders.>"), "no queue:// or topic:// prefix here; '>' is Classic's wildcard"),
        (pushing(A, B, "queue://orders.>"), "; write 'orders.#'"),
        (pushing(A, B, "queue://orders"), "a name has no queue:// or topic:// prefix here; write 'orders'"),
        (
            BrokerConnection(A, B, senders=(AddressMatch(queue_name="o.#"),)),
            "queue_name does not support wildcards; write address_match",
        ),
        (
            BrokerConnection(A, B, senders=(AddressMatch(queue_name="o.>"),)),
            "queue_name does not support wildcards; write address_match",
        ),
        (
            BrokerConnection(A, B, senders=(AddressMatch(queue_name="topic://o.>"),)),
            "queue_name does not support wildcards; write address",
        ),
        (
            BrokerConnection(A, B, senders=(AddressMatch(queue_name="queue://o"),)),
            "or topic:// prefix here; write 'o'",
        ),
        (
            BrokerConnection(A, B, mirror=Mirror(address_filter="!eu.#")),
            "it takes address prefixes instead of wildcards",
        ),
        (BrokerConnection(A, B, mirror=Mirror(address_filter="queue://eu")), "topic:// prefix here; write 'eu'"),
        (BrokerConnection(A, B, mirror=Mirror(address_filter="eu,!topic://eu.uk")), "prefix here; write 'eu,!eu.uk'"),
        (
            BrokerConnection(A, B, mirror=Mirror(address_filter="eu, us")),
            "spaces are part of the names; leave them out",
        ),
    ],
)
def test_a_pattern_that_is_none_here_is_warned_of(link: Link, sentence: str) -> None:
    (warning,) = topology((A, B), link).warnings
    assert warning.startswith("link 'a-to-b' has the ")
    assert sentence in warning


def test_a_pattern_of_settings_that_is_none_here_is_warned_of() -> None:
    broker = ArtemisBroker("a", address_settings=(AddressSetting("orders.>"), AddressSetting("prices.#")))
    assert topology((broker,)).warnings == (
        "broker 'a': address_settings have the match 'orders.>': '>' is Classic's wildcard, and an ordinary word"
        " here; write 'orders.#'",
    )


def test_warns_of_addresses_named_like_client_destinations() -> None:
    broker = ArtemisBroker("a", addresses=(Address("queue://eu", queue="queue://de"), Address("us")))
    rule = "a name has no queue:// or topic:// prefix here"
    assert topology((broker,)).warnings == (
        f"broker 'a' has the address 'queue://eu': {rule}; write 'eu'",
        f"broker 'a' has the queue 'queue://de': {rule}; write 'de'",
    )


def test_patterns_and_filters_as_the_manual_has_them_are_not_warned_of() -> None:
    for link in (pushing(A, B, "orders.#"), BrokerConnection(A, B, mirror=Mirror(address_filter="eu,!eu.uk"))):
        assert topology((A, B), link).warnings == ()


def test_a_pair_at_the_end_of_a_link_needs_no_more_than_its_active() -> None:
    link = BrokerConnection(A, PAIR[0], mirror=Mirror(), alternates=PAIR[1:])
    assert topology((A, *PAIR), link).warnings == ()


def test_an_amqp_connection_knows_its_destinations() -> None:
    here, there = ArtemisBroker("here"), ArtemisBroker("there")
    sends = BrokerConnection(here, there, senders=(AddressMatch("orders.#"), AddressMatch(queue_name="q")))
    mirror = BrokerConnection(here, there, mirror=Mirror(address_filter="orders,!orders.eu"))
    assert sends.destination_rules == ("senders: orders.#, queue q",)
    assert mirror.destination_rules == ("mirror address_filter: orders,!orders.eu",)
    assert BrokerConnection(here, there, mirror=Mirror()).destination_rules == ()
    assert ClusterLink(here, there).destination_rules == ()
