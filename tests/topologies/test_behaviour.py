"""Checks on real Classic brokers that each property of a link does what it says. One experiment for each property."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from drivers.contract import Destination, Outcome
from tests.support.brokers import running
from tests.support.crossings import observed, predicted
from tests.support.stomp_clients import body
from tests.support.waiting import until
from tests.topologies.experiments import MEMORY_MB, MESSAGES, ORDERS, SETTLES_S, chain, client, depth, shares, two, up
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]


def test_without_conduit_subscriptions_each_consumer_has_its_share(tmp_path: Path) -> None:
    link = two(decrease_network_consumer_priority=False, conduit_subscriptions=False)
    with up(link, tmp_path) as runtime:
        assert shares(runtime, "here", "there", "there") == [10, 10, 10]


def test_a_decreased_priority_keeps_messages_from_the_link_while_somebody_is_here(tmp_path: Path) -> None:
    with up(two(decrease_network_consumer_priority=True), tmp_path) as runtime:
        assert shares(runtime, "here", "there", "there") == [MESSAGES, 0, 0]


def test_a_message_whose_ttl_is_spent_waits_half_way(tmp_path: Path) -> None:
    topology = chain(message_ttl=1, consumer_ttl=2)
    with up(topology, tmp_path) as runtime:
        left_at(runtime, topology, "b")


def test_demand_whose_ttl_is_spent_is_not_heard_of_so_the_message_never_leaves(tmp_path: Path) -> None:
    topology = chain(message_ttl=2, consumer_ttl=1)
    with up(topology, tmp_path) as runtime:
        left_at(runtime, topology, "a")


def left_at(runtime: Runtime, topology: Topology, broker: str) -> None:
    """One message from a to c that the model says cannot get there, and where it stays."""
    assert not topology.reaches("a", "c", str(ORDERS))
    consumer, sender = client(runtime, "c"), client(runtime, "a")
    consumer.listen(ORDERS)
    sender.send(ORDERS, body(0))
    assert sender.outcomes(1) == [Outcome.ACKED]
    until(lambda: depth(runtime, topology, broker, "orders") == 1)
    time.sleep(SETTLES_S)
    assert {each: depth(runtime, topology, each, "orders") for each in "abc"} == {
        each: int(each == broker) for each in "abc"
    }
    assert consumer.got == []
    for each in (consumer, sender):
        each.close()


def test_without_advisories_only_a_static_bridge_carries_messages(tmp_path: Path) -> None:
    here, dynamic, static = (Broker(name, advisory_support=False) for name in ("here", "dynamic", "static"))
    links = (
        NetworkConnector(opened_by=here, to=dynamic),
        NetworkConnector(
            opened_by=here,
            to=static,
            static_bridge=True,
            statically_included_destinations=("queue://from-here-to-static",),
        ),
    )
    topology = Topology("without-advisories", (here, dynamic, static), links, (), CLASSIC)
    alone = {(broker.name, broker.name) for broker in topology.brokers}
    with running(topology, tmp_path, MEMORY_MB) as runtime:
        assert observed(runtime, topology) == predicted(topology) == alone | {("here", "static")}


OPEN = ("queue://open.>", "topic://*.open.*")


def what_is_open_passes_alone(topology: Topology, tmp_path: Path) -> None:
    """By the wildcards of `OPEN`, from ``here`` to ``there``."""
    alone = {("here", "here"), ("there", "there")}
    passes = {
        ("queue", "open."): True,
        ("queue", "closed."): False,
        ("topic", "very.open."): True,
        ("topic", "very.open.too."): False,
    }
    with up(topology, tmp_path) as runtime:
        for (kind, prefix), expected in passes.items():
            found = observed(runtime, topology, kind, prefix)
            assert found == predicted(topology, kind, prefix), (kind, prefix)
            assert found == alone | ({("here", "there")} if expected else set()), (kind, prefix)


def test_dynamically_included_destinations_pass_by_their_wildcards_alone(tmp_path: Path) -> None:
    topology = two(dynamically_included_destinations=OPEN)
    what_is_open_passes_alone(topology, tmp_path)


def test_a_statically_included_queue_is_forwarded_though_nobody_consumes_it(tmp_path: Path) -> None:
    topology = two(statically_included_destinations=(str(ORDERS),))
    with up(topology, tmp_path) as runtime:
        sender = client(runtime, "here")
        sender.send(ORDERS, body(0))
        sender.send(Destination("queue", "others"), body(1))
        assert sender.outcomes(2) == [Outcome.ACKED] * 2
        until(lambda: depth(runtime, topology, "there", "orders") == 1)
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, "here", "others") == 1
        sender.close()


def test_statically_included_destinations_cross_by_their_wildcards_and_no_consumer_is_heard_of(tmp_path: Path) -> None:
    """The manual allows wildcards in the other two lists only; 5.18.3 takes them here too."""
    topology = two(static_bridge=True, statically_included_destinations=OPEN)
    what_is_open_passes_alone(topology, tmp_path)


def test_a_static_wildcard_is_told_on_to_the_broker_before(tmp_path: Path) -> None:
    """What b forwards to c unasked, a forwards to b, as for any other consumer at b."""
    a, b, c = (Broker(name) for name in "abc")
    first = NetworkConnector(opened_by=a, to=b, consumer_ttl=2)
    last = NetworkConnector(
        opened_by=b, to=c, message_ttl=2, static_bridge=True, statically_included_destinations=("queue://open.>",)
    )
    topology = Topology("told-on", (a, b, c), (first, last), (), CLASSIC)
    with up(topology, tmp_path) as runtime:
        found = observed(runtime, topology, "queue", "open.")
        assert ("a", "c") in found
        assert found == predicted(topology, "queue", "open.")


def test_what_is_excluded_within_a_static_wildcard_is_held_by_the_link(tmp_path: Path) -> None:
    """It does not cross; the link's subscription takes it all the same, so that a consumer here does not get it."""
    topology = two(
        statically_included_destinations=("queue://open.>",),
        excluded_destinations=("queue://open.letters",),
        decrease_network_consumer_priority=False,
    )
    assert not topology.reaches("here", "there", "queue://open.letters")
    with up(topology, tmp_path) as runtime:
        sender = client(runtime, "here")
        sender.send(Destination("queue", "open.letters"), body(0))
        assert sender.outcomes(1) == [Outcome.ACKED]
        consumer = client(runtime, "here")
        consumer.listen(Destination("queue", "open.letters"))
        time.sleep(SETTLES_S)
        with closing(Jolokia(runtime.management("here"))) as agent:
            queue = queries_of(topology, "here").figures(agent).queues["open.letters"]
        assert (queue["depth"], queue["in_flight"], len(consumer.got)) == (1, 1, 0)
        assert depth(runtime, topology, "there", "open.letters") == 0
        for each in (sender, consumer):
            each.close()


