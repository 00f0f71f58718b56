"""Checks that messages delivered under other names count for the subscriptions that are owed them."""

from typing import Any

from analysis.events.routes import Routes, unexplained
from analysis.messages.expectations import Expectations, SentTo
from records.loads.message_properties import MessageProperties
from records.loads.routes import Copy, Route
from tests.analysis.rows import Row, leftover, receipt, send, subscription
from tests.analysis.test_accounting import counted

ORDERS, BOTH = "topic://VirtualTopic.orders", "queue://a,b"
SHOP, AUDIT = "Consumer.shop.VirtualTopic.orders", "Consumer.audit.VirtualTopic.orders"
WILD = "queue://across.>"
ROUTES = Routes.of(
    (
        Route("queue://across.eu", (Copy("queue://across.eu", (WILD, "queue://across.eu")),)),
        Route(
            ORDERS,
            (
                Copy(ORDERS, ("topic://VirtualTopic.>",)),
                Copy(f"queue://{SHOP}", (f"queue://{SHOP}",), once_subscribed=True),
                Copy(f"queue://{AUDIT}", (f"queue://{AUDIT}",), once_subscribed=True),
            ),
        ),
        Route(BOTH, (Copy("queue://a", ("queue://a",)), Copy("queue://b", ("queue://b",)))),
    )
)


def of_queue(name: str, consumer: int, **more: Any) -> Row:
    return {**subscription(name, consumer=consumer, kind="queue", **more), "destination": f"queue://{name}"}


def from_queue(name: str, seq: int, consumer: int) -> Row:
    return receipt(seq, destination=f"queue://{name}", subscription=name, consumer=consumer)


def not_zero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count and name != "acked"}


def test_consumers_with_wildcards_share_the_queues_that_they_match() -> None:
    held = [of_queue("across.>", 7), of_queue("across.eu", 8)]
    sends = [send(seq, destination="queue://across.eu") for seq in range(4)]
    receipts = [from_queue("across.>", 0, 7), from_queue("across.eu", 1, 8), from_queue("across.>", 1, 7)]
    left = [leftover(2, queue="across.eu")]
    (counts,) = counted(sends, receipts, held, left, routes=ROUTES).items()
    assert counts[0] == ("queue://across.eu", "across.eu")
    assert not_zero(counts[1]) == {"sent": 4, "received": 2, "duplicated": 1, "stranded": 1, "lost": 1}


def test_each_queue_of_a_virtual_topic_is_owed_what_was_sent_once_it_was_there() -> None:
    watching = {**subscription("VirtualTopic.>#9", consumer=9), "destination": "topic://VirtualTopic.>"}
    held = [of_queue(SHOP, 7), of_queue(SHOP, 8), of_queue(AUDIT, 10, began=2_500), watching]
    sends = [send(seq, destination=ORDERS, due=2_000 + 200 * seq) for seq in range(5)]
    receipts = [from_queue(SHOP, seq, 7 + seq % 2) for seq in range(4)]
    topic = {"destination": "topic://VirtualTopic.>", "subscription": "VirtualTopic.>#9"}
    receipts += [{**receipt(seq, consumer=9), **topic} for seq in range(5)]
    counts = counted(sends, receipts, held, [leftover(3, queue=AUDIT)], routes=ROUTES)
    assert {name: not_zero(of_each) for name, of_each in counts.items()} == {
        (ORDERS, SHOP): {"sent": 5, "received": 4, "lost": 1},
        (ORDERS, AUDIT): {"sent": 2, "stranded": 1, "lost": 1},
        (ORDERS, "VirtualTopic.>#9"): {"sent": 5, "received": 5},
    }
    assert counted(sends[:1], [], [], routes=ROUTES)[ORDERS, ""]["sent"] == 1, "nobody was there"


def test_a_copy_of_one_queue_does_not_stand_for_that_of_another() -> None:
    held = [of_queue("a", 7), of_queue("b", 8)]
    sends = [send(seq, destination=BOTH) for seq in range(3)]
    receipts = [from_queue("a", seq, 7) for seq in range(3)] + [from_queue("b", 0, 8)]
    counts = counted(sends, receipts, held, [leftover(1, queue="b"), leftover(2, queue="a")], routes=ROUTES)
    assert not_zero(counts[BOTH, "a"]) == {"sent": 3, "received": 3}
    assert not_zero(counts[BOTH, "b"]) == {"sent": 3, "received": 1, "stranded": 1, "lost": 1}


def test_what_a_selector_keeps_on_a_virtual_topics_queue_is_unselected() -> None:
    red = "color = 'red'"
    held = [of_queue(SHOP, 7, selector=red), of_queue(AUDIT, 8)]
    colors = MessageProperties.of({"color": ["red", "blue"]})
    expectations = Expectations({ORDERS: SentTo(colors)}, {(ORDERS, SHOP): {red}, (ORDERS, AUDIT): {""}})
    sends = [send(seq, destination=ORDERS) for seq in range(4)]
    left = [leftover(seq, queue=name) for seq in (1, 3) for name in (SHOP, AUDIT)]
    receipts = [from_queue(name, seq, consumer) for seq in (0, 2) for name, consumer in ((SHOP, 7), (AUDIT, 8))]
    counts = counted(sends, receipts, held, left, expectations=expectations, routes=ROUTES)
    assert not_zero(counts[ORDERS, SHOP]) == {"sent": 4, "received": 2, "unselected": 2}
    assert not_zero(counts[ORDERS, AUDIT]) == {"sent": 4, "received": 2, "stranded": 2}


def test_receipts_that_no_route_explains_are_told() -> None:
    """Without routes, messages of a wildcard or a virtual topic are received but not owed."""
    shop = f"queue://{SHOP}"
    counts = counted([send(0, destination=ORDERS)], [from_queue(SHOP, 0, 7)], [of_queue(SHOP, 7)])
    assert counts[shop, SHOP]["unowed_yet_received"] == 1
    rows = [{"destination": to, "subscription": name, **of_each} for (to, name), of_each in counts.items()]
    (sentence,) = unexplained(rows)
    assert sentence.startswith(f"1 messages were received from {shop}, though none was sent there")
    explained = counted([send(0, destination=ORDERS)], [from_queue(SHOP, 0, 7)], [of_queue(SHOP, 7)], routes=ROUTES)
    assert not unexplained([{"destination": to, **of_each} for (to, _), of_each in explained.items()])
