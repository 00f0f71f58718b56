"""Computes moves, flaps, settling and distribution of stays in plain Python: the reference for the analysis."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from tests.analysis.rows import Row

S = 1_000_000_000
OWN_ENDS = ("closed", "load_end")


def pairs(stays: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return pairs of successive stays of a client, if the client did not end the first one itself."""
    ordered = sorted(stays, key=lambda row: (row["user"], row["from_ns"]))
    return [
        (stay, following)
        for stay, following in pairwise(ordered)
        if stay["user"] == following["user"] and stay["cause"] not in OWN_ENDS
    ]


def moves(stays: Sequence[Row]) -> list[tuple[int, int, int]]:
    """Return (time, client, time without a broker)."""
    return sorted(
        (following["from_ns"], stay["user"], following["from_ns"] - stay["to_ns"])
        for stay, following in pairs(stays)
        if stay["broker"] != following["broker"]
    )


def flaps(stays: Sequence[Row]) -> int:
    return sum(
        row["to_ns"] - row["from_ns"] < S and row["from_ns"] > 0 and row["cause"] not in OWN_ENDS for row in stays
    )


def settled_ns(stays: Sequence[Row], at_ns: int, until_ns: int, quiet_ns: int) -> int | None:
    """Try every possible time: the first, and each arrival."""
    between: list[tuple[int, float]] = [(stay["to_ns"], following["from_ns"]) for stay, following in pairs(stays)]
    for row in stays:
        later = [
            following
            for following in stays
            if following["user"] == row["user"] and following["from_ns"] > row["from_ns"]
        ]
        if not later and row["cause"] not in OWN_ENDS:
            between.append((row["to_ns"], inf))
    tried = sorted({at_ns, *(int(arrived_ns) for _, arrived_ns in between if at_ns < arrived_ns < until_ns)})
    for moment in tried:
        upset = any(arrived_ns > moment and left_ns < moment + quiet_ns for left_ns, arrived_ns in between)
        if not upset and moment + quiet_ns <= until_ns:
            return moment
    return None


def connected_at(stays: Sequence[Row], at_ns: int) -> Counter[str]:
    return Counter(row["broker"] for row in stays if row["from_ns"] <= at_ns < row["to_ns"])


def distribution(stays: Sequence[Row], clients: Mapping[str, int], load_ns: int) -> dict[tuple[int, str], Counter[str]]:
    """Return clients by broker ('' for none) for each (second, group). Brokers without clients are omitted."""
    counts_by_group = {}
    for group, total in clients.items():
        its = [row for row in stays if row["group"] == group]
        for at_s in range(-(-load_ns // S)):
            counts = connected_at(its, min((at_s + 1) * S, load_ns) - 1)
            counts_by_group[at_s, group] = +(counts + Counter({"": total - counts.total()}))
    return counts_by_group
