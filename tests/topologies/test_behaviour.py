"""Checks the effect of each link property on real Classic brokers, with one experiment per property."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from drivers.contract import Destination, Outcome, Subscription
from tests.support.brokers import frozen, running
from tests.support.crossings import observed, predicted
from tests.support.stomp_clients import StompClient, body
from tests.support.waiting import until
from tests.topologies.experiments import (
    MEMORY_MB,
    MESSAGES,
    ORDERS,
    PRICES,
    SETTLES_S,
    chain,
    clients,
    depth,
    here_to_there,
    send,
    shares,
    up,
)
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.management import broker_mbean
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]


def test_without_conduit_subscriptions_each_consumer_has_its_share(tmp_path: Path) -> None:
    link = here_to_there(decrease_network_consumer_priority=False, conduit_subscriptions=False)
    with up(link, tmp_path) as runtime:
        assert shares(runtime, "here", "there", "there") == [10, 10, 10]


def test_a_decreased_priority_keeps_messages_from_the_link_while_somebody_is_here(tmp_path: Path) -> None:
    with up(here_to_there(decrease_network_consumer_priority=True), tmp_path) as runtime:
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
    """Send a message from a to c that cannot get there according to the model, and return where it stays."""
    assert not topology.reaches("a", "c", str(ORDERS))
    with clients(runtime, "c") as [consumer]:
        consumer.listen(ORDERS)
        send(runtime, "a", count=1)
        until(lambda: depth(runtime, topology, broker, "orders") == 1)
        time.sleep(SETTLES_S)
        assert {name: depth(runtime, topology, name, "orders") for name in "abc"} == {"a": 0, "b": 0, "c": 0, broker: 1}
        assert consumer.got == []


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
    """Check that only destinations in the wildcards of `OPEN` pass from ``here`` to ``there``."""
    alone = {("here", "here"), ("there", "there")}
    passes = {
        ("queue", "open."): True,
        ("queue", "closed."): False,
        ("topic", "very.open."): True,
        ("topic", "very.open.too."): False,
    }
    with up(topology, tmp_path) as runtime:
        for (kind, prefix), expected in passes.items():
            crossings = observed(runtime, topology, kind, prefix)
            assert crossings == predicted(topology, kind, prefix), (kind, prefix)
            assert crossings == alone | ({("here", "there")} if expected else set()), (kind, prefix)


def test_dynamically_included_destinations_pass_by_their_wildcards_alone(tmp_path: Path) -> None:
    topology = here_to_there(dynamically_included_destinations=OPEN)
    what_is_open_passes_alone(topology, tmp_path)


def test_what_a_wildcard_includes_statically_is_forwarded_though_nobody_consumes_it(tmp_path: Path) -> None:
    topology, queues = (
        here_to_there(statically_included_destinations=("queue://forwarded.>",)),
        ("forwarded.eu", "forwarded.eu.uk"),
    )
    with up(topology, tmp_path) as runtime:
        for queue in (*queues, "others"):
            send(runtime, "here", Destination("queue", queue), count=1)
        until(lambda: [depth(runtime, topology, "there", queue) for queue in queues] == [1, 1])
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, "here", "others") == 1


def test_statically_included_destinations_allow_wildcards(tmp_path: Path) -> None:
    """No other destinations cross, as the bridge ignores consumers.

    The manual allows wildcards in the other two lists only; 5.18.3 takes them here too.
    """
    topology = here_to_there(static_bridge=True, statically_included_destinations=OPEN)
    what_is_open_passes_alone(topology, tmp_path)


def test_a_static_wildcard_is_told_on_to_the_broker_before(tmp_path: Path) -> None:
    """Messages that b forwards to c without a consumer, a forwards to b, as for any other consumer at b."""
    a, b, c = (Broker(name) for name in "abc")
    first_link = NetworkConnector(opened_by=a, to=b, consumer_ttl=2)
    last = NetworkConnector(
        opened_by=b, to=c, message_ttl=2, static_bridge=True, statically_included_destinations=("queue://open.>",)
    )
    topology = Topology("told-on", (a, b, c), (first_link, last), (), CLASSIC)
    with up(topology, tmp_path) as runtime:
        crossings = observed(runtime, topology, "queue", "open.")
        assert ("a", "c") in crossings
        assert crossings == predicted(topology, "queue", "open.")


def test_what_is_excluded_within_a_static_wildcard_is_held_by_the_link(tmp_path: Path) -> None:
    """It does not cross. But the link's subscription takes it, so that a consumer here does not get it."""
    topology = here_to_there(
        statically_included_destinations=("queue://open.>",),
        excluded_destinations=("queue://open.letters",),
        decrease_network_consumer_priority=False,
    )
    letters = Destination("queue", "open.letters")
    assert not topology.reaches("here", "there", str(letters))
    with up(topology, tmp_path) as runtime, clients(runtime, "here") as [consumer]:
        send(runtime, "here", letters, count=1)
        consumer.listen(letters)
        time.sleep(SETTLES_S)
        with closing(Jolokia(runtime.management("here"))) as agent:
            queue = queries_of(topology, "here").figures(agent).queues["open.letters"]
        assert (queue["depth"], queue["in_flight"], len(consumer.got)) == (1, 1, 0)
        assert depth(runtime, topology, "there", "open.letters") == 0


