"""Builds the summary's ``recovery`` section from user outages. Runs on the driver, on few rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import pyarrow as pa

from analysis.clients.balance import spread
from analysis.events.timeline import FaultSpan
from analysis.faults.disturbance import Backlog, TimeToNormal
from analysis.faults.survival import Survival
from records.figures.declaration import declared
from records.figures.faults import FaultRecovery, Outages, Recovery, StrandedAt, outage_ms
from records.units import NS_PER_MS, NS_PER_S

Row = Mapping[str, Any]


COUNTED = ("lost", "stranded", "duplicated", "redelivered", "reordered")


@dataclass(frozen=True)
class FaultMessageCounts:
    """Message counts from `analysis.faults.harm`, by fault number."""

    counts: Mapping[int, Mapping[str, int]]
    late: Mapping[int, int | None]
    stranded: Mapping[int, Sequence[Row]]
    survival: Mapping[int, Survival] = field(default_factory=dict)

    def figures(self, number: int) -> dict[str, float | None]:
        counts = {name: self.counts[number][name] for name in COUNTED}
        return {**counts, "late": self.late[number], **asdict(self.survival.get(number, Survival()))}

    def stranded_at(self, number: int) -> list[StrandedAt]:
        return [
            StrandedAt(broker=row["broker"], messages=row["messages"], oldest_s=_seconds(row["age_ns"]))
            for row in self.stranded.get(number, [])
        ]


@dataclass(frozen=True)
class AfterFault:
    """What happened after each fault, by fault number."""

    harm: FaultMessageCounts
    back: Mapping[int, TimeToNormal]
    backlog: Mapping[int, Backlog]

    def figures(self, number: int) -> dict[str, Any]:
        """Return the figures of `Outages` that do not describe clients."""
        back, backlog = self.back[number], self.backlog[number]
        return {
            **self.harm.figures(number),
            "throughput_back_s": back.throughput_s,
            "p99_back_s": back.p99_s,
            "backlog_highest": backlog.highest,
            "backlog_drained_s": backlog.drained_s,
            "drain_per_s": backlog.drain_per_s,
        }


def recovery(
    outages: pa.Table,
    faults: Sequence[FaultSpan],
    course: AfterFault,
    clients_at: Mapping[int, int],
    load_began_ns: int,
) -> Recovery:
    """Return the summary's section. ``outages``: the result table. ``clients_at``: connected users by fault start."""
    rows = outages.to_pylist()
    of_each = [
        _fault_recovery(fault, [row for row in rows if row["fault"] == fault.number], course, clients_at, load_began_ns)
        for fault in faults
    ]
    together = {
        name: figure.over_faults([of_one[name] for of_one in of_each])  # type: ignore[literal-required]
        for name, figure in declared(Outages).items()
        if figure.over_faults
    }
    return cast(Recovery, {**_client_figures(rows), **together, "faults": of_each})


def _fault_recovery(
    fault: FaultSpan, rows: Sequence[Row], course: AfterFault, clients_at: Mapping[int, int], load_began_ns: int
) -> FaultRecovery:
    of_fault = {
        **_client_figures(rows),
        **course.figures(fault.number),
        "fault": f"F{fault.number}",
        "kind": fault.kind,
        "target": fault.target,
        "began_s": (fault.began_ns - load_began_ns) / NS_PER_S,
        "effective_s": _since_s(fault.effective_ns, load_began_ns),
        "restored_s": _since_s(fault.restored_ns, load_began_ns),
        "start_s": _between_s(fault.ended_ns, fault.restored_ns),
        "clients": clients_at[fault.began_ns - load_began_ns],
        "stranded_at": course.harm.stranded_at(fault.number),
    }
    return cast(FaultRecovery, of_fault)


def _client_figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of `Outages` that describe clients."""
    return {
        "cut_off": len(rows),
        "never_back": sum(outage_ms(row) is None for row in rows),
        "nothing_due": sum(row["due"] == 0 for row in rows),
        "in_flight": sum(row["in_flight"] for row in rows),
        "outage_ms": spread([outage_ms(row) for row in rows]),
        "producers_outage_ms": spread([outage_ms(row) for row in rows if row["role"] == "producer"]),
        "consumers_outage_ms": spread([outage_ms(row) for row in rows if row["role"] == "consumer"]),
        "reconnect_ms": spread([_between_ms(row["lost_ns"], row["connected_ns"]) for row in rows]),
        "ready_ms": spread([_between_ms(row["lost_ns"], row["ready_ns"]) for row in rows]),
    }


def _between_ms(began_ns: int, ended_ns: int | None) -> float | None:
    return None if ended_ns is None else (ended_ns - began_ns) / NS_PER_MS


def _between_s(began_ns: int | None, ended_ns: int | None) -> float | None:
    return None if began_ns is None or ended_ns is None else (ended_ns - began_ns) / NS_PER_S


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S


def _since_s(at_ns: int | None, load_began_ns: int) -> float | None:
    return None if at_ns is None else (at_ns - load_began_ns) / NS_PER_S