def test_parallel_connectors_carry_queues_by_all_of_theirs_and_topics_by_their_own(tmp_path: Path) -> None:
    topology = build("parallel-connectors")
    prices = Destination("topic", "prices")
    with up(topology, tmp_path) as runtime:
        for kind in ("queue", "topic"):
            assert observed(runtime, topology, kind) == predicted(topology, kind)
        before = carried(runtime, topology)
        consumer, sender = client(runtime, "sink"), client(runtime, "source")
        for destination in (ORDERS, prices):
            consumer.listen(destination)
        time.sleep(SETTLES_S)
        for destination in (ORDERS, prices):
            sender.send(destination, *(body(seq) for seq in range(MESSAGES)))
        assert sorted(reading.seq for reading in consumer.received(2 * MESSAGES)) == sorted([*range(MESSAGES)] * 2)
        until(lambda: sum((carried(runtime, topology) - before).values()) == 2 * MESSAGES)
        found = carried(runtime, topology) - before
        assert found["topics"] == MESSAGES
        assert min(found["queues-1"], found["queues-2"]) > 0
        for each in (consumer, sender):
            each.close()


def test_the_opener_of_parallel_duplex_links_counts_what_each_of_them_has_brought_back(tmp_path: Path) -> None:
    """The far ends count it too, and call themselves #0, #1 and #2 (`analysis.network.resources.links`)."""
    topology = build("parallel-connectors(duplex=True)")
    prices = Destination("topic", "prices")
    with up(topology, tmp_path) as runtime:
        before = carried(runtime, topology, "received_count")
        consumer, sender = client(runtime, "source"), client(runtime, "sink")
        for destination in (ORDERS, prices):
            consumer.listen(destination)
        time.sleep(SETTLES_S)
        for destination in (ORDERS, prices):
            sender.send(destination, *(body(seq) for seq in range(MESSAGES)))
        consumer.received(2 * MESSAGES)
        until(lambda: sum((carried(runtime, topology, "received_count") - before).values()) == 2 * MESSAGES)
        found = carried(runtime, topology, "received_count") - before
        assert found["topics"] == MESSAGES
        assert min(found["queues-1"], found["queues-2"]) > 0
        for each in (consumer, sender):
            each.close()


