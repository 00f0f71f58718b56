"""Describes the outcomes of messages: sentences whose counts add up, and tables.

The tables show outcomes by subscription and by kind of message, queues with remaining messages, and single messages
as examples.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from records.figures.declaration import declared, headings, titles
from records.figures.messages import BESIDE, NOT_RECEIVED, Destinations, KindCounts, LeftBehind, Messages
from records.figures.summary import Summary
from reports.parts.numbers import counted, joined, seconds_text, significant
from reports.parts.values import Cell, Column, Columns, Table, columns_of, table_of

FAILED, REFUSED = "failed_not_received", "refused_yet_received"
COMES_WITH = {"unowed_yet_received": ("unexpected", "unselected_yet_received")}
"""Left out if another count covers the same messages and says more."""
MOST_BROKERS = 3


def outcome_sentence(summary: Summary) -> str:
    """Return ``Of 120 messages sent, 75 were received; 40 left on a queue and 5 lost. Also: 2 duplicated.``

    The received messages and the parts after them add up to the messages, or to receptions if messages have several
    subscriptions or none. Rejected messages come first, because they explain missing receptions.
    """
    messages, refused = summary["messages"], summary["refused"]
    parts = not_received_words(messages, refused, summary["left_behind"])
    others = [*_other_outcomes(messages, refused), *_copies(summary["left_behind"])]
    other_words = f" Also: {joined(others)}." if others else ""
    if not messages["expected"]:
        sent = counted(messages["sent"], "message was", "messages were")
        return f"{sent} sent, and no subscription was owed any.{other_words}"
    if parts:
        return f"{_received(messages)}; {joined(parts)}.{other_words}"
    if others:
        return f"{_all(messages)}.{other_words}"
    return f"{_all(messages)}, {_how_often(messages['repeated'])}."


def not_received_words(messages: Messages, refused: Mapping[str, int], left_behind: Sequence[LeftBehind]) -> list[str]:
    """Return a text for each part of the messages not received: ``40 left on a queue``, and where."""
    parts = _failed(messages, refused)
    for name, words in NOT_RECEIVED.items():
        count = messages[name]  # type: ignore[literal-required]
        if count and name != FAILED:
            parts.append(f"{count:,} {words}{places(left_behind, name, count)}")
    return parts


def owed_and_received(messages: Messages) -> int:
    """Return the number of expected receptions that took place."""
    return messages["received"] - messages["unowed_yet_received"]


def _other_outcomes(messages: Messages, refused: Mapping[str, int]) -> list[str]:
    texts = []
    for name, words in BESIDE.items():
        count = messages[name]  # type: ignore[literal-required]
        if count > sum(messages[count_name] for count_name in COMES_WITH.get(name, ())):  # type: ignore[literal-required]
            by = f" by {_brokers(refused)}" if name == REFUSED and count == sum(refused.values()) else ""
            texts.append(f"{count:,} {words}{by}")
    return texts


def _copies(left_behind: Sequence[LeftBehind]) -> list[str]:
    """Return ``1,200 left on a queue as well (all on orders at broker-2)``: messages that were received, too."""
    count = sum(row["messages"] for row in left_behind if row["outcome"] == "copy")
    return [f"{count:,} left on a queue as well{places(left_behind, 'copy', count)}"] if count else []


def _failed(messages: Messages, refused: Mapping[str, int]) -> list[str]:
    """Return ``1,040 refused by broker-2`` and ``3 never written to a broker``. ``refused``: messages by broker."""
    count, by_brokers = messages["failed_not_received"], sum(refused.values())
    if not count:
        return []
    if count != messages["failed"] or by_brokers > count:  # it is not known which of them were not received
        return [f"{count:,} {NOT_RECEIVED[FAILED]}"]
    parts = [f"{by_brokers:,} refused by {_brokers(refused)}"] if by_brokers else []
    return [*parts, f"{count - by_brokers:,} never written to a broker"] if count > by_brokers else parts


def _brokers(refused: Mapping[str, int]) -> str:
    if len(refused) > MOST_BROKERS:
        return f"{len(refused)} brokers"
    most_first = sorted(refused, key=lambda broker: (-refused[broker], broker))
    return joined([f"{broker} ({refused[broker]:,})" if len(refused) > 1 else broker for broker in most_first])


def _received(messages: Messages) -> str:
    """Return ``Of 1,000 messages sent, 990 were received``; receptions unless each message has one subscription."""
    sent, received = counted(messages["sent"], "message"), f"{owed_and_received(messages):,}"
    if messages["expected"] == messages["sent"]:
        return f"Of {sent} sent, {received} were received"
    return f"Of {messages['expected']:,} receptions of {sent} sent, {received} took place"


def _all(messages: Messages) -> str:
    sent = counted(messages["sent"], "message")
    if messages["expected"] == messages["sent"]:
        return f"All {sent} sent were received"
    return f"All {messages['expected']:,} receptions of {sent} sent took place"


def _how_often(repeated: int) -> str:
    if not repeated:
        return "each exactly once"
    return f"each at least once: {repeated:,} more deliveries were marked as redelivered"


MOST_ROWS = 50
OUTCOMES = {
    "stranded": "stranded",
    "unselected": "no selector matches",
    "dead_lettered": "dead letter",
    "expired": "expired",
    "left_unconfirmed": "unconfirmed, not received",
    "in_doubt": "in doubt, not received",
    "failed": "refused, yet on a queue",
    "unsent": "its send is not recorded",
    "copy": "copy of a message that was received, or found elsewhere too",
}


def places(left_behind: Sequence[LeftBehind], outcome: str, count: int) -> str:
    """Return `` (260 of them on ttl.third at broker-2)``, or both places if there are two; '' if none was found.

    ``count``: messages of this outcome, by (message, subscription). Some expired messages are known only from a
    broker's count, and were not found. If a message is on a queue once for several subscriptions, or twice for one, the
    text shows the number of found messages: `` (as 1 message on ttl.third at broker-2)``.
    """
    rows = sorted((row for row in left_behind if row["outcome"] == outcome), key=lambda row: -row["messages"])
    if not rows:
        return ""
    first_place, *further_places = (f"on {row['queue']} at {row['broker']}" for row in rows)
    most, in_all = rows[0]["messages"], sum(row["messages"] for row in rows)
    second_place = f" and {rows[1]['messages']:,} {further_places[0]}" if len(further_places) == 1 else ""
    if in_all > count or (in_all < count and outcome != "expired"):
        return f" (as {counted(most, 'message')} {first_place}{second_place})"
    return f" (all {first_place})" if most == count else f" ({most:,} of them {first_place}{second_place})"


def left_behind_table(left_behind: Sequence[LeftBehind]) -> Table:
    """Return a table with a row per queue, broker and outcome. ``left_behind``: rows, most messages first."""
    columns = columns_of(
        LeftBehind,
        *("queue", "broker", "messages"),
        ("Outcome", None, lambda row: OUTCOMES.get(row["outcome"], row["outcome"])),
    )
    excerpt = f", the first {MOST_ROWS} of {len(left_behind):,} rows" if len(left_behind) > MOST_ROWS else ""
    return table_of(
        f"Left behind after the drain{excerpt}", left_behind[:MOST_ROWS], columns, "Nothing was left on a queue."
    )


def destinations_sentence(destinations: Destinations) -> str:
    """Return a sentence on the time until messages flowed on all destinations; '' for a run with one destination."""
    if destinations["count"] < 2:
        return ""
    if destinations["all_flow_s"] is None:
        return f"Messages were received from {destinations['reached']:,} of {destinations['count']:,} destinations."
    after, slowest_ms = seconds_text(destinations["all_flow_s"]), significant(destinations["first_ms"]["max"])
    return (
        f"Messages flowed on all {destinations['count']:,} destinations {after} after the first was due; on the "
        f"slowest destination, the first message took {slowest_ms} ms."
    )


def destinations_table(destinations: Destinations) -> Table:
    """Return a table with one row."""
    columns = columns_of(Destinations, "count", "reached", "all_flow_s", "first_ms.p50", "first_ms.max")
    return table_of("Time until messages flow on every destination", (destinations,), columns)


MOST_REORDERED = 100
MOST_SUBSCRIPTIONS = 12
"""If there are more, the subscriptions with the most irregular messages are shown."""
ODD = ("lost", "stranded", "dead_lettered", "expired", "unaccounted", "duplicated", "corrupted", "unexpected")


def accounting_table(summary: Summary, table: pa.Table) -> Table:
    """Return a table with a row per count. It has columns for the meaning, the total, and each subscription.

    If there are many subscriptions, only the most irregular ones have a column.
    """
    every = table.to_pylist()
    subscriptions = every if len(every) <= MOST_SUBSCRIPTIONS else sorted(every, key=_irregularity)[:MOST_SUBSCRIPTIONS]
    titles = [_subscription(row["destination"], row["subscription"]) for row in subscriptions]
    columns = (Column("Count"), Column("Meaning"), Column("All", 0), *(Column(title, 0) for title in titles))
    everything: dict[str, Any] = dict(summary["messages"])
    rows = tuple(
        (_words(name), figure.means, everything[name], *(row.get(name) for row in subscriptions))
        for name, figure in declared(Messages).items()
    )
    excerpt = f" ({len(subscriptions)} of {len(every):,} subscriptions)" if len(subscriptions) < len(every) else ""
    return Table(f"Outcomes of messages{excerpt}", columns, rows)


def _irregularity(row: dict[str, Any]) -> int:
    """Return a sort key that is lower for a subscription with more irregular messages."""
    return -sum(row.get(name) or 0 for name in ODD)


def _subscription(destination: str, subscription: str) -> str:
    """Return the name; for a queue, whose subscription has the same name, only once."""
    return destination if destination == f"queue://{subscription}" else f"{destination}, {subscription}"


def reordered_table(table: pa.Table) -> Table:
    """Return a row per producer and subscription, largest first."""
    columns: Columns = (
        ("Destination", None, "destination"),
        ("Subscription", None, "subscription"),
        ("Producer", 0, "producer"),
        ("Reordered", 0, "reordered"),
        ("Furthest behind", 0, "furthest"),
    )
    rows = table.sort_by([("reordered", "descending"), ("producer", "ascending")]).slice(0, MOST_REORDERED).to_pylist()
    excerpt = f", the first {MOST_REORDERED:,} of {table.num_rows:,}" if table.num_rows > MOST_REORDERED else ""
    return table_of(
        f"Messages out of order by producer{excerpt}", rows, columns, "None was out of order.", sortable=True
    )


def anomalies_table(table: pa.Table) -> Table:
    """Return examples of single messages for each anomaly."""
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
    """Describe kinds of messages that did not reach all subscriptions, and the JMS guarantees; '' for one kind."""
    counts_by_kind = summary["kinds"]
    if len(counts_by_kind) < 2:
        return ""
    incomplete = [
        f"{_plural(name)} ({_undelivered(counts)})" for name, counts in counts_by_kind.items() if counts["undelivered"]
    ]
    number, owed = len(counts_by_kind), "every subscription that was owed them"
    text = f"All {number} kinds of messages reached {owed}"
    if incomplete:
        text = f"{len(incomplete)} of {number} kinds of messages did not reach {owed}: {joined(incomplete)}"
    return f"{text}. {_jms_guarantees_sentence(counts_by_kind)}"


def _undelivered(counts: KindCounts) -> str:
    """Return ``7 of 2,544: 4 pending on a broker and 3 lost``. The parts add up."""
    of_kind: dict[str, int] = {**counts}  # type: ignore[dict-item]
    parts = {words: of_kind[name] for name, words in OF_UNDELIVERED.items()}
    parts["expired or dead letters"] = counts["undelivered"] - sum(parts.values())
    words = joined([f"{count:,} {outcome}" for outcome, count in parts.items() if count])
    return f"{counts['undelivered']:,} of {counts['expected']:,}: {words}"


def _jms_guarantees_sentence(counts_by_kind: Mapping[str, KindCounts]) -> str:
    """Return a sentence on the JMS guarantees.

    Persistent messages arrive exactly once at each subscription that should receive them, others at most once.
    """
    broken, open_ones = [], []
    for name, counts in counts_by_kind.items():
        persistent = not name.endswith("non_persistent")
        missing = counts["undelivered"] - counts["unaccounted"] if persistent else 0
        counted_faults = [(missing, "not delivered"), (counts["duplicated"], "twice")]
        if breaches := [f"{count:,} {words}" for count, words in counted_faults if count]:
            broken.append(f"{_plural(name)} ({joined(breaches)})")
        elif persistent and counts["unaccounted"]:
            open_ones.append(_plural(name))
    unknown = f" It is not known whether they held for {joined(open_ones)}." if open_ones else ""
    if broken:
        return f"The JMS delivery guarantees were violated for {joined(broken)}.{unknown}"
    return f"The JMS delivery guarantees held{' for all other kinds' if open_ones else ''}.{unknown}"


def _plural(name: str) -> str:
    """Return ``durable_topic_non_persistent`` as ``non-persistent messages of durable subscriptions``."""
    subscribed = max((kind for kind in SUBSCRIBED if name.startswith(f"{kind}_")), key=len)
    return f"{name.removeprefix(f'{subscribed}_').replace('_', '-')} messages of {SUBSCRIBED[subscribed]}"


def kinds_table(summary: Summary) -> Table:
    """Return a table with a row per kind of message."""
    columns = (Column("Messages of a"), Column("Delivery mode"), *(Column(title, 0) for title in OF_KINDS.values()))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_kind(name), *(_of_kind(dict(counts), key) for key in OF_KINDS)) for name, counts in summary["kinds"].items()
    )
    title = "Messages by kind; a message of a topic counts once for each subscription"
    return Table(title, columns, rows, "No destination's messages were all persistent, or all not.")


def _of_kind(counts: dict[str, Any], key: str) -> int:
    """Return a count of a kind.

    ``otherwise`` is computed: messages that expired, became dead letters, matched no selector, or whose send failed or
    stayed in doubt.
    """
    if key != OTHERWISE:
        return int(counts[key])
    shown = sum(counts[name] for name in ("lost", "missing_unconfirmed", "pending", "unaccounted"))
    not_expected = sum(counts[name] for name in ("unselected", "failed_not_received", "in_doubt_not_received"))
    return int(counts["undelivered"] - shown + not_expected)


def _kind(name: str) -> tuple[str, str]:
    """Return the destination and the delivery mode of ``durable_topic_non_persistent`` in words."""
    kind = max((kind for kind in KINDS if name.startswith(f"{kind}_")), key=len)
    return KINDS[kind], name.removeprefix(f"{kind}_").replace("_", "-")
