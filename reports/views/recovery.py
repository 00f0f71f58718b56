"""Says what the faults did to the clients: a sentence each, a table of the faults, and the outage of each client."""

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from records.faults import FaultRecovery, Recovery, StrandedAt, back_ns
from records.units import MS_PER_S, NS_PER_MS, NS_PER_S
from reports.numbers import counted, seconds_text
from reports.values import Columns, OutageRow, Table, columns_of, table_of

DONE = {
    "kill": "was killed",
    "stop": "was stopped",
    "restart": "was restarted",
    "freeze": "was frozen",
    "join": "joined",
    "cut": "was cut",
    "blackhole": "swallowed everything",
    "disconnect": "ended its clients' connections",
    "full-store": "had a full store",
    "stop-link": "was stopped by management",
    "slow": "was made slow",
    "away": "were away",
    "command": "was taken down by a command",
}
LONGEST = "recovery.outage_ms.max"
AWAY = "away"  # of consumers: nobody cut them off
MOST_SENTENCES = 3
ROLES = {"producer": "producers", "consumer": "consumers", "": "without messages"}


def recovery_sentences(recovery: Recovery, doubtful: Collection[str] = (), held: bool | None = None) -> str:
    """What each fault did; '' without one. ``doubtful``: figures as a check names them.

    ``held``: whether the offered rate was; if not, what waited is not told, as no fault made it wait.
    """
    told = [
        fault_sentence(fault, outage_doubtful=LONGEST in doubtful, backlog_its_own=held is not False)
        for fault in recovery["faults"][:MOST_SENTENCES]
    ]
    further = len(recovery["faults"]) - len(told)
    return " ".join([*told, f"{counted(further, 'further fault')} followed."] if further else told)


def fault_sentence(fault: FaultRecovery, *, outage_doubtful: bool = False, backlog_its_own: bool = True) -> str:
    """``broker-2 was killed at 10 s: 34 of 100 clients were cut off, the slowest for 1.9 s; no acknowledged …``"""
    done = DONE.get(fault["kind"], f"had the fault {fault['kind']}")
    cut_off = "" if fault["kind"] == AWAY else f"{_cut_off(fault, doubtful=outage_doubtful)}; "
    waited = _waited(fault) if backlog_its_own else ""
    return f"{fault['target']} {done} {_when(fault)}: {cut_off}{_messages(fault)}{waited}."


def _when(fault: FaultRecovery) -> str:
    """When it began; also its end where clients are then cut off, or where it does nothing but last."""
    began, until_s = f"{fault['began_s']:.3g} s", fault["restored_s"]
    if until_s is None:
        return f"at {began}"
    if fault["kind"] == "join":
        return f"at {began} and left at {until_s:.3g} s"
    return f"from {began} to {until_s:.3g} s" if fault["kind"] in ("full-store", AWAY) else f"at {began}"


def _cut_off(fault: FaultRecovery, *, doubtful: bool) -> str:
    if not fault["cut_off"]:
        return "no client was cut off"
    whole = f"{fault['cut_off']:,} of {counted(fault['clients'], 'client')}"
    if fault["cut_off"] > fault["clients"]:  # some were connected only later
        whole = counted(fault["cut_off"], "client")
    told = f"{whole} {_were(fault['cut_off'])} cut off"
    if fault["never_back"]:
        return f"{told}, {fault['never_back']:,} of them for good"
    slowest_ms = fault["outage_ms"]["max"]
    if slowest_ms is None:
        return told
    return f"{told}, the slowest for {seconds_text(slowest_ms / MS_PER_S)}{' (doubtful)' if doubtful else ''}"


def _messages(fault: FaultRecovery) -> str:
    lost = fault["lost"]
    told = f"{counted(lost, 'acknowledged message')} {_were(lost)} lost" if lost else "no acknowledged message was lost"
    told += f", {fault['stranded']:,} {_were(fault['stranded'])} stranded" if fault["stranded"] else ""
    return f"{told}, {fault['duplicated']:,} came twice" if fault["duplicated"] else f"{told}, none came twice"


