"""Checks how messages were divided among consumers: planted histories give their shares, random ones match Python."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis.clients.division import divided, received, with_subscribers
from analysis.events.run import as_table, first_stays
from analysis.messages.deliveries import deliveries, messages
from records.figures.clients import Consumers
from records.tables.results import CONSUMERS
from tests.analysis.rows import QUEUE, TOPIC, Row, frame, receipt, send, subscription, table

COLUMNS = ("destination", "subscription", "consumer", "broker", "messages", "selector")
NOBODY = {"max_to_mean": None, "cv": None, "jain": None}


def divided_among(*rows: tuple[Any, ...], selectors: Sequence[str] = ()) -> tuple[list[dict[str, Any]], Consumers]:
    """Rows of (subscription, consumer, broker, messages) of a queue named like the subscription. ``selectors``: one per
    row's consumer; none by default."""
    row_and_selector = zip(rows, selectors or [""] * len(rows), strict=True)
    table = pa.Table.from_pylist(
        [dict(zip(COLUMNS, (f"queue://{row[0]}", *row, selector), strict=True)) for row, selector in row_and_selector],
        pa.schema([*(CONSUMERS.field(name) for name in COLUMNS[:-1]), ("selector", pa.string())]),
    )
    consumers, summary = divided(table)
    assert consumers.schema == CONSUMERS
    return consumers.to_pylist(), summary


def test_each_message_counts_once_for_its_first_consumer_and_who_got_none_is_there() -> None:
    receipts = [
        receipt(1, consumer=7, broker="a"),
        receipt(2, consumer=7, broker="b"),  # the consumer has moved
        receipt(3, consumer=8, broker="a"),
        receipt(1, consumer=8, broker="a", at=2_100, redelivered=True),  # redelivered: consumer 7 was first
        receipt(4, consumer=8, integrity="unreadable"),
    ]
    subscriptions: list[Row] = [subscription("orders", kind="queue", consumer=number) for number in (7, 8, 9)]
    sends = frame("sends", [send(seq) for seq in (1, 2, 3, 4)])
    arrived = deliveries(frame("receipts", receipts), messages(sends), sends)
    shares = with_subscribers(received(arrived), frame("subscriptions", subscriptions), {})
    expected = [
        (QUEUE, "orders", 7, "a", 1),
        (QUEUE, "orders", 7, "b", 1),
        (QUEUE, "orders", 8, "a", 1),
        (QUEUE, "orders", 8, "b", 0),
        (QUEUE, "orders", 9, "b", 0),
    ]
    expected = [(*row, "") for row in expected]
    schema = "destination string, subscription string, consumer int, broker string, messages bigint, selector string"
    assert_frame_equal(shares, table(expected, schema), check_row_order=False, check_column_order=False)


def test_a_durable_subscriber_that_came_back_is_one_consumer() -> None:
    """It shares its messages with no consumer, although each stay has a consumer number."""
    subscriptions = [subscription("Orders-7", kind="durable_topic", consumer=number) for number in (7, 12)]
    counted = [(TOPIC, "Orders-7", consumer, "b", messages) for consumer, messages in ((7, 90), (12, 10))]
    schema = "destination string, subscription string, consumer int, broker string, messages bigint"
    held = frame("subscriptions", subscriptions)
    consumers, shares = divided(as_table(with_subscribers(table(counted, schema), held, first_stays(held))))
    assert [(row["consumer"], row["messages"]) for row in consumers.to_pylist()] == [(7, 100)]
    assert shares["subscriptions"] == []


def test_consumers_that_select_different_messages_have_no_even_share() -> None:
    rows, summary = divided_among(
        ("orders", 1, "a", 90), ("orders", 2, "a", 10), selectors=("color = 'red'", "color = 'blue'")
    )
    assert [row["messages"] for row in rows] == [90, 10]
    assert summary == {"share": NOBODY, "idle": 0, "subscriptions": []}


def test_half_the_messages_for_one_of_three_consumers_is_50_percent_more() -> None:
    """The share is compared with the mean."""
    rows, shares = divided_among(("q", 1, "here", 15), ("q", 2, "there", 8), ("q", 3, "there", 7))
    assert [(row["consumer"], row["broker"], row["messages"]) for row in rows] == [
        (1, "here", 15),
        (2, "there", 8),
        (3, "there", 7),
    ]
    (division,) = shares["subscriptions"]
    figures = {name: division[name] for name in ("consumers", "messages", "least", "most", "idle", "brokers")}
    assert figures == {
        "consumers": 3,
        "messages": 30,
        "least": 7,
        "most": 15,
        "idle": 0,
        "brokers": {"here": 15, "there": 15},
    }
    assert shares["share"]["max_to_mean"] == 1.5
    assert shares["share"]["jain"] == pytest.approx(30**2 / (3 * (15**2 + 8**2 + 7**2)))
    assert shares["idle"] == 0


def test_the_least_even_subscription_is_reported_if_it_has_several_consumers() -> None:
    _, shares = divided_among(
        ("even", 1, "a", 10), ("even", 2, "a", 10), ("one", 3, "a", 99), ("odd", 4, "a", 4), ("odd", 5, "a", 0)
    )
    assert [division["subscription"] for division in shares["subscriptions"]] == ["even", "odd"]
    assert shares["share"] == {"max_to_mean": 2.0, "cv": 1.0, "jain": 0.5}
    assert shares["idle"] == 1


def test_a_moved_consumer_belongs_to_the_broker_with_most_messages() -> None:
    """Its messages count at the brokers that delivered them."""
    rows, shares = divided_among(("q", 1, "a", 3), ("q", 1, "b", 5), ("q", 2, "a", 8))
    assert [(row["consumer"], row["broker"], row["messages"]) for row in rows] == [(1, "b", 8), (2, "a", 8)]
    assert shares["subscriptions"][0]["brokers"] == {"a": 11, "b": 5}


def test_a_queue_from_which_nothing_came_has_no_evenness_and_nobody_is_idle_at_it() -> None:
    rows, shares = divided_among(("q", 1, "a", 0), ("q", 2, "a", 0))
    assert [row["messages"] for row in rows] == [0, 0]
    assert (shares["share"], shares["idle"]) == (NOBODY, 0)


def test_without_consumers_there_is_nothing_to_divide() -> None:
    assert divided_among() == ([], {"share": NOBODY, "idle": 0, "subscriptions": []})


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("pq"), st.integers(1, 4), st.sampled_from("ab")), st.integers(0, 9), max_size=12
    )
)
def test_random_messages_are_divided_as_plain_python_does(counts: dict[tuple[str, int, str], int]) -> None:
    rows, shares = divided_among(*((*key, count) for key, count in counts.items()))
    by_consumer: dict[str, Counter[int]] = defaultdict(Counter)
    for (name, consumer, _), count in counts.items():
        by_consumer[name][consumer] += count
    assert {(row["subscription"], row["consumer"]): row["messages"] for row in rows} == {
        (name, consumer): count for name, consumers in by_consumer.items() for consumer, count in consumers.items()
    }
    least = [
        max(consumers.values()) * len(consumers) / consumers.total()
        for consumers in by_consumer.values()
        if len(consumers) > 1 and consumers.total()
    ]
    assert (shares["share"]["max_to_mean"] is None) == (not least)
    assert not least or min(least) - 1e-9 <= (shares["share"]["max_to_mean"] or 0) <= max(least) + 1e-9