@pytest.mark.parametrize(
    ("duplex", "sends", "consumes", "metric"),
    [(False, "source", "sink", "dequeue_count"), (True, "sink", "source", "received_count")],
    ids=["forth", "back"],
)
def test_parallel_connectors_carry_queues_and_topics_apart(
    duplex: bool, sends: str, consumes: str, metric: str, tmp_path: Path
) -> None:
    """Queues cross by the queue connectors, topics by the topic connector, and the broker that opens them counts both.

    The far ends also count messages that come back, as #0, #1 and #2 (`analysis.network.resources.links`).
    """
    topology = build(f"parallel-connectors(duplex={duplex})")
    with up(topology, tmp_path) as runtime:
        assert observed(runtime, topology, "topic") == predicted(topology, "topic")
        before = carried(runtime, topology, metric)
        with clients(runtime, consumes, sends) as (consumer, sender):
            for destination in (ORDERS, PRICES):
                consumer.listen(destination)
            time.sleep(SETTLES_S)
            for destination in (ORDERS, PRICES):
                sender.send(destination, *(body(seq) for seq in range(MESSAGES)))
            assert sorted(reading.seq for reading in consumer.received(2 * MESSAGES)) == sorted([*range(MESSAGES)] * 2)
            until(lambda: sum((carried(runtime, topology, metric) - before).values()) == 2 * MESSAGES)
        carried_since = carried(runtime, topology, metric) - before
        assert carried_since["topics"] == MESSAGES
        assert min(carried_since["queues-1"], carried_since["queues-2"]) > 0


def carried(runtime: Runtime, topology: Topology, metric: str) -> Counter[str]:
    """Return how many messages each link of ``source`` has carried so far, in either direction."""
    with closing(Jolokia(runtime.management("source"))) as agent:
        bridges = queries_of(topology, "source").figures(agent).bridges
    return Counter({bridge.connector: bridge.counters[metric] for bridge in bridges})


@pytest.mark.parametrize(("suppressed", "hops"), [(False, {1, 2}), (True, {1})])
def test_a_consumer_known_over_two_paths_uses_both(suppressed: bool, hops: set[int], tmp_path: Path) -> None:
    """With suppressed duplicate subscriptions, messages take one path."""
    a, b, c = (Broker(name) for name in "abc")
    links = tuple(
        NetworkConnector(
            opened_by=opener, to=to, message_ttl=2, consumer_ttl=2,
            suppress_duplicate_queue_subscriptions=suppressed, decrease_network_consumer_priority=False,
        )
        for opener, to in ((a, b), (b, c), (a, c))
    )  # fmt: skip
    with (
        up(Topology("two-ways", (a, b, c), links, (), CLASSIC), tmp_path) as runtime,
        clients(runtime, "c", "a") as (consumer, sender),
    ):
        consumer.listen(ORDERS)
        time.sleep(SETTLES_S)
        sender.send(ORDERS, *(body(seq) for seq in range(MESSAGES)))
        assert sorted(reading.seq for reading in consumer.received(MESSAGES)) == list(range(MESSAGES))
        assert {delivery.hops for delivery in consumer.got} == hops


