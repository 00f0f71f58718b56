"""Checks the prediction of which Artemis brokers messages reach."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topologies.artemis_walks import can_reach
from topologies.artemis import reachability as artemis_reach
from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterConnection, ClusterLink, Mirror
from topologies.artemis.product import ARTEMIS
from topologies.artemis.router import Router
from topologies.catalogue.lookup import build
from topologies.model.broker import AnyBroker
from topologies.model.link import Link
from topologies.model.paths import blocking_limits, connected_pairs, shortest_paths
from topologies.model.topology import Topology
from topologies.products import ENTRIES

A, B, C = (ArtemisBroker(name) for name in "abc")
ORDERS = AddressMatch("orders.#")
QUEUE = "queue://orders.eu"
ADDRESSES = ("orders", "orders.eu", "prices")


def network(*links: Link, brokers: tuple[AnyBroker, ...] = (A, B, C)) -> Topology:
    return Topology("t", brokers, links, (), ARTEMIS)


def with_queue(name: str, address: Address | str = "orders.eu") -> ArtemisBroker:
    return ArtemisBroker(name, addresses=(address if isinstance(address, Address) else Address(address),))


def test_a_sender_pushes_what_it_matches_one_way() -> None:
    topology = network(BrokerConnection(A, B, senders=(ORDERS,)))
    assert topology.reaches("a", "b", QUEUE)
    assert topology.reaches("a", "b", "queue://orders")
    assert not topology.reaches("a", "b", "queue://prices")
    assert not topology.reaches("b", "a", QUEUE)


def test_a_star_is_one_word_and_a_queue_by_name_is_that_queue() -> None:
    topology = network(BrokerConnection(A, B, senders=(AddressMatch("orders.*"), AddressMatch(queue_name="prices"))))
    reached = {name for name in ("orders", "orders.eu", "orders.eu.de", "prices", "prices.eu")
               if topology.reaches("a", "b", f"queue://{name}")}  # fmt: skip
    assert reached == {"orders.eu", "prices"}


def test_a_queue_by_its_own_name_is_reached_by_its_address() -> None:
    here = with_queue("a", Address("parts", queue="parts.in"))
    topology = network(BrokerConnection(here, B, senders=(AddressMatch(queue_name="parts.in"),)), brokers=(here, B))
    assert topology.reaches("a", "b", "queue://parts")
    assert not topology.reaches("a", "b", "queue://parts.out")


def test_a_receiver_pulls_what_it_matches_to_a_consumer_there() -> None:
    topology = network(BrokerConnection(B, A, receivers=(ORDERS,)))
    assert topology.reaches("a", "b", QUEUE)
    assert not topology.reaches("a", "b", "queue://prices")
    assert not topology.reaches("b", "a", QUEUE)


def test_receivers_pull_farther_only_with_a_predefined_queue() -> None:
    """A consumer behind the receiver's broker is reached only if the broker's configuration has the queue."""
    middle = with_queue("b")
    onwards = BrokerConnection(middle, C, senders=(ORDERS,))
    with_it = network(BrokerConnection(middle, A, receivers=(ORDERS,)), onwards, brokers=(A, middle, C))
    assert with_it.reaches("a", "c", QUEUE)
    assert not with_it.reaches("a", "c", "queue://orders.us")
    without = network(BrokerConnection(B, A, receivers=(ORDERS,)), BrokerConnection(B, C, senders=(ORDERS,)))
    assert not without.reaches("a", "c", QUEUE)
    assert without.reaches("b", "c", QUEUE)


def test_receivers_pull_topics_by_the_most_specific_setting() -> None:
    """The topic is pulled if that setting routes the address by multicast."""
    settings = (AddressSetting("#"), AddressSetting("prices.#", default_routing="MULTICAST"))
    there = ArtemisBroker("a", address_settings=settings)
    topology = network(BrokerConnection(B, there, receivers=(AddressMatch("#"),)), brokers=(there, B))
    assert topology.reaches("a", "b", "topic://prices.eu")
    assert not topology.reaches("a", "b", "topic://news")


@pytest.mark.parametrize(
    ("address_filter", "reached"),
    [("", {*ADDRESSES}), ("orders", {"orders", "orders.eu"}), ("orders,!orders.eu", {"orders"}), ("!o", {"prices"})],
)
def test_a_mirror_repeats_what_its_filter_lets_pass(address_filter: str, reached: set[str]) -> None:
    topology = network(BrokerConnection(A, B, mirror=Mirror(address_filter=address_filter)))
    assert {name for name in ADDRESSES if topology.reaches("a", "b", f"queue://{name}")} == reached
    assert not topology.reaches("b", "a", QUEUE)


def test_a_topic_crosses_a_cluster_and_is_pushed_to_nobody() -> None:
    topic = "topic://orders.eu"
    assert not network(BrokerConnection(B, A, receivers=(ORDERS,))).reaches("a", "b", topic)
    topic_broker = ArtemisBroker("a", address_settings=(AddressSetting(default_routing="MULTICAST"),))
    from_there = network(BrokerConnection(B, topic_broker, receivers=(ORDERS,)), brokers=(topic_broker, B))
    assert from_there.reaches("a", "b", topic)
    assert not network(BrokerConnection(A, B, senders=(ORDERS,))).reaches("a", "b", topic)
    assert not network(BrokerConnection(A, B, mirror=Mirror())).reaches("a", "b", topic)
    assert network(ClusterLink(A, B)).reaches("a", "b", topic)


def test_connections_count_no_hops() -> None:
    assert network(BrokerConnection(A, B, senders=(ORDERS,)), BrokerConnection(C, B, receivers=(ORDERS,))).reaches(
        "a", "c", QUEUE
    )


def test_a_cluster_sends_on_as_far_as_it_allows() -> None:
    for hops in (1, 2):
        cluster = ClusterConnection(max_hops=hops)
        chain = network(ClusterLink(A, B, cluster=cluster), ClusterLink(B, C, cluster=cluster))
        assert chain.reaches("a", "b", QUEUE)
        assert chain.reaches("c", "a", QUEUE) is (hops == 2)


def test_a_cluster_without_balancing_sends_nothing_on() -> None:
    off = ClusterConnection(message_load_balancing="OFF")
    assert not network(ClusterLink(A, B, cluster=off)).reaches("a", "b", QUEUE)


def test_hops_before_the_cluster_are_none_of_its() -> None:
    topology = network(BrokerConnection(A, B, senders=(ORDERS,)), ClusterLink(B, C))
    assert topology.reaches("a", "c", QUEUE)


def test_a_cluster_sends_to_a_member_that_a_connection_takes_it_on_from() -> None:
    assert network(ClusterLink(A, B), BrokerConnection(C, B, receivers=(ORDERS,))).reaches("a", "c", QUEUE)
    assert not network(ClusterLink(A, B), BrokerConnection(B, C, senders=(ORDERS,))).reaches("a", "c", QUEUE)
    asking = with_queue("b")
    by_sender = network(ClusterLink(A, asking), BrokerConnection(asking, C, senders=(ORDERS,)), brokers=(A, asking, C))
    assert by_sender.reaches("a", "c", QUEUE)


def test_a_router_gives_out_what_its_peer_matches() -> None:
    router = Router("r", waypoints=("orders",))
    topology = network(BrokerConnection(A, router, peers=(ORDERS,)), brokers=(A, router))
    for producer, consumer in (("a", "r"), ("r", "a")):
        assert topology.reaches(producer, consumer, QUEUE)
        assert not topology.reaches(producer, consumer, "queue://prices")


def test_a_backup_reaches_what_its_live_broker_does() -> None:
    pair = build("senders(match='orders.#', alternate=True)")
    assert pair.reaches("source", "sink-backup", QUEUE)
    assert not pair.reaches("source", "sink-backup", "queue://prices")


@pytest.mark.parametrize(
    "entry", sorted({name for name in ENTRIES if build(name).flavour == "artemis"} - {"router-peer"})
)
def test_every_path_of_a_catalogue_entry_is_predicted(entry: str) -> None:
    """The catalogue's links pass all queues, so linked brokers can be reached."""
    topology = build(entry)
    names = [broker.name for broker in topology.brokers if not broker.standby_of]
    reached = {(a, b) for a in names for b in names if topology.reaches(a, b, "queue://any")}
    assert reached == set(topology.paths())


