"""Checks which consumers must get a message by destination name, on real brokers and in examples."""

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drivers.client.contract import ProducerSettings
from drivers.client.pacing import Schedule
from drivers.contract import Destination, Subscription
from records.loads.routes import TOPIC, Route, copies_of
from tests.support.loads import RUN, UserLoad
from tests.support.waiting import settled_for
from topologies.artemis.broker import ArtemisBroker
from topologies.classic.broker import Broker
from topologies.model.broker import AnyBroker
from topologies.model.deliveries import ClientDestination
from topologies.products import PRODUCTS
from topologies.runtimes.contract import Runtime

BROKERS: dict[str, AnyBroker] = {"classic": Broker("broker-1"), "artemis": ArtemisBroker("broker-1")}
CASES = 40
MESSAGES = 3
"""Messages to each destination of a case."""
NIGHTLY = pytest.mark.nightly
CELLS = [
    pytest.param("classic", "stomp", 1),
    pytest.param("artemis", "stomp", 2),
    *(
        pytest.param(product, protocol, seed, marks=[NIGHTLY, *marks])
        for seed in (3, 4, 5)
        for product, protocol, marks in (
            ("classic", "stomp", ()),
            ("classic", "amqp", (pytest.mark.amqp,)),
            ("classic", "openwire", (pytest.mark.java,)),
            ("artemis", "stomp", ()),
            ("artemis", "amqp", (pytest.mark.amqp,)),
            ("artemis", "openwire", (pytest.mark.java,)),
            ("artemis", "core", (pytest.mark.java,)),
        )
    ),
]


def routes(
    product: str,
    protocol: str,
    sent: tuple[str, ...],
    consumed: tuple[str, ...],
    *,
    brokers: tuple[AnyBroker, ...] = (),
) -> tuple[Route, ...]:
    """Return the routes of a product's destinations. Raises ValueError for unsupported names."""
    addresses = ([ClientDestination(name, protocol) for name in names] for names in (sent, consumed))
    return PRODUCTS[product].routes(brokers or (BROKERS[product],), *addresses)


# -- as real brokers deliver -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeliveryCase:
    """Destinations of producers and consumers that are all supported, with a unique prefix."""

    sent: tuple[str, ...]
    consumed: tuple[str, ...]
    routes: tuple[Route, ...]

    def deliveries_owed(self) -> dict[tuple[str, int], range]:
        """Return how many messages each consumer may get from a destination, by its index in ``consumed``.

        Consumers of a queue share its messages.
        """
        owed: dict[tuple[str, int], range] = {}
        for destination in self.sent:
            for place, name in enumerate(self.consumed):
                copies = [copy for copy in copies_of(self.routes, destination) if name in copy.consumers]
                takers = [sum(self.consumed.count(other) for other in copy.consumers) for copy in copies]
                is_shared = any(copy.queue and takers[0] > 1 for copy in copies)
                owed[destination, place] = range(
                    0 if is_shared or not copies else MESSAGES, (MESSAGES if copies else 0) + 1
                )
        return owed


def cases(product: str, protocol: str, seed: int) -> Iterator[DeliveryCase]:
    """Draw random cases. Unsupported names and most cases of equal names are skipped."""
    rng = random.Random(f"{product}-{protocol}-{seed}")
    for number in range(10_000):
        root = f"d{protocol[0]}{seed}n{number}"
        virtual = rng.choice((0.0, 0.8))
        sent = _texts(rng, root, rng.randint(1, 2), "", virtual)
        consumed = _texts(rng, root, rng.randint(1, 4), "*>#", virtual)
        try:
            found = routes(product, protocol, sent, consumed)
        except ValueError:
            continue
        if rng.random() < 0.1 or not all(route.is_plain for route in found):
            yield DeliveryCase(sent, consumed, found)


def _texts(rng: random.Random, root: str, count: int, wildcards: str, virtual_share: float) -> tuple[str, ...]:
    """Draw names. ``virtual_share``: the share of virtual topics and their queues."""
    texts = []
    for _ in range(count):
        kind, virtual = rng.choice(("queue://", "topic://")), rng.random() < virtual_share
        parts = [_name(rng, root, wildcards) for _ in range(1 if virtual or rng.random() < 0.7 else 2)]
        if virtual:
            kind, parts = (
                ("queue://", [f"Consumer.{rng.choice('xy')}.VirtualTopic.{parts[0]}"])
                if (wildcards and rng.random() < 0.7)
                else ("topic://", [f"VirtualTopic.{parts[0]}"])
            )
        other = rng.choice(("", "", "queue://", "topic://"))
        texts.append(f"{kind}{parts[0]}" + "".join(f",{other}{part}" for part in parts[1:]))
    return tuple(dict.fromkeys(texts))


def _name(rng: random.Random, root: str, wildcards: str) -> str:
    levels = [rng.choice("ab") for _ in range(rng.randint(0, 2))]
    if wildcards and rng.random() < 0.5:
        wildcard = rng.choice(wildcards)
        levels = [*levels, wildcard] if not levels or rng.random() < 0.5 else [*levels[:-1], "*", *levels[-1:]]
    return ".".join([root, *levels])


