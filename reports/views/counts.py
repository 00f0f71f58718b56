"""Makes the tables of messages by outcome, of paths and of checks."""

from collections.abc import Mapping
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from records.figures import declared, headings, titles
from records.messages import KindCounts, Messages
from records.summary import Summary
from reports.numbers import joined
from reports.values import ANY, Cell, Column, Columns, Table, table_of
from reports.views.histogram import Histogram, select

MOST_REORDERED = 100
MOST_SUBSCRIPTIONS = 12
"""Of more, those are shown of which most messages were not received as they should be."""
ODD = ("lost", "stranded", "dead_lettered", "expired", "unaccounted", "duplicated", "corrupted", "unexpected")
LEAST = {0.5: 20, 0.99: 1_000}
"""How many messages a percentile takes: ten lie beyond it."""
OUTCOME_WORDS = {"pass": "✓ held", "fail": "✗ failed", "unknown": "? undecided"}


def accounting(summary: Summary, table: pa.Table) -> Table:
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


KINDS = {
    "queue": "queue",
    "topic": "topic",
    "durable_topic": "topic, durable subscriptions",
}
OTHERWISE = "otherwise"
OF_KINDS = {
    **headings(KindCounts, "subscriptions", "expected", "acked", "received", "lost", "missing_unconfirmed", "pending"),
    **headings(KindCounts, "unaccounted", "missed_away"),
    OTHERWISE: "Not received otherwise",
    **headings(KindCounts, "unowed_yet_received", "duplicated"),
}
"""Sent is received less received beyond, and all that follows. A confirmed message is in one of these too."""


OF_UNDELIVERED = titles(KindCounts, "lost", "missing_unconfirmed", "pending", "unaccounted")
"""What becomes of a kind's undelivered messages; others expired, or are dead letters."""
SUBSCRIBED = {"queue": "queues", "topic": "topics", "durable_topic": "durable subscriptions"}


def kinds_sentences(summary: Summary) -> str:
    """Which kinds of messages did not reach who was owed them, and whether JMS's promises held; '' of one kind."""
    counts_by_kind = summary.get("kinds", {})
    if len(counts_by_kind) < 2:
        return ""
    incomplete = [
        f"{_plural(name)} ({_undelivered(counts)})" for name, counts in counts_by_kind.items() if counts["undelivered"]
    ]
    number, owed = len(counts_by_kind), "every subscription that was owed them"
    text = f"All {number} kinds of messages reached {owed}"
    if incomplete:
        text = f"{len(incomplete)} of {number} kinds of messages did not reach {owed}: {joined(incomplete)}"
    return f"{text}. {_promises(counts_by_kind)}"


def _undelivered(counts: KindCounts) -> str:
    """``7 of 2,544: 4 pending on a broker and 3 lost``; the parts add up."""
    of_kind: dict[str, int] = {**counts}  # type: ignore[dict-item]
    parts = {words: of_kind[name] for name, words in OF_UNDELIVERED.items()}
    parts["expired or dead letters"] = counts["undelivered"] - sum(parts.values())
    words = joined([f"{count:,} {outcome}" for outcome, count in parts.items() if count])
    return f"{counts['undelivered']:,} of {counts['expected']:,}: {words}"


def _promises(counts_by_kind: Mapping[str, KindCounts]) -> str:
    """Persistent messages come once and only once to who is owed them, others at most once."""
    broken, open_ones = [], []
    for name, counts in counts_by_kind.items():
        persistent = not name.endswith("non_persistent")
        missing = counts["undelivered"] - counts["unaccounted"] if persistent else 0
        counted_faults = [(missing, "not delivered"), (counts["duplicated"], "twice")]
        if breaches := [f"{count:,} {words}" for count, words in counted_faults if count]:
            broken.append(f"{_plural(name)} ({joined(breaches)})")
        elif persistent and counts["unaccounted"]:
            open_ones.append(_plural(name))
    unknown = f" Whether it held for {joined(open_ones)} is not known." if open_ones else ""
    if broken:
        return f"What JMS promises did not hold for {joined(broken)}.{unknown}"
    return f"What JMS promises held{' otherwise' if open_ones else ''}.{unknown}"


def _plural(name: str) -> str:
    """``durable_topic_non_persistent`` as ``non-persistent messages of durable subscriptions``."""
    subscribed = max((kind for kind in SUBSCRIBED if name.startswith(f"{kind}_")), key=len)
    return f"{name.removeprefix(f'{subscribed}_').replace('_', '-')} messages of {SUBSCRIBED[subscribed]}"


