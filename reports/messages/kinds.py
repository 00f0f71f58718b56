"""What became of each kind of messages, and whether JMS's promises held: sentences and a table."""

from collections.abc import Mapping
from typing import Any

from records.figures import headings, titles
from records.messages import KindCounts
from records.summary import Summary
from reports.parts.numbers import joined
from reports.parts.values import Cell, Column, Table

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


def kinds_table(summary: Summary) -> Table:
    """A row a kind of messages: who lost what."""
    columns = (Column("Messages of a"), Column("Delivery mode"), *(Column(title, 0) for title in OF_KINDS.values()))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_kind(name), *(_of_kind(dict(counts), key) for key in OF_KINDS)) for name, counts in summary["kinds"].items()
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