def carried(runtime: Runtime, topology: Topology, metric: str = "dequeue_count") -> Counter[str]:
    """How many messages each link of ``source`` has brought over so far, or back."""
    with closing(Jolokia(runtime.management("source"))) as agent:
        bridges = queries_of(topology, "source").figures(agent).bridges
    return Counter({bridge.connector: bridge.counters[metric] for bridge in bridges})


def test_a_link_without_duplex_answers_nothing_and_one_with_it_does(tmp_path: Path) -> None:
    for duplex in (False, True):
        topology = two(duplex=duplex, name="one-link")
        with up(topology, tmp_path / str(duplex)) as runtime:
            assert (("there", "here") in observed(runtime, topology)) is duplex


@pytest.mark.parametrize(("suppressed", "hops"), [(False, {1, 2}), (True, {1})])
def test_a_consumer_known_over_two_ways_draws_messages_over_both_unless_that_is_suppressed(
    suppressed: bool, hops: set[int], tmp_path: Path
) -> None:
    a, b, c = (Broker(name) for name in "abc")
    links = tuple(
        NetworkConnector(
            opened_by=opener, to=to, message_ttl=2, consumer_ttl=2,
            suppress_duplicate_queue_subscriptions=suppressed, decrease_network_consumer_priority=False,
        )
        for opener, to in ((a, b), (b, c), (a, c))
    )  # fmt: skip
    with up(Topology("two-ways", (a, b, c), links, (), CLASSIC), tmp_path) as runtime:
        consumer, sender = client(runtime, "c"), client(runtime, "a")
        consumer.listen(ORDERS)
        time.sleep(SETTLES_S)
        sender.send(ORDERS, *(body(seq) for seq in range(MESSAGES)))
        assert sorted(reading.seq for reading in consumer.received(MESSAGES)) == list(range(MESSAGES))
        found = {delivery.hops for delivery in consumer.got}
        for each in (consumer, sender):
            each.close()
    assert found == hops


def test_the_prefetch_size_of_a_link_bounds_what_is_on_its_way(tmp_path: Path) -> None:
    """What a bridge has taken ahead is in flight at its opener: never more than that when the far end is frozen."""
    topology = two(prefetch_size=5, decrease_network_consumer_priority=False)
    with up(topology, tmp_path) as runtime:
        consumer, sender = client(runtime, "there"), client(runtime, "here")
        consumer.listen(ORDERS)
        time.sleep(SETTLES_S)
        runtime.pause("there")
        sender.send(ORDERS, *(body(seq) for seq in range(MESSAGES)))
        assert sender.outcomes(MESSAGES) == [Outcome.ACKED] * MESSAGES
        time.sleep(SETTLES_S)
        with closing(Jolokia(runtime.management("here"))) as agent:
            in_flight = queries_of(topology, "here").figures(agent).queues["orders"]["in_flight"]
        runtime.resume("there")
        assert sorted(reading.seq for reading in consumer.received(MESSAGES)) == list(range(MESSAGES))
        assert in_flight == 5
        for each in (consumer, sender):
            each.close()
