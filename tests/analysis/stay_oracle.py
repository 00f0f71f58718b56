"""Computes client stays in plain Python, event by event: the reference for Spark."""

from collections.abc import Iterator, Mapping, Sequence

from tests.analysis.rows import Row

EVENTS = ("connected", "lost", "closed")


def stays(
    connections: Sequence[Row], load_began_ns: int, load_ended_ns: int, users: Mapping[int, Sequence[int]] | None = None
) -> list[Row]:
    """Return sorted rows of STAYS. ``users``: users by shared connection."""
    rows_of_users: list[Row] = []
    for client in {row["client"] for row in connections}:
        its = [row for row in connections if row["client"] == client and row["event"] in EVENTS and row["broker"]]
        of_connection = list(_of_client(sorted(its, key=lambda row: row["at_ns"]), load_began_ns, load_ended_ns))
        rows_of_users += [row | {"user": user} for user in (users or {}).get(client, [client]) for row in of_connection]
    return sorted(rows_of_users, key=lambda row: (row["user"], row["from_ns"]))


def _of_client(rows: Sequence[Row], load_began_ns: int, load_ended_ns: int) -> Iterator[Row]:
    for at, row in enumerate(rows):
        if row["event"] != "connected":
            continue
        later = rows[at + 1 :]
        same = next((event for event in later if event["broker"] == row["broker"]), None)
        end = same if same and same["event"] != "connected" else None
        following = next((event["at_ns"] for event in later if event["event"] == "connected"), load_ended_ns)
        to_ns = min(end["at_ns"] if end else load_ended_ns, following)
        if row["at_ns"] >= load_ended_ns or to_ns <= load_began_ns:
            continue
        yield {
            "client": row["client"],
            "group": row["group"],
            "broker": row["broker"],
            "from_ns": max(row["at_ns"], load_began_ns) - load_began_ns,
            "to_ns": min(to_ns, load_ended_ns) - load_began_ns,
            "cause": "load_end" if to_ns >= load_ended_ns else end["cause"] if end else "unrecorded",
        }