def _waited(fault: FaultRecovery) -> str:
    """Only of a backlog that the fault made, and that has drained."""
    highest, drained_s = fault["backlog_highest"], fault["backlog_drained_s"]
    if not highest or not drained_s:
        return ""
    rate = "" if fault["drain_per_s"] is None else f", {fault['drain_per_s']:,.0f} a second"
    return f"; up to {counted(highest, 'message')} waited, and had come {seconds_text(drained_s)} after it began{rate}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def recovery_table(recovery: Recovery) -> Table:
    """A row a fault. Seconds of the load; outages in ms, empty if a client never came back."""
    columns = columns_of(
        FaultRecovery,
        "fault",
        ("What", None, lambda fault: f"{fault['kind']} {fault['target']}"),
        *("began_s", "effective_s", "restored_s", "clients", "cut_off", "never_back", "nothing_due"),
        *("outage_ms.p50", "outage_ms.max", "reconnect_ms.max", "ready_ms.max", "in_flight", "lost", "stranded"),
        ("Stranded at", None, lambda fault: "; ".join(map(_stranded_at, fault["stranded_at"]))),
        *("duplicated", "redelivered", "reordered", "late", "throughput_back_s", "p99_back_s"),
        *("backlog_highest", "backlog_drained_s", "drain_per_s"),
    )
    return table_of("What each fault did", recovery["faults"], columns, "No fault had an effect.")


def _stranded_at(one: StrandedAt) -> str:
    """``broker-2: 12, the oldest for 31 s``"""
    told = f"{one['broker']}: {one['messages']:,}"
    return told if one["oldest_s"] is None else f"{told}, the oldest for {seconds_text(one['oldest_s'])}"


def outage_rows(outages: pa.Table) -> tuple[OutageRow, ...]:
    """The outages of each fault, producers and consumers apart, in their order."""
    found: dict[tuple[int, str, str], list[float | None]] = {}
    for row in sorted(outages.to_pylist(), key=lambda row: (row["fault"], row["role"] == "consumer", row["user"])):
        name = f"F{row['fault']} {row['kind']} {row['target']}"
        found.setdefault((row["fault"], name, row["role"]), []).append(outage_ms(row))
    return tuple(
        OutageRow(
            f"{name}: {ROLES[role]}",
            tuple(value for value in values if value is not None),
            sum(value is None for value in values),
            style=0 if role == "producer" else 1,
        )
        for (_, name, role), values in found.items()
    )


def outage_ms(row: Mapping[str, Any]) -> float | None:
    """None: the client never came back."""
    at_ns = back_ns(row)
    return None if at_ns is None else (at_ns - row["began_ns"]) / NS_PER_MS


def outages_table(outages: pa.Table) -> Table:
    """A row a client and fault."""
    columns: Columns = (
        ("Fault", None, lambda row: f"F{row['fault']}"),
        ("Client", 0, "user"),
        ("Group", None, "group"),
        ("Lost (s of load)", 3, lambda row: row["lost_ns"] / NS_PER_S),
        ("Outage (ms)", 0, outage_ms),
        ("Reconnected after (ms)", 0, lambda row: _after_loss_ms(row, "connected_ns")),
        ("Ready after (ms)", 0, lambda row: _after_loss_ms(row, "ready_ns")),
        ("Attempts", 0, "attempts"),
        ("To", None, lambda row: row["to_broker"] or "never"),
        ("In flight", 0, "in_flight"),
        ("Due meanwhile", 0, "due"),
    )
    rows = sorted(outages.to_pylist(), key=lambda row: (row["fault"], row["user"]))
    return table_of("Outage of each client", rows, columns, "No client was cut off.", sortable=True)


def _after_loss_ms(row: Mapping[str, Any], name: str) -> float | None:
    return None if row[name] is None else (row[name] - row["lost_ns"]) / NS_PER_MS
