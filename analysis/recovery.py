"""Makes the summary's ``recovery`` of the outages of each user. Plain values and Arrow in and out; no Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import pyarrow as pa

from analysis.backlog import Backlog
from analysis.distribution import connected_at
from analysis.disturbance import Back, slowest
from analysis.fault_spans import FaultSpan
from records.recovery import FaultRecovery, Outages, OutageSpread, Recovery, StrandedAt, back_ns

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
Row = Mapping[str, Any]


@dataclass(frozen=True)
class MessageHarm:
    """Counts of messages, of one fault or of all."""

    lost: int
    stranded: int
    duplicated: int
    redelivered: int
    reordered: int
    late: int | None


COUNTED = ("lost", "stranded", "duplicated", "redelivered", "reordered")


@dataclass(frozen=True)
class Harm:
    """What faults did to messages: as `analysis.harm` has it. ``late``, ``left``: by the fault's number."""

    counts: Mapping[str, int]
    late: Mapping[int, int | None]
    left: Mapping[int, Sequence[Row]]

    def of(self, number: int) -> "MessageHarm":
        return MessageHarm(**{name: self.counts[f"{name}_{number}"] for name in COUNTED}, late=self.late[number])

    def stranded_at(self, number: int) -> list[StrandedAt]:
        return [
            StrandedAt(broker=row["broker"], messages=row["messages"], oldest_s=_seconds(row["age_ns"]))
            for row in self.left.get(number, [])
        ]


def recovery(
    outages: pa.Table,
    faults: Sequence[FaultSpan],
    harm: Harm,
    back: Mapping[int, Back],
    backlog: Mapping[int, Backlog],
    stays: pa.Table,
    load_began_ns: int,
) -> Recovery:
    """``outages``, ``stays``: the result tables."""
    rows = outages.to_pylist()
    of_each = [
        _of_fault(
            fault,
            [row for row in rows if row["fault"] == fault.number],
            harm,
            back,
            backlog,
            stays,
            load_began_ns,
        )
        for fault in faults
    ]
    late = [one["late"] for one in of_each]
    known = [count for count in late if count is not None]
    together = MessageHarm(
        **{name: sum(one[name] for one in of_each) for name in COUNTED},  # type: ignore[literal-required]
        late=sum(known) if len(known) == len(late) else None,
    )
    all_back = Back(
        slowest([one["throughput_back_s"] for one in of_each]), slowest([one["p99_back_s"] for one in of_each])
    )
    piled_up = Backlog(
        max((one["backlog_highest"] or 0 for one in of_each), default=None),
        slowest([one["backlog_drained_s"] for one in of_each]),
        min((one["drain_per_s"] for one in of_each if one["drain_per_s"] is not None), default=None),
    )
    return {**_of_rows(rows, together, all_back, piled_up), "faults": of_each}


def _of_fault(
    fault: FaultSpan,
    rows: Sequence[Row],
    harm: Harm,
    back: Mapping[int, Back],
    backlog: Mapping[int, Backlog],
    stays: pa.Table,
    load_began_ns: int,
) -> FaultRecovery:
    number = fault.number
    return {
        **_of_rows(rows, harm.of(number), back[number], backlog[number]),
        "fault": f"F{fault.number}",
        "kind": fault.kind,
        "target": fault.target,
        "began_s": (fault.began_ns - load_began_ns) / NS_PER_S,
        "effective_s": _since_s(fault.effective_ns, load_began_ns),
        "restored_s": _since_s(fault.restored_ns, load_began_ns),
        "clients": connected_users(stays, fault.began_ns - load_began_ns),
        "stranded_at": harm.stranded_at(number),
    }


def _of_rows(rows: Sequence[Row], harm: MessageHarm, back: Back, backlog: Backlog) -> Outages:
    return Outages(
        cut_off=len(rows),
        never_back=sum(outage_ms(row) == inf for row in rows),
        nothing_due=sum(row["due"] == 0 for row in rows),
        in_flight=sum(row["in_flight"] for row in rows),
        outage_ms=spread([outage_ms(row) for row in rows]),
        producers_outage_ms=spread([outage_ms(row) for row in rows if row["role"] == "producer"]),
        consumers_outage_ms=spread([outage_ms(row) for row in rows if row["role"] == "consumer"]),
        reconnect_ms=spread([_between_ms(row["lost_ns"], row["connected_ns"]) for row in rows]),
        ready_ms=spread([_between_ms(row["lost_ns"], row["ready_ns"]) for row in rows]),
        lost=harm.lost,
        stranded=harm.stranded,
        duplicated=harm.duplicated,
        redelivered=harm.redelivered,
        reordered=harm.reordered,
        late=harm.late,
        throughput_back_s=back.throughput_s,
        p99_back_s=back.p99_s,
        backlog_highest=backlog.highest,
        backlog_drained_s=backlog.drained_s,
        drain_per_s=backlog.drain_per_s,
    )


def outage_ms(row: Row) -> float:
    """How long one user was cut off; infinite if it never came back."""
    return _between_ms(row["began_ns"], back_ns(row))


def spread(values_ms: Sequence[float]) -> OutageSpread:
    """The lower of the two middle values, and the largest; None for never, and for no value at all."""
    if not values_ms:
        return OutageSpread(p50=None, max=None)
    ordered = sorted(values_ms)
    return OutageSpread(p50=_or_never(ordered[(len(ordered) - 1) // 2]), max=_or_never(ordered[-1]))


def connected_users(stays: pa.Table, at_ns: int) -> int:
    """The users of all connections that were open at that moment of the load."""
    return sum(connected_at(stays, at_ns).values())


def _between_ms(began_ns: int, ended_ns: int | None) -> float:
    return inf if ended_ns is None else (ended_ns - began_ns) / NS_PER_MS


def _or_never(value_ms: float) -> float | None:
    return value_ms if isfinite(value_ms) else None


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S


def _since_s(at_ns: int | None, load_began_ns: int) -> float | None:
    return None if at_ns is None else (at_ns - load_began_ns) / NS_PER_S
