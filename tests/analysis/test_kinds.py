"""Checks that a run's messages are added up by kind: queue, topic or durable subscription, persistent or not."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from analysis.messages.accounting import COUNTS, UNDELIVERED, kinds
from records.figures.messages import KINDS
from records.figures.summary import FIGURES
from records.run import UserInfo

NAMES = {"queue": "queue://{}", "topic": "topic://{}", "durable_topic": "topic://durable.{}"}


def producer(destination: str, *, durable: bool, name: str = "Sender") -> UserInfo:
    return UserInfo(name, "producer", "producers", destination, 1, {"durable": durable})


def row(destination: str, subscription: str, **counts: int) -> dict[str, Any]:
    return {"destination": destination, "subscription": subscription, **dict.fromkeys(COUNTS, 0), **counts}


def held(destination: str, subscription: str, kind: str) -> dict[str, str]:
    return {"destination": destination, "subscription": subscription, "kind": kind}


def test_what_each_kind_of_messages_lost_is_added_up_over_its_subscriptions() -> None:
    accounting = pa.Table.from_pylist(
        [
            row("queue://safe", "safe", sent=10, acked=10, received=10, duplicated=2),
            row("topic://durable.safe", "Taker-1", sent=10, acked=10, received=6, lost=1, stranded=3),
            row("topic://durable.safe", "Taker-2", sent=10, acked=10, received=10),
            row("topic://quick", "quick#7", sent=10, unconfirmed=10, received=4, missing_unconfirmed=1, missed_away=5),
            row("topic://durable.quick", "Other-3", sent=10, unconfirmed=10, received=8, left_unconfirmed=2),
        ]
    )
    subscriptions = [
        held("queue://safe", "safe", "queue"),
        held("topic://durable.safe", "Taker-1", "durable_topic"),
        held("topic://durable.safe", "Taker-2", "durable_topic"),
        held("topic://quick", "quick#7", "topic"),
        held("topic://durable.quick", "Other-3", "durable_topic"),
    ]
    users = [
        producer("queue://safe", durable=True),
        producer("topic://durable.safe", durable=True),
        producer("topic://quick", durable=False),
        producer("topic://durable.quick", durable=False),
    ]
    counts_by_kind = kinds(accounting, subscriptions, users)
    positive_counts = {
        name: {key: count for key, count in counts.items() if count} for name, counts in counts_by_kind.items()
    }
    assert positive_counts == {
        "queue_persistent": {"subscriptions": 1, "expected": 10, "acked": 10, "received": 10, "duplicated": 2},
        "topic_non_persistent": {
            "subscriptions": 1,
            "expected": 10,
            "received": 4,
            "undelivered": 1,
            "missing_unconfirmed": 1,
            "missed_away": 5,
        },
        "durable_topic_persistent": {
            "subscriptions": 2,
            "expected": 20,
            "acked": 20,
            "received": 16,
            "undelivered": 4,
            "lost": 1,
            "pending": 3,
        },
        "durable_topic_non_persistent": {
            "subscriptions": 1,
            "expected": 10,
            "received": 8,
            "undelivered": 2,
            "pending": 2,
        },
    }
    assert list(counts_by_kind) == [name for name in KINDS if name in counts_by_kind], "in the table's order"


def test_unsubscribed_messages_and_mixed_destinations_have_no_kind() -> None:
    """Mixed destinations get persistent and non-persistent messages."""
    accounting = pa.Table.from_pylist([row("topic://a", "", sent=3), row("queue://b", "b", sent=3)])
    producers = [producer("queue://b", durable=True), producer("queue://b", durable=False, name="Other")]
    assert kinds(accounting, [], [producer("topic://a", durable=True), *producers]) == {}


def test_a_check_may_demand_something_of_each_kind() -> None:
    assert {f"kinds.{kind}.undelivered" for kind in KINDS} <= {*FIGURES}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*NAMES]), st.booleans(), st.dictionaries(st.sampled_from(COUNTS), st.integers(0, 99))
        ),
        max_size=12,
    )
)
def test_no_message_is_left_out_or_counted_twice(rows: list[tuple[str, bool, dict[str, int]]]) -> None:
    table, subscriptions, users = [], [], []
    for number, (kind, durable, counts) in enumerate(rows):
        destination = NAMES[kind].format(number)
        table.append(row(destination, f"s{number}", **counts))
        subscriptions.append(held(destination, f"s{number}", kind))
        users.append(producer(destination, durable=durable))
    schema = pa.schema(
        [("destination", pa.string()), ("subscription", pa.string()), *((n, pa.int64()) for n in COUNTS)]
    )
    counts_by_kind = kinds(pa.Table.from_pylist(table, schema), subscriptions, users)
    assert sum(counts["subscriptions"] for counts in counts_by_kind.values()) == len(rows)
    for key, columns in {"expected": ("sent",), "received": ("received",), "undelivered": UNDELIVERED}.items():
        total = sum(counts.get(column, 0) for *_, counts in rows for column in columns)
        assert sum(counts[key] for counts in counts_by_kind.values()) == total  # type: ignore[literal-required]
