"""Says in a sentence what became of the messages, by parts that add up; then what is counted beside them."""

from collections.abc import Mapping, Sequence

from records.messages import BESIDE, NOT_RECEIVED, LeftBehind, Messages
from records.summary import Summary
from reports.numbers import counted, joined
from reports.views.leftbehind import places

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
