"""Shows how the messages of a subscription were divided among its consumers, beside an even split."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from reports.values import Column, ConsumerBars, NamedColour, Table

MOST_SUBSCRIPTIONS, MOST_ROWS = 6, 300
PERCENT = 100
QUEUE = "queue://"


def bars(consumers: pa.Table, brokers: Sequence[NamedColour]) -> tuple[ConsumerBars, ...]:
    """Of the subscriptions with several consumers those with the most messages. ``brokers``: in the picture's order."""
    position = {broker.name: at for at, broker in enumerate(brokers)}
    found = [_bars(rows, position) for rows in _subscriptions(consumers) if len(rows) > 1]
    drawn = [each for each in found if any(each.messages)]
    return tuple(sorted(drawn, key=lambda each: -sum(each.messages))[:MOST_SUBSCRIPTIONS])


def _subscriptions(consumers: pa.Table) -> list[list[dict[str, Any]]]:
    def name(row: dict[str, Any]) -> tuple[str, str]:
        return row["destination"], row["subscription"]

    return [list(rows) for _, rows in groupby(sorted(consumers.to_pylist(), key=name), name)]


def _bars(rows: list[dict[str, Any]], position: dict[str, int]) -> ConsumerBars:
    rows = sorted(rows, key=lambda row: (position.get(row["broker"], len(position)), row["consumer"]))
    return ConsumerBars(
        rows[0]["subscription"],
        tuple(row["consumer"] for row in rows),
        tuple(position.get(row["broker"], len(position)) for row in rows),
        tuple(row["messages"] for row in rows),
        sum(row["messages"] for row in rows) / len(rows),
    )


def consumers_table(consumers: pa.Table) -> Table:
    """A row a consumer; of many only those with the most messages."""
    columns = (
        Column("Subscription"),
        Column("Consumer", 0),
        Column("Broker"),
        Column("Messages", 0),
        Column("Share (%)", 1),
        Column("Even share (%)", 1),
    )
    rows = [row for of_one in _subscriptions(consumers) for row in _rows(of_one)]
    more = f" (the first {MOST_ROWS:,} of {len(rows):,})" if len(rows) > MOST_ROWS else ""
    shown = sorted(sorted(rows, key=lambda row: -row[3])[:MOST_ROWS], key=lambda row: row[:2])
    return Table(f"Messages of each consumer{more}", columns, tuple(shown), "Nobody subscribed.")


def _rows(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Of one subscription. There are no shares of nothing."""
    total = sum(row["messages"] for row in rows)
    is_queue = rows[0]["destination"].startswith(QUEUE)
    name = rows[0]["destination"] if is_queue else f"{rows[0]['destination']}: {rows[0]['subscription']}"
    even_share = PERCENT / len(rows) if total else None
    return [
        (
            name,
            row["consumer"],
            row["broker"],
            row["messages"],
            PERCENT * row["messages"] / total if total else None,
            even_share,
        )
        for row in rows
    ]
