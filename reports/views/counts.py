"""What became of each message, along which path, and which checks held? Tables from tables."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from records.summary import Summary
from reports.values import ANY, Cell, Column, Table
from reports.views.histogram import Histogram, select

MEANINGS = {
    "sent": "distinct messages attempted, warm-up included",
    "acked": "confirmed by a broker",
    "failed": "refused by a broker, or never written: its client had no connection in time, or gave up",
    "in_doubt": "the connection went, or its client left, before the broker's answer",
    "unconfirmed": "sent without asking for a confirmation",
    "received": "seen at least once, counted once for each subscription",
    "lost": "confirmed and expected, never received, found nowhere",
    "stranded": "confirmed, not received, found on a queue after the drain",
    "dead_lettered": "confirmed, not received, found on a dead-letter queue",
    "duplicated": "deliveries beyond the first that the broker did not mark as redelivered",
    "duplicated_by_resend": "that part of them where the copies come from different attempts",
    "redelivered": "deliveries that the broker marked as such",
    "recovered": "in doubt, yet received",
    "reordered": "first deliveries after a later message of the same producer to the same consumer",
    "corrupted": "received with a body that is not as it was sent",
    "unexpected": "received, but no send is on record",
    "foreign": "received, but not of this run",
    "missing_unconfirmed": "unconfirmed, never received, found nowhere: nobody promised them",
}
OUTCOME_WORDS = {"pass": "✓ held", "fail": "✗ failed", "unknown": "? undecided"}


def accounting(summary: Summary, table: pa.Table) -> Table:
    """A row a count with its meaning, a column for all together and one for each subscription."""
    subscriptions = table.to_pylist()
    titles = [_subscription(row["destination"], row["subscription"]) for row in subscriptions]
    columns = (Column("Count"), Column("Meaning"), Column("All", 0), *(Column(title, 0) for title in titles))
    everything: dict[str, Any] = dict(summary["messages"])
    rows = tuple(
        (_words(name), meaning, everything[name], *(row.get(name) for row in subscriptions))
        for name, meaning in MEANINGS.items()
    )
    return Table("What became of each message", columns, rows)


def _subscription(destination: str, subscription: str) -> str:
    """A queue is its own subscription: its name once is enough."""
    return destination if destination.endswith(f"//{subscription}") else f"{destination}, {subscription}"


def oddities(table: pa.Table) -> Table:
    """Single messages that something happened to."""
    columns = (
        Column("Fate"),
        Column("Destination"),
        Column("Subscription"),
        Column("Producer", 0),
        Column("Seq", 0),
        Column("From broker"),
        Column("Second", 0),
        Column("Detail"),
    )
    rows = tuple(tuple(_fate(key, value) for key, value in row.items()) for row in table.to_pylist())
    return Table(
        "Examples, at most 100 of each fate",
        columns,
        rows,
        "No message was lost, duplicated or otherwise odd.",
        sortable=True,
    )


def _fate(key: str, value: Any) -> Cell:
    found: Cell = _words(value) if key == "fate" else value
    return found


def paths(table: pa.Table, latency: pa.Table) -> Table:
    """Messages by path, with the latency of the load phase."""
    columns = (
        Column("From"),
        Column("To"),
        Column("Hops", 0),
        Column("Messages", 0),
        Column("p50 (ms)", 2),
        Column("p99 (ms)", 2),
    )
    measured = select(latency, phase="load", measure="due_to_received")
    rows = tuple(
        _path(row, measured)
        for row in table.sort_by([("from_broker", "ascending"), ("to_broker", "ascending")]).to_pylist()
    )
    return Table(
        "Paths that messages took, latency due → received", columns, rows, "No message was delivered.", sortable=True
    )


def _path(row: dict[str, Any], measured: pa.Table) -> tuple[Cell, ...]:
    same_ends = select(measured, from_broker=row["from_broker"], to_broker=row["to_broker"])
    hops = row["hops"]
    rows = same_ends.filter(same_ends["hops"].is_null() if hops is None else _equal(same_ends["hops"], hops))
    histogram = Histogram.of(rows)
    percentiles = (histogram.percentile(0.5), histogram.percentile(0.99) if histogram.count >= 100 else None)
    return (row["from_broker"], row["to_broker"], hops, row["messages"], *percentiles)


def _equal(column: pa.ChunkedArray, value: int) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column, value), False)


def checks(summary: Summary) -> Table:
    columns = (Column("Check"), Column("Outcome"), Column("Figure"), Column("Value", ANY), Column("Rule"))
    rows = tuple(
        (c["name"], OUTCOME_WORDS.get(c["outcome"], c["outcome"]), c["metric"], c["value"], _rule(c["rule"]))
        for c in summary["checks"]
    )
    return Table("Checks", columns, rows, "This scenario has no checks.")


def _rule(rule: str) -> str:
    """``<= 20`` as ≤ 20, never broken in two."""
    return rule.replace("<=", "≤").replace(">=", "≥").replace(" ", "\u00a0")


def percentiles(summary: Summary) -> Table:
    """Every percentile of summary.json, a row a measure."""
    names = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")
    titles = ("Smallest", "p50", "p90", "p99", "p99.9", "p99.99", "Largest")
    columns = (
        Column("Measure"),
        Column("Samples", 0),
        Column("Negative", 0),
        *(Column(f"{t} (ms)", 2) for t in titles),
    )
    rows = tuple(
        (measure.replace("_to_", " → "), found["count"], found["negative"], *(dict(found)[name] for name in names))
        for measure, found in summary["latency_ms"].items()
    )
    return Table("Latency over the load phase", columns, rows, "No latency was measured.")  # type: ignore[arg-type]


def _words(name: str) -> str:
    return name.replace("_", " ")
