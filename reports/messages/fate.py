"""Says what became of the messages, by parts that add up, where some were left, and when all destinations had some."""

from collections.abc import Mapping, Sequence

from records.messages import BESIDE, NOT_RECEIVED, Destinations, LeftBehind, Messages
from records.summary import Summary
from reports.parts.numbers import counted, joined, seconds_text, significant
from reports.parts.values import Table, columns_of, table_of

FAILED, REFUSED = "failed_not_received", "refused_yet_received"
COMES_WITH = {"unowed_yet_received": ("unexpected", "unselected_yet_received")}
"""Not told beside a count that says the same of the same messages, and more."""
MOST_BROKERS = 3


def fate_sentence(summary: Summary) -> str:
    """``Of 120 messages sent, 75 were received; 40 left on a queue and 5 lost. Beside that: 2 duplicated.``

    What was received and the parts after it add up to the messages, or to their receptions where a message has other
    than one subscription. What brokers refused comes first: it explains what was not received.
    """
    messages, refused = summary["messages"], summary["refused"]
    parts, beside = not_received_words(messages, refused, summary["left_behind"]), _beside(messages, refused)
    more = f" Beside that: {joined(beside)}." if beside else ""
    if not messages["expected"]:
        sent = counted(messages["sent"], "message was", "messages were")
        return f"{sent} sent, and no subscription was owed any.{more}"
    if parts:
        return f"{_received(messages)}; {joined(parts)}.{more}"
    if beside:
        return f"{_all(messages)}.{more}"
    return f"{_all(messages)}, {_how_often(messages['repeated'])}."


def not_received_words(messages: Messages, refused: Mapping[str, int], left_behind: Sequence[LeftBehind]) -> list[str]:
    """A text for each part of what was expected and not received: ``40 left on a queue``, and where."""
    parts = _failed(messages, refused)
    for name, words in NOT_RECEIVED.items():
        count = messages[name]  # type: ignore[literal-required]
        if count and name != FAILED:
            parts.append(f"{count:,} {words}{places(left_behind, name, count)}")
    return parts


def owed_and_received(messages: Messages) -> int:
    """How many of the expected receptions took place."""
    return messages["received"] - messages["unowed_yet_received"]


def _beside(messages: Messages, refused: Mapping[str, int]) -> list[str]:
    texts = []
    for name, words in BESIDE.items():
        count = messages[name]  # type: ignore[literal-required]
        if count > sum(messages[other] for other in COMES_WITH.get(name, ())):  # type: ignore[literal-required]
            by = f" by {_brokers(refused)}" if name == REFUSED and count == sum(refused.values()) else ""
            texts.append(f"{count:,} {words}{by}")
    return texts


def _failed(messages: Messages, refused: Mapping[str, int]) -> list[str]:
    """``1,040 refused by broker-2``, ``3 never written to a broker``. ``refused``: messages by broker."""
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
    """``Of 1,000 messages sent, 990 were received``; with other than one subscription a message, as receptions."""
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
    "copy": "copy of a message that was received, or found elsewhere too",
}


def places(found: Sequence[LeftBehind], outcome: str, count: int) -> str:
    """`` (260 of them on ttl.third at broker-2)``, or both places if there are two; '' if none was found.

    ``count``: of this outcome, by (message, subscription). Some that expired are known by a broker's count only, and
    were not found. A message may be on a queue once for several subscriptions, or twice for one: then it is no part of
    the count: `` (as 1 message on ttl.third at broker-2)``.
    """
    rows = sorted((row for row in found if row["outcome"] == outcome), key=lambda row: -row["messages"])
    if not rows:
        return ""
    first, *others = (f"on {row['queue']} at {row['broker']}" for row in rows)
    most, in_all = rows[0]["messages"], sum(row["messages"] for row in rows)
    second = f" and {rows[1]['messages']:,} {others[0]}" if len(others) == 1 else ""
    if in_all > count or (in_all < count and outcome != "expired"):
        return f" (as {counted(most, 'message')} {first}{second})"
    return f" (all {first})" if most == count else f" ({most:,} of them {first}{second})"


def left_behind_table(found: Sequence[LeftBehind]) -> Table:
    """A row a queue, broker and outcome, with most messages first."""
    columns = columns_of(
        LeftBehind,
        *("queue", "broker", "messages"),
        ("Outcome", None, lambda row: OUTCOMES.get(row["outcome"], row["outcome"])),
    )
    more = f", the first {MOST_ROWS} of {len(found):,} rows" if len(found) > MOST_ROWS else ""
    return table_of(f"Left behind after the drain{more}", found[:MOST_ROWS], columns, "Nothing was left on a queue.")


def destinations_sentence(found: Destinations) -> str:
    """'' for a run with one destination."""
    if found["count"] < 2:
        return ""
    if found["all_flow_s"] is None:
        return f"Messages were received from {found['reached']:,} of {found['count']:,} destinations."
    flow = f"Messages flowed on all {found['count']:,} destinations {seconds_text(found['all_flow_s'])} after the first"
    return f"{flow} was due; the first of the slowest destination took {significant(found['first_ms']['max'])} ms."


def destinations_table(found: Destinations) -> Table:
    """One row."""
    columns = columns_of(Destinations, "count", "reached", "all_flow_s", "first_ms.p50", "first_ms.max")
    return table_of("Until messages flow on every destination", (found,), columns)