matches = st.sampled_from(
    [AddressMatch(pattern) for pattern in ("#", "orders.#", "orders.*", "*", "prices")]
    + [AddressMatch(queue_name=name) for name in ("orders.eu", "in")]
)
some = st.just(()) | st.lists(matches, min_size=1, max_size=2).map(tuple)
mirrors = st.none() | st.sampled_from(["", "orders", "orders.", "!orders.eu", "pri,ord,!orders."]).map(
    lambda text: Mirror(address_filter=text)
)
declared_addresses = st.sampled_from(
    [(), (Address("orders.eu"),), (Address("orders", queue="in"), Address("prices", "MULTICAST"))]
)


@st.composite
def networks(draw: st.DrawFn) -> tuple[tuple[ArtemisBroker, ...], tuple[Link, ...]]:
    """Draw two to five brokers and up to seven links, some of which form a cluster."""
    brokers = tuple(ArtemisBroker(name, addresses=draw(declared_addresses)) for name in "abcde")[
        : draw(st.integers(2, 5))
    ]
    cluster = ClusterConnection(
        max_hops=draw(st.integers(1, 3)), message_load_balancing=draw(st.sampled_from(["ON_DEMAND", "OFF"]))
    )
    ends = st.permutations(brokers).map(lambda order: order[:2])
    links: list[Link] = []
    for number in range(draw(st.integers(1, 7))):
        here, there = draw(ends)
        senders, receivers, mirror = draw(some), draw(some), draw(mirrors)
        if draw(st.integers(0, 2)) == 0 or not (senders or receivers or mirror):
            links.append(ClusterLink(here, there, f"c{number}", cluster=cluster))
        else:
            links.append(
                BrokerConnection(here, there, f"m{number}", senders=senders, receivers=receivers, mirror=mirror)
            )
    return brokers, tuple(links)