def kinds(summary: Summary) -> Table:
    """A row a kind of messages: who lost what."""
    columns = (Column("Messages of a"), Column("Delivery mode"), *(Column(title, 0) for title in OF_KINDS.values()))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_kind(name), *(_of_kind(dict(counts), key) for key in OF_KINDS))
        for name, counts in summary.get("kinds", {}).items()
    )
    title = "Messages by kind; those of a topic count once for each subscription"
    return Table(title, columns, rows, "No destination's messages were all persistent, or all not.")


def _of_kind(counts: dict[str, Any], key: str) -> int:
    """``otherwise``: expired, a dead letter, unselected, or of a send that failed or stayed in doubt."""
    if key != OTHERWISE:
        return int(counts[key])
    shown = sum(counts[name] for name in ("lost", "missing_unconfirmed", "pending", "unaccounted"))
    beside = sum(counts[name] for name in ("unselected", "failed_not_received", "in_doubt_not_received"))
    return int(counts["undelivered"] - shown + beside)


def _kind(name: str) -> tuple[str, str]:
    """``durable_topic_non_persistent`` in words."""
    of = max((kind for kind in KINDS if name.startswith(f"{kind}_")), key=len)
    return KINDS[of], name.removeprefix(f"{of}_").replace("_", "-")


def _subscription(destination: str, subscription: str) -> str:
    """A queue is its own subscription: its name once is enough."""
    return destination if destination.endswith(f"//{subscription}") else f"{destination}, {subscription}"


def reordered(table: pa.Table) -> Table:
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


def anomalies(table: pa.Table) -> Table:
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


def paths(table: pa.Table, latency: pa.Table) -> Table:
    """Messages by path, with the latency of the load phase."""
    measured = select(latency, phase="load", measure="due_to_received")
    columns: Columns = (
        ("From", None, "from_broker"),
        ("To", None, "to_broker"),
        ("Hops", 0, "hops"),
        ("Messages", 0, "messages"),
        ("p50 (ms)", 2, lambda row: _percentile(row, measured, 0.5)),
        ("p99 (ms)", 2, lambda row: _percentile(row, measured, 0.99)),
    )
    rows = table.sort_by([("from_broker", "ascending"), ("to_broker", "ascending")]).to_pylist()
    caption = "Paths that messages took, latency due → received"
    return table_of(caption, rows, columns, "No message was delivered.", sortable=True)


def _percentile(row: dict[str, Any], measured: pa.Table, share: float) -> float | None:
    same_ends = select(measured, from_broker=row["from_broker"], to_broker=row["to_broker"])
    hops = same_ends["hops"]
    histogram = Histogram.of(same_ends.filter(hops.is_null() if row["hops"] is None else _equal(hops, row["hops"])))
    return histogram.percentile(share) if histogram.count >= LEAST[share] else None


def _equal(column: pa.ChunkedArray, value: int) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column, value), False)


def checks(summary: Summary) -> Table:
    columns: Columns = (
        ("Check", None, "name"),
        ("Outcome", None, lambda check: OUTCOME_WORDS.get(check["outcome"], check["outcome"])),
        ("Figure", None, "metric"),
        ("Value", ANY, "value"),
        ("Rule", None, lambda check: _rule(check["rule"])),
    )
    return table_of("Checks", summary["checks"], columns, "This scenario has no checks.")


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
    doubtful, rows = summary["timing"]["doubtful"], list[tuple[Cell, ...]]()
    for measure, found in summary["latency_ms"].items():
        figures = dict(found)
        counts: tuple[Cell, ...] = (found["count"], found["negative"])
        rows.append((_measure(measure), *counts, *(cast(float | None, figures[name]) for name in names)))
        if any(name.startswith(f"latency_ms.{measure}.") for name in doubtful):
            marks = ("doubtful" if f"latency_ms.{measure}.{name}" in doubtful else "" for name in names)
            rows.append((f"{_measure(measure)}: which not to rely on", None, None, *marks))
        if measure == "due_to_received":
            less_own = (summary["timing"]["less_own_time_ms"].get(name) for name in names)
            rows.append((f"{_measure(measure)}, less the generator's own delay", *counts[:1], None, *less_own))
    return Table("Latency over the load phase", columns, tuple(rows), "No latency was measured.")


def _measure(name: str) -> str:
    return "round trip of requests" if name == "round_trip" else name.replace("_to_", " → ")


def _words(name: str) -> str:
    return name.replace("_", " ")