def test_the_prefetch_size_of_a_link_bounds_what_is_on_its_way(tmp_path: Path) -> None:
    """Prefetched messages are in flight at the bridge's opener, and stay within the limit if the far end freezes."""
    topology = here_to_there(prefetch_size=5, decrease_network_consumer_priority=False)
    with up(topology, tmp_path) as runtime, clients(runtime, "there", "here") as (consumer, sender):
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


@pytest.mark.parametrize("waits_for_answers", [True, False])
def test_always_sync_send_keeps_messages_until_the_answer(waits_for_answers: bool, tmp_path: Path) -> None:
    """The message is not persistent, and the far end is frozen.

    Sent without an answer, the message has left this broker: it would be lost with the far one.
    """
    topology = here_to_there(always_sync_send=waits_for_answers, decrease_network_consumer_priority=False)
    with up(topology, tmp_path) as runtime, clients(runtime, "there", "here") as (consumer, sender):
        consumer.listen(ORDERS)
        time.sleep(SETTLES_S)
        with frozen(runtime, "there"):
            sender.send(ORDERS, *(body(seq) for seq in range(MESSAGES)), durable=False)
            if waits_for_answers:
                until(lambda: depth(runtime, topology, "here", "orders") == MESSAGES)
            time.sleep(SETTLES_S)
            assert depth(runtime, topology, "here", "orders") == (MESSAGES if waits_for_answers else 0)
        assert sorted(reading.seq for reading in consumer.received(MESSAGES)) == list(range(MESSAGES))


@pytest.mark.parametrize("dynamic_only", [False, True])
def test_a_starting_bridge_subscribes_for_inactive_durable_subscribers(dynamic_only: bool, tmp_path: Path) -> None:
    """A dynamic_only bridge does not.

    The subscriber at the far end is always inactive, and its broker gets the message only if the bridge subscribed.
    """
    topology = here_to_there(dynamic_only=dynamic_only)
    with up(topology, tmp_path) as runtime:
        with closing(durable_subscriber(runtime)):
            time.sleep(SETTLES_S)
        runtime.stop("here")
        runtime.start("here")
        prove_links(runtime, topology, timeout_s=60)
        time.sleep(SETTLES_S)
        send(runtime, "here", PRICES, count=1)
        time.sleep(SETTLES_S)
        assert published(runtime, "there") == (0 if dynamic_only else 1)
        with closing(durable_subscriber(runtime)) as subscriber:
            assert [reading.seq for reading in subscriber.received(1)] == [0]


def durable_subscriber(runtime: Runtime) -> StompClient:
    subscriber = StompClient(runtime.endpoint("there", "stomp"), runtime.credentials(), client_id="sleeper")

    def settle(delivery: object) -> None:
        subscriber.got.append(delivery)  # type: ignore[arg-type]
        subscriber.connection.settle(subscriber.got[-1])

    subscriber.connection.subscribe(Subscription(PRICES, durable_name="prices"), settle)
    return subscriber


def published(runtime: Runtime, broker: str) -> int:
    """Return the number of messages that were published on the topic at a broker."""
    with closing(Jolokia(runtime.management(broker))) as agent:
        topic = f"{broker_mbean(broker)},destinationType=Topic,destinationName={PRICES.name}"
        return int(agent.read(topic, "EnqueueCount")["EnqueueCount"])