@settings(max_examples=300, deadline=None)
@given(
    networks(), st.sampled_from([*(f"queue://{name}" for name in (*ADDRESSES, "orders.eu.de")), "topic://orders.eu"])
)
def test_on_any_network_the_prediction_is_what_walking_every_way_finds(
    drawn: tuple[tuple[ArtemisBroker, ...], tuple[Link, ...]], destination: str
) -> None:
    brokers, links = drawn  # not a Topology, which would reject loops: those are tested, too
    for producer in brokers:
        for consumer in brokers:
            ends = (producer.name, consumer.name)
            assert artemis_reach.reaches(brokers, links, *ends, destination) is can_reach(links, *ends, destination)


@settings(max_examples=300, deadline=None)
@given(networks(), st.sampled_from(ADDRESSES))
def test_what_is_reached_lies_on_a_path(
    drawn: tuple[tuple[ArtemisBroker, ...], tuple[Link, ...]], address: str
) -> None:
    """Paths ignore addresses, so some paths are not reachable. A missing path would reject a good network.

    Clusters have enough hops: with too few, messages may get farther from a member where another client consumes.
    """
    brokers, links = drawn
    enough = {
        link: replace(link, cluster=replace(link.cluster, max_hops=len(brokers)), message_ttl=1, consumer_ttl=1)
        for link in links
        if isinstance(link, ClusterLink)
    }
    wide = [enough[link] if isinstance(link, ClusterLink) else link for link in links]
    names = [broker.name for broker in brokers]
    reached = {(a, b) for a in names for b in names if artemis_reach.reaches(brokers, wide, a, b, f"queue://{address}")}
    assert reached <= shortest_paths(names, wide).keys()


@given(networks())
def test_where_links_lead_and_no_path_the_hops_to_raise_are_told(
    drawn: tuple[tuple[ArtemisBroker, ...], tuple[Link, ...]],
) -> None:
    brokers, links = drawn
    names = [broker.name for broker in brokers]
    paths, leads = shortest_paths(names, links).keys(), connected_pairs(names, links)
    assert paths <= leads
    for begin, end in leads:
        assert bool(blocking_limits(begin, end, links)) or (begin, end) in paths
