"""Checks that a report shows the losses of each kind of message, if the run had several kinds."""

from typing import Any, cast

from records.figures.messages import KINDS, KindCounts
from records.figures.summary import Summary
from reports.messages import kinds_table


def summary_of(**kinds: dict[str, int]) -> Summary:
    none = dict.fromkeys(KindCounts.__annotations__, 0)
    return cast(Summary, {"kinds": {name: {**none, **counts} for name, counts in kinds.items()}})


def test_each_kind_of_messages_has_a_row_in_words() -> None:
    table = kinds_table(summary_of(**{kind: {"expected": number} for number, kind in enumerate(KINDS)}))
    sent = [column.title for column in table.columns].index("Sent")
    assert [(row[0], row[1], row[sent]) for row in table.rows] == [
        ("queue", "persistent", 0),
        ("queue", "non-persistent", 1),
        ("topic", "persistent", 2),
        ("topic", "non-persistent", 3),
        ("topic, durable subscriptions", "persistent", 4),
        ("topic, durable subscriptions", "non-persistent", 5),
    ]


def test_a_row_says_what_was_lost_what_was_left_behind_and_what_nobody_owed() -> None:
    counts: dict[str, Any] = {"lost": 1, "missing_unconfirmed": 2, "pending": 3, "unaccounted": 4, "missed_away": 5}
    counts |= {"undelivered": 12, "unselected": 4, "failed_not_received": 5, "unowed_yet_received": 9}
    table = kinds_table(summary_of(topic_persistent=counts))
    shown = dict(zip((column.title for column in table.columns), table.rows[0], strict=True))
    assert {title: shown[title] for title in shown if shown[title] and isinstance(shown[title], int)} == {
        "Confirmed and lost": 1,
        "Unconfirmed and missing": 2,
        "Pending": 3,
        "Unaccounted for": 4,
        "Not owed": 5,
        "Not received otherwise": 2 + 4 + 5,
        "Received beyond": 9,
    }
