"""Says in a sentence what became of the messages."""

from typing import Any

from records.summary import Messages, Summary
from reports.numbers import counted, joined
from reports.views.leftbehind import places

MESSAGE_COUNTS = (
    ("lost", "lost"),
    ("unaccounted", "unaccounted for"),
    ("missed_away", "missed by subscribers that were away"),
    ("stranded", "left on a queue"),
    ("dead_lettered", "sent to a dead-letter queue"),
    ("expired", "expired"),
    ("unselected", "left on a queue as no selector matches"),
    ("missing_unconfirmed", "unconfirmed and missing"),
    ("duplicated", "duplicated"),
    ("reordered", "out of order"),
    ("corrupted", "corrupted"),
    ("unexpected", "received without a known send"),
    ("refused_yet_received", "received though refused"),
    ("expired_yet_received", "received after the time to live"),
    ("unselected_yet_received", "received against a selector"),
    ("withheld", "more never sent, as the brokers kept producers waiting"),
)
MOST_BROKERS = 3


def fate_sentence(summary: Summary) -> str:
    """What brokers refused comes first: it explains what was not received."""
    messages = summary["messages"]
    bad = _failed(messages["failed"], summary["refused"])
    counts: dict[str, Any] = dict(messages)
    left = summary["left_behind"]
    bad += [f"{counts[key]:,} {word}{places(left, key, counts[key])}" for key, word in MESSAGE_COUNTS if counts[key]]
    if bad:
        return f"{_received(messages)}; {joined(bad)}."
    if messages["received"] != messages["expected"]:
        return f"{_received(messages)}; none lost, none duplicated."
    return f"{_all(messages)}, {_how_often(messages['repeated'])}."


def _failed(failed: int, refused: dict[str, int]) -> list[str]:
    """``1,040 refused by broker-2``, ``3 never written to a broker``. ``refused``: messages by broker."""
    in_all = sum(refused.values())
    told = [f"{in_all:,} refused by {_brokers(refused)}"] if in_all else []
    return [*told, f"{failed - in_all:,} never written to a broker"] if failed > in_all else told


def _brokers(refused: dict[str, int]) -> str:
    if len(refused) > MOST_BROKERS:
        return f"{len(refused)} brokers"
    most_first = sorted(refused, key=lambda broker: (-refused[broker], broker))
    return joined([f"{each} ({refused[each]:,})" if len(refused) > 1 else each for each in most_first])


def _received(messages: Messages) -> str:
    """``Of 1,000 messages sent, 990 were received``; with other than one subscription a message, as receptions."""
    sent, received = counted(messages["sent"], "message"), f"{messages['received']:,}"
    if messages["expected"] == messages["sent"]:
        return f"Of {sent} sent, {received} were received"
    return f"Of {sent} sent, {received} receptions out of {messages['expected']:,}"


def _all(messages: Messages) -> str:
    sent = counted(messages["sent"], "message")
    if messages["expected"] == messages["sent"]:
        return f"All {sent} sent were received"
    return f"All {messages['expected']:,} receptions of {sent} sent took place"


def _how_often(repeated: int) -> str:
    if not repeated:
        return "each exactly once"
    return f"each at least once: {repeated:,} more deliveries were marked as redelivered"
