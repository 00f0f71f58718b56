"""Computes the outages of clients in plain Python, in the most obvious way: the reference for Spark."""

from collections.abc import Sequence
from typing import Any

from analysis.events.timeline import FaultSpan
from tests.analysis.rows import Row


def outages(
    connections: Sequence[Row],
    sends: Sequence[Row],
    receipts: Sequence[Row],
    members: Sequence[Row],
    faults: Sequence[FaultSpan],
) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the times and counts of OUTAGES by (fault number, user). Times are as recorded."""
    outage_by_fault_and_user = {}
    for fault in faults:
        for client in sorted({row["client"] for row in connections}):
            its = sorted((row for row in connections if row["client"] == client), key=lambda row: row["at_ns"])
            for user in [row["user"] for row in members if row["connection"] == client] or [client]:
                if outage := _outage(fault, its, _successes(user, sends, receipts)):
                    outage["in_flight"] = _in_flight(user, sends, its, outage["lost_ns"])
                    outage["due"] = _due(user, sends, receipts, outage["began_ns"], outage["first_success_ns"])
                    outage_by_fault_and_user[fault.number, user] = outage | {"client": client}
    return outage_by_fault_and_user


def _outage(fault: FaultSpan, its: Sequence[Row], successes: Sequence[int]) -> dict[str, Any] | None:
    lost = [
        row["at_ns"]
        for row in its
        if row["event"] == "lost" and row["broker"] == fault.target and fault.began_ns <= row["at_ns"] <= fault.until_ns
    ]
    if not lost:
        return None
    after = [row for row in its if row["at_ns"] >= lost[0]]
    connected = next((row for row in after if row["event"] == "connected"), None)
    connected_ns = connected["at_ns"] if connected else None
    ready = next((row["at_ns"] for row in after if row["event"] == "ready"), None)
    tried = [row for row in after if row["event"] == "attempt"]
    before = [at_ns for at_ns in successes if at_ns < lost[0]]
    later = [at_ns for at_ns in successes if connected_ns is not None and at_ns > connected_ns]
    return {
        "began_ns": max([fault.began_ns, *before[-1:]]),
        "last_success_ns": before[-1] if before else None,
        "lost_ns": lost[0],
        "connected_ns": connected_ns,
        "ready_ns": ready,
        "to_broker": connected["broker"] if connected else None,
        "first_success_ns": later[0] if later else None,
        "attempts": sum(connected_ns is None or row["at_ns"] <= connected_ns for row in tried),
    }


def _successes(client: int, sends: Sequence[Row], receipts: Sequence[Row]) -> list[int]:
    acked = [row["settled_ns"] for row in sends if row["producer"] == client and row["outcome"] == "acked"]
    written = [row["sent_ns"] for row in sends if row["producer"] == client and row["outcome"] == "unconfirmed"]
    return sorted([*acked, *written, *(row["received_ns"] for row in receipts if row["consumer"] == client)])


def _due(user: int, sends: Sequence[Row], receipts: Sequence[Row], began_ns: int, until_ns: int | None) -> int:
    """Return successes of a user that sends, or that came back."""
    due_ns: dict[tuple[int, int], int] = {}
    for row in sends:
        due_ns.setdefault((row["producer"], row["seq"]), row["due_ns"])
    first_consumer: dict[tuple[int, int], int] = {}
    for row in sorted(receipts, key=lambda row: (row["received_ns"], row["consumer"])):
        first_consumer.setdefault((row["producer"], row["seq"]), row["consumer"])
    own = [at_ns for (producer, _), at_ns in due_ns.items() if producer == user]
    got = [due_ns[message] for message, consumer in first_consumer.items() if consumer == user and message in due_ns]
    return sum(began_ns <= at_ns and (until_ns is None or at_ns < until_ns) for at_ns in [*own, *got])


def _in_flight(client: int, sends: Sequence[Row], its: Sequence[Row], lost_ns: int) -> int:
    since_ns = max((row["at_ns"] for row in its if row["event"] == "connected" and row["at_ns"] < lost_ns), default=0)
    return sum(
        since_ns <= row["sent_ns"] <= lost_ns and (row["settled_ns"] is None or row["settled_ns"] > lost_ns)
        for row in sends
        if row["producer"] == client and row["outcome"] != "unconfirmed"
    )
