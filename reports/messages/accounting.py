"""Tables of what became of each message: counts by subscription, examples, and messages out of order."""

from typing import Any

import pyarrow as pa

from records.figures import declared
from records.messages import Messages
from records.summary import Summary
from reports.parts.values import Column, Columns, Table, table_of

MOST_REORDERED = 100
MOST_SUBSCRIPTIONS = 12
"""Of more, those are shown of which most messages were not received as they should be."""
ODD = ("lost", "stranded", "dead_lettered", "expired", "unaccounted", "duplicated", "corrupted", "unexpected")


def accounting_table(summary: Summary, table: pa.Table) -> Table:
    """A row a count with its meaning, a column for all together and one for each subscription; of many, for some."""
    every = table.to_pylist()
    subscriptions = every if len(every) <= MOST_SUBSCRIPTIONS else sorted(every, key=_oddness)[:MOST_SUBSCRIPTIONS]
    titles = [_subscription(row["destination"], row["subscription"]) for row in subscriptions]
    columns = (Column("Count"), Column("Meaning"), Column("All", 0), *(Column(title, 0) for title in titles))
    everything: dict[str, Any] = dict(summary["messages"])
    rows = tuple(
        (_words(name), figure.means, everything[name], *(row.get(name) for row in subscriptions))
        for name, figure in declared(Messages).items()
    )
    more = f" ({len(subscriptions)} of {len(every):,} subscriptions)" if len(subscriptions) < len(every) else ""
    return Table(f"What became of each message{more}", columns, rows)


def _oddness(row: dict[str, Any]) -> int:
    """Less for a subscription of which more messages were not received as they should be."""
    return -sum(row.get(name) or 0 for name in ODD)


def _subscription(destination: str, subscription: str) -> str:
    """A queue is its own subscription: its name once is enough."""
    return destination if destination.endswith(f"//{subscription}") else f"{destination}, {subscription}"


def reordered_table(table: pa.Table) -> Table:
    """A row a producer and subscription, those with most first."""
    columns: Columns = (
        ("Destination", None, "destination"),
        ("Subscription", None, "subscription"),
        ("Producer", 0, "producer"),
        ("Reordered", 0, "reordered"),
        ("Furthest behind", 0, "furthest"),
    )
    rows = table.sort_by([("reordered", "descending"), ("producer", "ascending")]).slice(0, MOST_REORDERED).to_pylist()
    more = f", the first {MOST_REORDERED:,} of {table.num_rows:,}" if table.num_rows > MOST_REORDERED else ""
    return table_of(f"Messages out of order by producer{more}", rows, columns, "None was out of order.", sortable=True)


def anomalies_table(table: pa.Table) -> Table:
    """Single messages that something happened to."""
    columns: Columns = (
        ("Anomaly", None, lambda row: _words(row["anomaly"])),
        ("Destination", None, "destination"),
        ("Subscription", None, "subscription"),
        ("Producer", 0, "producer"),
        ("Seq", 0, "seq"),
        ("From broker", None, "from_broker"),
        ("Second", 0, "second"),
        ("Detail", None, "detail"),
    )
    empty = "No message was lost, duplicated or otherwise odd."
    return table_of("Examples, at most 100 of each anomaly", table.to_pylist(), columns, empty, sortable=True)


def _words(name: str) -> str:
    return name.replace("_", " ")
