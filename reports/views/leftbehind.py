"""Says where messages were left behind: the places with the most in words, and a table of all places."""

from collections.abc import Sequence

from records.messages import LeftBehind
from reports.numbers import counted
from reports.values import Table, columns_of, table_of

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
