"""Adds up the messages of a run by kind: of a queue, a topic or durable subscriptions, persistent or not.

Arrow and plain values in, the summary's part out; no Spark.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from records.messages import KINDS, KindCounts
from records.run import UserInfo

UNDELIVERED = ("lost", "missing_unconfirmed", "unaccounted", "stranded", "left_unconfirmed", "dead_lettered", "expired")
"""What becomes of a message that a subscription was owed and did not get, of which the send is not known to fail."""
MODES = {frozenset({True}): "persistent", frozenset({False}): "non_persistent"}


def kinds(
    accounting: pa.Table, subscriptions: Iterable[Mapping[str, Any]], users: Sequence[UserInfo]
) -> dict[str, KindCounts]:
    """By name: ``queue_persistent`` and so on. ``accounting``: with the columns beyond the result table.

    Messages that nobody was subscribed for have no kind. Nor have those of a destination that gets persistent messages
    and others.
    """
    held = {(row["destination"], row["subscription"]): row["kind"] for row in subscriptions}
    found: dict[str, Counter[str]] = {}
    for row in accounting.to_pylist():
        kind = "queue" if _is_queue(row) else held.get((row["destination"], row["subscription"]))
        mode = MODES.get(_durable(row["destination"], users))
        if kind and mode:
            found.setdefault(f"{kind}_{mode}", Counter()).update(_counts(row))
    return {name: _of(found[name]) for name in KINDS if name in found}


def _is_queue(row: Mapping[str, Any]) -> bool:
    return not str(row["destination"]).startswith("topic://")


def _durable(destination: str, users: Sequence[UserInfo]) -> frozenset[Any]:
    """Whether messages to it are durable, by the settings of its producers."""
    producers = (user for user in users if user.role == "producer" and destination in user.destinations)
    return frozenset(user.settings.get("durable") for user in producers)


def _counts(row: Mapping[str, Any]) -> dict[str, int]:
    same = {name: int(row[name]) for name in KindCounts.__annotations__ if name in row}
    return {
        **same,
        "subscriptions": 1,
        "expected": int(row["sent"]),
        "pending": int(row["stranded"]) + int(row["left_unconfirmed"]),
        "undelivered": sum(int(row[name]) for name in UNDELIVERED),
    }


def _of(counts: Counter[str]) -> KindCounts:
    return cast(KindCounts, {name: counts[name] for name in KindCounts.__annotations__})
