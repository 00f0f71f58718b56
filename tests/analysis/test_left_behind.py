"""Checks how leftover messages are counted by queue, broker and outcome."""

from collections.abc import Sequence

import pytest

from analysis.messages import deliveries
from analysis.messages import outcomes as message_outcomes
from analysis.messages.deliveries import messages
from analysis.messages.left_behind import left_behind, sort_by_count
from records.tables.schemas import UNKNOWN
from tests.analysis.rows import TOPIC, Row, frame, leftover, member, receipt, send, subscription


def left_behind_rows(
    sends: Sequence[Row],
    leftovers: Sequence[Row],
    receipts: Sequence[Row] = (),
    subscriptions: Sequence[Row] = (),
) -> list[tuple[str, str, str, int]]:
    attempts, browsed = frame("sends", sends), frame("leftovers", leftovers)
    sent = messages(attempts)
    firsts = deliveries.first(deliveries.deliveries(frame("receipts", receipts), sent, attempts))
    away = message_outcomes.absences(frame("connections", ()), frame("members", ()))
    expected = message_outcomes.expected(sent, frame("subscriptions", subscriptions), away)
    members = frame("members", [member(row["consumer"], row["consumer"], role="consumer") for row in subscriptions])
    durable = message_outcomes.durable_queues(frame("subscriptions", subscriptions), members, queues={"orders"})
    places = message_outcomes.leftover_places(browsed, durable)
    outcomes = message_outcomes.message_outcomes(expected, firsts, places)
    return [tuple(row.values()) for row in sort_by_count(left_behind(browsed, outcomes, sent))]  # type: ignore[misc]


def test_messages_left_behind_count_by_queue_broker_and_outcome() -> None:
    sends = [
        *(send(seq) for seq in range(1, 8)),
        send(8, outcome="in_doubt"),
        send(9, outcome="in_doubt"),
        send(10, outcome="failed"),
        send(11, outcome="unconfirmed"),
    ]
    leftovers = [
        *(leftover(seq, broker="a") for seq in (1, 2, 3)),
        leftover(4, broker="b"),
        leftover(5, queue="DLQ", dead_letter=True),
        leftover(6, queue="ExpiryQueue", dead_letter=True, expired=True),
        *(leftover(seq, broker="b") for seq in (7, 8, 9, 10, 11)),
        leftover(UNKNOWN, producer=UNKNOWN),
    ]
    assert left_behind_rows(sends, leftovers, [receipt(7), receipt(9)]) == [
        ("orders", "a", "stranded", 3),
        ("orders", "b", "copy", 2),
        ("DLQ", "a", "dead_lettered", 1),
        ("ExpiryQueue", "a", "expired", 1),
        ("orders", "b", "failed", 1),
        ("orders", "b", "in_doubt", 1),
        ("orders", "b", "left_unconfirmed", 1),
        ("orders", "b", "stranded", 1),
    ]


def test_a_message_in_two_places_is_stranded_and_a_copy() -> None:
    """It is stranded where it can be read, and a copy in the other place."""
    twice = [leftover(1, queue="DLQ", dead_letter=True), leftover(1, broker="b")]
    assert left_behind_rows([send(1)], twice) == [("DLQ", "a", "copy", 1), ("orders", "b", "stranded", 1)]


def test_a_message_held_for_two_durable_subscriptions_is_left_behind_for_each() -> None:
    durable = [subscription(name, kind="durable_topic") for name in ("one", "two")]
    held = [leftover(1, queue="consumers-7.one"), leftover(1, queue="consumers-7.two")]
    assert left_behind_rows([send(1, destination=TOPIC)], held, subscriptions=durable) == [
        ("consumers-7.one", "a", "stranded", 1),
        ("consumers-7.two", "a", "stranded", 1),
    ]


def test_a_leftover_without_a_send_is_no_copy() -> None:
    assert left_behind_rows([send(1)], [leftover(1), leftover(9, broker="b")], [receipt(1)]) == [
        ("orders", "a", "copy", 1),
        ("orders", "b", "unsent", 1),
    ]


@pytest.mark.parametrize("queue", ["orders", "shop.orders", "a.b.orders", "DLQ.orders"])
def test_a_queue_named_like_a_durable_subscription_is_a_queue(queue: str) -> None:
    """Messages left there are stranded, not held for the subscription. They were once counted as lost."""
    durable = [subscription("orders", kind="durable_topic")]
    left = left_behind_rows(
        [send(1, destination=f"queue://{queue}")], [leftover(1, queue=queue)], subscriptions=durable
    )
    assert left == [(queue, "a", "stranded", 1)]


@pytest.mark.parametrize("name", ["consumers-7.Taker-7-prices.1", r"consumers-7.Taker-7-prices\.1"])
def test_a_durable_subscription_is_found_with_dots_in_its_name(name: str) -> None:
    """Artemis escapes dots for Core and OpenWire, but not for STOMP and AMQP."""
    durable = [subscription("Taker-7-prices.1", kind="durable_topic"), subscription("two", kind="durable_topic")]
    left = left_behind_rows([send(1, destination=TOPIC)], [leftover(1, queue=name)], subscriptions=durable)
    assert left == [(name, "a", "stranded", 1)]


def test_messages_missing_from_a_shared_queue_are_unaccounted() -> None:
    """Other clients consumed from it too. Messages of other queues are lost if missing, or stranded if found."""
    sends = [send(1), send(2, destination="queue://other"), send(3)]
    sent = messages(frame("sends", sends))
    none = frame("subscriptions", ())
    away = message_outcomes.absences(frame("connections", ()), frame("members", ()))
    firsts = deliveries.first(deliveries.deliveries(frame("receipts", ()), sent, frame("sends", sends)))
    expected = message_outcomes.expected(sent, none, away)
    places = message_outcomes.leftover_places(frame("leftovers", [leftover(3)]))
    outcomes = message_outcomes.message_outcomes(expected, firsts, places, message_outcomes.Search(shared=("orders",)))
    assert dict(outcomes.select("seq", "message_outcome").iter_rows()) == {1: "unaccounted", 2: "lost", 3: "stranded"}


def test_only_its_own_missing_messages_may_be_in_a_durable_subscription_that_was_not_read() -> None:
    """After a power failure, a subscription may hold one message that it does not give. The others are lost."""
    sends = [send(1), send(2, destination=TOPIC)]
    sent = messages(frame("sends", sends))
    held = frame("subscriptions", [subscription(name, kind="durable_topic") for name in ("unread", "read")])
    away = message_outcomes.absences(frame("connections", ()), frame("members", ()))
    firsts = deliveries.first(deliveries.deliveries(frame("receipts", ()), sent, frame("sends", sends)))
    expected = message_outcomes.expected(sent, held, away)
    places = message_outcomes.leftover_places(frame("leftovers", ()))
    search = message_outcomes.Search(unread=("unread",))
    outcomes = message_outcomes.message_outcomes(expected, firsts, places, search)
    assert sorted(outcomes.select("destination", "subscription", "message_outcome").iter_rows()) == [
        ("queue://orders", "orders", "lost"),
        (TOPIC, "read", "lost"),
        (TOPIC, "unread", "unaccounted"),
    ]
