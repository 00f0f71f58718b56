"""Makes the summary's ``recovery`` of the outages of each user. Plain values and Arrow in and out; no Spark."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis.backlog import Backlog
from analysis.disturbance import Back, slowest
from analysis.fault_spans import FaultSpan
from records.summary import FaultRecovery, Outages, OutageSpread, Recovery

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
Row = Mapping[str, Any]


def recovery(
    outages: pa.Table,
    faults: Sequence[FaultSpan],
    harm: Mapping[str, int],
    back: Mapping[int, Back],
    backlog: Mapping[int, Backlog],
    stays: pa.Table,
    members: pa.Table,
    load_began_ns: int,
) -> Recovery:
    """``outages``, ``stays``: the result tables. ``members``: events. ``harm``: as `analysis.outages.harm` has it."""
    rows = outages.to_pylist()
    of_each = [
        _of_fault(
            fault,
            [row for row in rows if row["fault"] == fault.number],
            harm,
            back,
            backlog,
            stays,
            members,
            load_began_ns,
        )
        for fault in faults
    ]
    lost, duplicated = sum(one["lost"] for one in of_each), sum(one["duplicated"] for one in of_each)
    all_back = Back(
        slowest([one["throughput_back_s"] for one in of_each]), slowest([one["p99_back_s"] for one in of_each])
    )
    piled_up = Backlog(
        max((one["backlog_highest"] or 0 for one in of_each), default=None),
        slowest([one["backlog_drained_s"] for one in of_each]),
        min((one["drain_per_s"] for one in of_each if one["drain_per_s"] is not None), default=None),
    )
    return {**_of_rows(rows, lost, duplicated, all_back, piled_up), "faults": of_each}


def _of_fault(
    fault: FaultSpan,
    rows: Sequence[Row],
    harm: Mapping[str, int],
    back: Mapping[int, Back],
    backlog: Mapping[int, Backlog],
    stays: pa.Table,
    members: pa.Table,
    load_began_ns: int,
) -> FaultRecovery:
    number = fault.number
    return {
        **_of_rows(rows, harm[f"lost_{number}"], harm[f"duplicated_{number}"], back[number], backlog[number]),
        "fault": f"F{fault.number}",
        "kind": fault.kind,
        "target": fault.target,
        "began_s": (fault.began_ns - load_began_ns) / NS_PER_S,
        "effective_s": _since_s(fault.effective_ns, load_began_ns),
        "restored_s": _since_s(fault.restored_ns, load_began_ns),
        "clients": connected_users(stays, members, fault.began_ns - load_began_ns),
    }


def _of_rows(rows: Sequence[Row], lost: int, duplicated: int, back: Back, backlog: Backlog) -> Outages:
    return Outages(
        cut_off=len(rows),
        never_back=sum(outage_ms(row) == inf for row in rows),
        in_flight=sum(row["in_flight"] for row in rows),
        outage_ms=spread([outage_ms(row) for row in rows]),
        producers_outage_ms=spread([outage_ms(row) for row in rows if row["role"] == "producer"]),
        consumers_outage_ms=spread([outage_ms(row) for row in rows if row["role"] == "consumer"]),
        reconnect_ms=spread([_between_ms(row["lost_ns"], row["connected_ns"]) for row in rows]),
        ready_ms=spread([_between_ms(row["lost_ns"], row["ready_ns"]) for row in rows]),
        lost=lost,
        duplicated=duplicated,
        throughput_back_s=back.throughput_s,
        p99_back_s=back.p99_s,
        backlog_highest=backlog.highest,
        backlog_drained_s=backlog.drained_s,
        drain_per_s=backlog.drain_per_s,
    )


def outage_ms(row: Row) -> float:
    """How long one user was cut off; infinite if it never came back. Of one without messages: its connection."""
    back_ns = row["first_success_ns"] if row["role"] else row["connected_ns"]
    return _between_ms(row["began_ns"], back_ns)


def spread(values_ms: Sequence[float]) -> OutageSpread:
    """The lower of the two middle values, and the largest; None for never, and for no value at all."""
    if not values_ms:
        return OutageSpread(p50=None, max=None)
    ordered = sorted(values_ms)
    return OutageSpread(p50=_or_never(ordered[(len(ordered) - 1) // 2]), max=_or_never(ordered[-1]))


def connected_users(stays: pa.Table, members: pa.Table, at_ns: int) -> int:
    """The users of all connections that were open at that moment of the load."""
    users = Counter(members["connection"].to_pylist())
    is_open = pc.and_(pc.less_equal(stays["from_ns"], at_ns), pc.greater(stays["to_ns"], at_ns))
    return sum(users.get(client, 1) for client in stays.filter(is_open)["client"].to_pylist())


def _between_ms(began_ns: int, ended_ns: int | None) -> float:
    return inf if ended_ns is None else (ended_ns - began_ns) / NS_PER_MS


def _or_never(value_ms: float) -> float | None:
    return value_ms if isfinite(value_ms) else None


def _since_s(at_ns: int | None, load_began_ns: int) -> float | None:
    return None if at_ns is None else (at_ns - load_began_ns) / NS_PER_S