@pytest.mark.brokers
@pytest.mark.parametrize(("product", "protocol", "seed"), CELLS)
def test_brokers_deliver_to_those_it_is_owed_to(
    product: str, protocol: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    runtime: Runtime = request.getfixturevalue("single_broker" if product == "classic" else "single_artemis")
    chosen = [case for case, _ in zip(cases(product, protocol, seed), range(CASES), strict=False)]
    received = deliveries(UserLoad(tmp_path, runtime, protocol, ["broker-1"]), chosen)
    for number, case in enumerate(chosen):
        for (destination, place), owed in case.deliveries_owed().items():
            came = received[number, destination, place]
            assert came in owed, f"{case}: from {destination} to {case.consumed[place]}: {came}"
        for destination in case.sent:
            for copy in copies_of(case.routes, destination):
                places = [place for place, name in enumerate(case.consumed) if name in copy.consumers]
                if copy.queue and places:
                    came = sum(received[number, destination, place] for place in places)
                    assert came == MESSAGES, f"{case}: from {destination} to {copy.queue}: {came}"


def deliveries(load: UserLoad, chosen: list[DeliveryCase]) -> Counter[tuple[int, str, int]]:
    """Send the messages of all cases. Return the deliveries by case, message destination and consumer index."""
    consuming, producing = load.client("consumer"), load.client("producer")
    consumers: dict[int, tuple[int, int]] = {}
    for number, case in enumerate(chosen):
        for place, name in enumerate(case.consumed):
            consumer = 1_000 + len(consumers)
            consumers[consumer] = number, place
            consuming.client.consumer(Subscription(Destination.parse(name)), number=consumer, run=RUN)
    producers: dict[int, str] = {}
    for case in chosen:
        for name in case.sent:
            producer = 10_000 + len(producers)
            producers[producer] = name
            settings = ProducerSettings(body_bytes=64, in_flight=MESSAGES)
            sender = producing.client.producer(Destination.parse(name), settings, number=producer, run=RUN)
            sender.run(Schedule(time.perf_counter_ns(), 1_000.0, 0, MESSAGES), load.session)
    settled_for(lambda: load.tally.received, 1.0)
    tables = load.tables()
    assert {row["outcome"] for row in tables["sends"]} == {"acked"}
    rows: list[dict[str, Any]] = tables["receipts"]
    return Counter(
        (consumers[row["consumer"]][0], producers[row["producer"]], consumers[row["consumer"]][1]) for row in rows
    )


@pytest.mark.parametrize(("product", "protocol", "seed"), CELLS)
def test_generated_cases_cross_names_in_every_way(product: str, protocol: str, seed: int) -> None:
    chosen = [case for case, _ in zip(cases(product, protocol, seed), range(CASES), strict=False)]
    crossing = [route for case in chosen for route in case.routes if not route.is_plain]
    copies = [copy for route in crossing for copy in route.copies]
    assert len(crossing) >= 5
    assert any(copy.consumers and copy.place.startswith(TOPIC) for copy in copies)
    if product == "classic":
        assert any(copy.once_subscribed for copy in copies)
        assert any("," in route.destination for route in crossing)


# -- examples ----------------------------------------------------------------------------------------------------------


def taken(found: tuple[Route, ...]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the consumers by destination and place."""
    return {route.destination: {copy.place: copy.consumers for copy in route.copies} for route in found}


def test_consumers_with_wildcards_compete_for_each_queue() -> None:
    consumed = ("queue://orders.>", "queue://orders.eu", "topic://orders.eu")
    assert taken(routes("classic", "stomp", ("queue://orders.eu", "queue://orders"), consumed)) == {
        "queue://orders.eu": {"queue://orders.eu": ("queue://orders.eu", "queue://orders.>")},
        "queue://orders": {"queue://orders": ("queue://orders.>",)},
    }


def test_a_virtual_topic_feeds_each_subscribers_queue_once_it_is_there() -> None:
    sent = ("topic://VirtualTopic.orders",)
    shop, other = "queue://Consumer.shop.VirtualTopic.orders", "queue://Consumer.shop.VirtualTopic.prices"
    (route,) = routes("classic", "stomp", sent, (shop, other, "topic://VirtualTopic.>"))
    assert taken((route,)) == {sent[0]: {sent[0]: ("topic://VirtualTopic.>",), shop: (shop,)}}
    assert [copy.once_subscribed for copy in route.copies] == [False, True]
    without = (Broker("a", use_virtual_topics=False),)
    assert taken(routes("classic", "stomp", sent, (shop,), brokers=without)) == {sent[0]: {sent[0]: ()}}
    assert taken(routes("artemis", "openwire", sent, (shop,))) == {sent[0]: {sent[0]: ()}}


def test_each_destination_of_a_list_gets_a_copy() -> None:
    sent, consumed = ("queue://a,topic://b,c",), ("queue://a", "topic://b", "queue://c")
    for product, protocol in (("classic", "stomp"), ("artemis", "openwire")):
        assert taken(routes(product, protocol, sent, consumed)) == {sent[0]: {name: (name,) for name in consumed}}


def test_options_of_a_consumers_destination_are_no_part_of_its_name() -> None:
    consumer = "queue://orders?consumer.priority=7"
    assert taken(routes("classic", "openwire", ("queue://orders",), (consumer,))) == {
        "queue://orders": {"queue://orders": (consumer,)}
    }


def test_artemis_has_another_wildcard_by_protocol() -> None:
    for protocol, pattern in (("stomp", "topic://orders.#"), ("core", "topic://orders.#"), ("openwire", "topic://o.>")):
        sent = f"topic://{pattern.removeprefix('topic://').partition('.')[0]}.eu"
        assert taken(routes("artemis", protocol, (sent,), (pattern,))) == {sent: {sent: (pattern,)}}


REJECTED = [
    # producers
    ("classic", "stomp", "queue://orders.*", "", "* is a wildcard"),
    ("artemis", "stomp", "queue://orders.#", "", "# is a wildcard"),
    ("classic", "stomp", "queue://a,,b", "", "a level of the name is empty"),
    ("classic", "stomp", "queue://a,a", "", "names queue://a twice"),
    ("classic", "stomp", "queue://a, b", "", "a name has no spaces"),
    ("classic", "openwire", "queue://a?consumer.priority=1", "", "producers of Classic have none"),
    ("classic", "stomp", "topic://ActiveMQ.Advisory.Connection", "", "the prefix ActiveMQ. is reserved"),
    ("classic", "stomp", "queue://brokerbench.canary.a", "", "the prefix brokerbench.canary. is reserved"),
    ("artemis", "core", "queue://DLQ", "", "DLQ is a dead-letter queue"),
    ("artemis", "core", "queue://orders::eu", "", "a name cannot contain ::"),
    ("artemis", "amqp", "queue://a,b", "", "would treat the comma as part of the name"),
    # consumers
    ("classic", "stomp", "", "queue://>", "a wildcard in the first level"),
    ("classic", "stomp", "", "queue://orders.eu*", "a wildcard replaces a whole level"),
    ("classic", "stomp", "", "queue://orders.>.eu", "it can only be the last one"),
    (
        "classic",
        "stomp",
        "",
        "queue://Consumer.shop.VirtualTopic.>",
        "a virtual topic also feeds the queue with exactly this name",
    ),
    ("classic", "stomp", "", "queue://orders?consumer.priority=7", "stomp consumers of Classic have none"),
    ("classic", "openwire", "", "queue://orders?consumer.retroactive=true", "consumer.priority, consumer.exclusive"),
    ("classic", "openwire", "", "queue://orders?consumer.selector=TRUE", "consumer.priority, consumer.exclusive"),
    ("classic", "openwire", "", "queue://orders?", "consumer.priority, consumer.exclusive"),
    ("classic", "stomp", "", "queue://ActiveMQ.DLQ", "the prefix ActiveMQ. is reserved"),
    ("artemis", "stomp", "", "queue://orders.#", "Artemis creates a queue with this name"),
    ("artemis", "openwire", "", "topic://orders.#", "# is not a wildcard for openwire clients of Artemis; write >"),
    ("artemis", "amqp", "", "topic://orders.>", "> is not a wildcard for amqp clients of Artemis; write #"),
    ("artemis", "core", "", "queue://ExpiryQueue", "ExpiryQueue is a dead-letter queue"),
    ("classic", "openwire", "", "queue://a,topic://b", "a consumer of both queues and topics misses messages"),
    # both
    ("artemis", "amqp", "queue://a", "topic://a", "Artemis treats it and topic://a as one address"),
    ("classic", "stomp", "queue://a,b", "queue://a,b", "twice, by queue://a and by queue://b"),
    ("classic", "stomp", "topic://a.x,a.y", "topic://a.*", "twice, by topic://a.x and by topic://a.y"),
]


@pytest.mark.parametrize(("product", "protocol", "sent", "consumed", "rule"), REJECTED)
def test_what_is_not_understood_is_rejected(product: str, protocol: str, sent: str, consumed: str, rule: str) -> None:
    subject = f"destination {sent or consumed!r}: "
    with pytest.raises(ValueError, match=f"^{re.escape(subject)}.*{re.escape(rule)}"):
        routes(product, protocol, tuple(filter(None, (sent,))), tuple(filter(None, (consumed,))))


def test_brokers_have_to_agree_on_virtual_topics() -> None:
    brokers = Broker("a"), Broker("b", use_virtual_topics=False)
    sent, shop = ("topic://VirtualTopic.orders",), ("queue://Consumer.shop.VirtualTopic.orders",)
    with pytest.raises(ValueError, match="set it to the same value for all"):
        routes("classic", "stomp", sent, shop, brokers=brokers)
    routes("classic", "stomp", sent, (), brokers=brokers)
