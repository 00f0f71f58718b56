"""An analysed run as the analysis writes it, made up from a seed: a mesh, a tail, a frozen broker, odd messages."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.clients.division import divided
from analysis.load.client_steps import NO_STEPS
from analysis.load.limits import NOTHING
from records.buckets import bucket_of
from records.checks import Check
from records.digests import digests, list_analysed, read_files
from records.latency import differs
from records.results import RESULT_TABLES
from records.run import BrokerInfo, GroupInfo, LinkInfo, Phases, ProcessInfo, RunInfo, UserInfo
from records.rundir import RunDirectory
from records.schemas import EVENT_TABLES
from records.summary import SUMMARY_VERSION
from reports.run.headline import UNMEASURED
from tests.reports.run_stays import distribution_of, rebalance_of, stays

SECOND_NS = 1_000_000_000
LOAD_BEGAN_NS = 50 * SECOND_NS
WARM_UP_S, DRAIN_S = 10, 3
FORWARDED_MS = 0.7
BOTH_COUNTS = ("count", "count_less_own")
NOT_PLANTED = (
    *("withheld", "repeated", "foreign", "unaccounted", "missed_away", "missing_unconfirmed", "refused_yet_received"),
    *("expired", "unselected", "expired_yet_received", "unselected_yet_received"),
    *("left_unconfirmed", "failed_not_received", "in_doubt_not_received", "unowed_yet_received"),
)
GENERATOR_LATE = "the load generator itself was late"


@dataclass(frozen=True)
class Plan:
    """What to make up. ``fault_s``: (began, ended) of a freeze of the last broker."""

    brokers: int = 3
    load_s: int = 60
    per_s: int = 300
    fault_s: tuple[float, float] | None = (30.0, 33.0)
    lost: int = 0
    duplicated: int = 0
    hops_known: bool = True
    queue: str = "orders"
    verdict: str = "pass"
    links: tuple[tuple[int, int], ...] | None = None  # None: a mesh
    sampled: bool = True
    steal_ns: float = 3e6  # mean of each second
    drift_ms_per_s: float = 0.0
    stall_ms: int = 0  # the generator stands still so long, 2 s into the load
    seed: int = 7
    run: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [f"broker-{n}" for n in range(1, self.brokers + 1)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        every = [(i, j) for i in range(self.brokers) for j in range(i + 1, self.brokers)]
        return [(self.names[i], self.names[j]) for i, j in (every if self.links is None else self.links)]


@dataclass(frozen=True)
class Messages:
    """One element a message, times in nanoseconds from the start of the load."""

    sender: np.ndarray
    receiver: np.ndarray
    due: np.ndarray
    sent: np.ndarray
    settled: np.ndarray
    received: np.ndarray


def write_run_folder(parent: Path, plan: Plan = Plan()) -> Path:
    """A run folder below ``parent``, analysed; returns its path."""
    directory = RunDirectory.create(parent, "20261121-143231-steady-mesh-brokers-3-9f2c41")
    messages = made_up(plan)
    directory.write_run(run_info(plan))
    for name, rows in result_tables(plan, messages).items():
        write_table(directory.results(name), pa.table(rows, schema=RESULT_TABLES[name]))
    write_table(directory.events("faults"), faults(plan))
    directory.summary_path.write_text(json.dumps(summary(plan, messages)))
    list_analysed(directory, digests(directory.path, read_files(directory)))
    return directory.path


def destinations_of(messages: Messages) -> dict[str, Any]:
    """One queue."""
    if not len(messages.due):
        return {"count": 0, "reached": 0, "all_flow_s": None, "first_ms": {"p50": None, "max": None}}
    flows_ms = int(messages.received.min() - messages.due.min()) / 1e6
    return {"count": 1, "reached": 1, "all_flow_s": flows_ms / 1e3, "first_ms": {"p50": flows_ms, "max": flows_ms}}


def write_table(folder: Path, table: pa.Table) -> None:
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-0.parquet")


def made_up(plan: Plan) -> Messages:
    random = np.random.default_rng(plan.seed)
    count = (WARM_UP_S + plan.load_s) * plan.per_s
    due = (np.arange(count) * SECOND_NS // max(1, plan.per_s)) - WARM_UP_S * SECOND_NS
    sender, receiver = random.integers(0, plan.brokers, count), random.integers(0, plan.brokers, count)
    sent = due + (random.lognormal(-2.2, 0.8, count) * 1e6).astype(np.int64)
    stalled = (due >= 2 * SECOND_NS) & (due < 2 * SECOND_NS + plan.stall_ms * 1_000_000)
    sent = np.where(stalled, 2 * SECOND_NS + plan.stall_ms * 1_000_000, sent)
    took_ms = random.lognormal(0.1, 0.3, count) + np.where(
        random.random(count) < 0.006, random.exponential(25, count), 0
    )
    took_ms = took_ms + FORWARDED_MS * (sender != receiver)
    warm_up_ms = np.where(due < 0, 6 * np.exp(-(due / SECOND_NS + WARM_UP_S) / 2.5), 0)
    took_ms = took_ms + plan.drift_ms_per_s * np.maximum(due, 0) / SECOND_NS
    received = sent + ((took_ms + warm_up_ms) * 1e6).astype(np.int64)
    settled = sent + (random.lognormal(0, 0.25, count) * 1e6).astype(np.int64)
    if plan.fault_s:
        began, ended = (int(at * SECOND_NS) for at in plan.fault_s)
        frozen = (due >= began) & (due < ended) & ((sender == plan.brokers - 1) | (receiver == plan.brokers - 1))
        received = np.where(frozen, ended + (random.random(count) * 6e7).astype(np.int64), received)
        settled = np.where(frozen & (sender == plan.brokers - 1), received, settled)
    return Messages(sender, receiver, due, sent, settled, received)


def result_tables(plan: Plan, messages: Messages) -> dict[str, dict[str, list[Any]]]:
    return {
        "rates": rates(plan, messages),
        "latency": latency(plan, messages),
        "accounting": accounting(plan, messages),
        "anomalies": anomalies(plan),
        "connections": connections(plan),
        "paths": paths(plan, messages),
        "links": links(plan, messages),
        "link_backlog": link_backlog(plan),
        "reordered": as_columns("reordered", [(f"queue://{plan.queue}", plan.queue, 3, 2, 5)]),
        "resources": resources(plan),
        "outages": outages(plan),
        "stays": stays_of(plan).to_pydict(),
        "distribution": distribution_of(stays_of(plan), plan.brokers, plan.load_s),
        "consumers": divided(received(plan, messages))[0].to_pydict(),
    }


def received(plan: Plan, messages: Messages) -> pa.Table:
    """Two consumers at each broker: the first takes two of three messages there."""
    rows = [
        {
            "destination": f"queue://{plan.queue}",
            "subscription": plan.queue,
            "consumer": 10 * at + number,
            "broker": broker,
            "messages": round(int((messages.receiver == at).sum()) * part),
            "selector": "",
        }
        for at, broker in enumerate(plan.names)
        for number, part in ((4, 2 / 3), (5, 1 / 3))
    ]
    return pa.Table.from_pylist(rows)


def counted(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Rows grouped by all columns, with their count."""
    table = pa.table(columns)
    counts = table.group_by(table.schema.names).aggregate([([], "count_all")])
    return {name.replace("count_all", "count"): counts[name].to_pylist() for name in counts.schema.names}


def phase_of(plan: Plan, at_ns: np.ndarray) -> np.ndarray:
    names = np.where(at_ns < 0, "warm-up", "load")
    return np.where(at_ns >= plan.load_s * SECOND_NS, "drain", names)


def named(plan: Plan, brokers: np.ndarray) -> np.ndarray:
    return np.asarray(plan.names)[brokers]


def rates(plan: Plan, messages: Messages) -> dict[str, list[Any]]:
    parts = []
    for event, at_ns, broker in (
        ("due", messages.due, messages.sender),
        ("sent", messages.sent, messages.sender),
        ("acked", messages.settled, messages.sender),
        ("received", messages.received, messages.receiver),
    ):
        second = (at_ns // SECOND_NS).astype(np.int32)
        columns = {"second": second, "phase": phase_of(plan, at_ns), "broker": named(plan, broker)}
        part = counted(columns)
        parts.append(part | {"event": [event] * len(part["count"])})
    return {name: [value for part in parts for value in part[name]] for name in RESULT_TABLES["rates"].names}


def latency(plan: Plan, messages: Messages) -> dict[str, list[Any]]:
    began, ended = plan.fault_s or (0.0, 0.0)
    forwarded = (messages.sender != messages.receiver).astype(np.int32)
    parts = []
    for measure, took_ns, counts in (
        ("due_to_received", messages.received - messages.due, (1, 0)),
        ("due_to_received", less_own(messages), (0, 1)),
        ("sent_to_received", messages.received - messages.sent, (1, 1)),
        ("sent_to_settled", messages.settled - messages.sent, (1, 1)),
        ("ready_to_sent", messages.sent - messages.due, (1, 1)),
    ):
        path = measure.endswith("received")
        part: dict[str, list[Any]] = counted(
            {
                "from_broker": named(plan, messages.sender),
                "to_broker": named(plan, messages.receiver) if path else np.full(len(took_ns), ""),
                "hops": pa.array(forwarded if path and plan.hops_known else [None] * len(took_ns), pa.int32()),
                "phase": phase_of(plan, messages.due),
                "second": (messages.due // SECOND_NS).astype(np.int32),
                "in_fault": (messages.due >= began * SECOND_NS) & (messages.due < ended * SECOND_NS),
                "bucket": np.asarray([bucket_of(int(ns)) for ns in took_ns], dtype=np.int32),
            }
        )
        of_both = {name: [n * by for n in part["count"]] for name, by in zip(BOTH_COUNTS, counts, strict=True)}
        parts.append(part | {"measure": [measure] * len(part["count"])} | of_both)
    return {name: [value for part in parts for value in part[name]] for name in RESULT_TABLES["latency"].names}


def less_own(messages: Messages) -> np.ndarray:
    """From due to received less the generator's own delay, ns."""
    return messages.received - messages.due - np.maximum(0, messages.sent - messages.due)


def timing(plan: Plan, messages: Messages, load: np.ndarray) -> dict[str, Any]:
    """As the analysis judges it; only from due to received is ever doubtful here."""
    due = percentiles((messages.received - messages.due)[load])
    less_own_ms = percentiles(less_own(messages)[load])
    names = [name for name in due if name not in ("count", "negative")]
    late = [name for name in names if due[name] is not None and differs(due[name], less_own_ms[name])]
    return {
        "sound": [f"latency_ms.due_to_received.{name}" for name in names if name not in late],
        "doubtful": {f"latency_ms.due_to_received.{name}": GENERATOR_LATE for name in late},
        "less_own_time_ms": {name: less_own_ms[name] for name in names},
        "note": f"Do not rely on these latencies: due → received {', '.join(late)} ({GENERATOR_LATE})." if late else "",
    }


def counts(plan: Plan, messages: Messages) -> dict[str, int]:
    sent = len(messages.due)
    return {
        "sent": sent,
        "acked": sent,
        "failed": 0,
        "in_doubt": 0,
        "unconfirmed": 0,
        "received": sent - plan.lost,
        "lost": plan.lost,
        "stranded": 0,
        "dead_lettered": 0,
        "expired": 0,
        "unselected": 0,
        "duplicated": plan.duplicated,
        "duplicated_by_resend": plan.duplicated // 2,
        "recovered": 0,
        "reordered": 0,
        "corrupted": 0,
        "unexpected": 0,
    }


def accounting(plan: Plan, messages: Messages) -> dict[str, list[Any]]:
    ends = {"destination": [f"queue://{plan.queue}"], "subscription": [plan.queue]}
    return ends | {name: [count] for name, count in counts(plan, messages).items()}


def anomalies(plan: Plan) -> dict[str, list[Any]]:
    kinds = ["lost"] * min(plan.lost, 100) + ["duplicated"] * min(plan.duplicated, 100)
    details = {"lost": "acked by broker-1, never received", "duplicated": "received twice, 2.9 s apart"}
    return {
        "anomaly": kinds,
        "destination": [f"queue://{plan.queue}"] * len(kinds),
        "subscription": [plan.queue] * len(kinds),
        "producer": [at % 4 for at in range(len(kinds))],
        "seq": [2_400 + at for at in range(len(kinds))],
        "from_broker": [plan.names[at % plan.brokers] for at in range(len(kinds))],
        "second": [30 + at % 3 for at in range(len(kinds))],
        "detail": [details[kind] for kind in kinds],
    }


def connections(plan: Plan) -> dict[str, list[Any]]:
    rows = []
    for second in range(-WARM_UP_S, plan.load_s + DRAIN_S):
        moved = plan.fault_s is not None and plan.brokers > 1 and plan.fault_s[0] + 1 <= second
        for at, broker in enumerate(plan.names):
            for group, count in (("producers", 4), ("consumers", 2)):
                gone = moved and at == plan.brokers - 1 and group == "producers"
                gained = 4 if moved and at == 0 and group == "producers" else 0
                rows.append((second, broker, group, 0 if gone else count + gained))
    return as_columns("connections", rows)


def as_columns(table: str, rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    names = RESULT_TABLES[table].names
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def paths(plan: Plan, messages: Messages) -> dict[str, list[Any]]:
    forwarded = (messages.sender != messages.receiver).astype(np.int32)
    hops = pa.array(forwarded if plan.hops_known else [None] * len(forwarded), pa.int32())
    sides = {"from_broker": named(plan, messages.sender), "to_broker": named(plan, messages.receiver)}
    counts = counted(sides | {"hops": hops})
    return {"messages" if name == "count" else name: values for name, values in counts.items()}


def links(plan: Plan, messages: Messages) -> dict[str, list[Any]]:
    carried = {}
    for i, sender in enumerate(plan.names):
        for j, receiver in enumerate(plan.names):
            carried[sender, receiver] = int(((messages.sender == i) & (messages.receiver == j)).sum())
    ways = [direction for a, b in plan.pairs for direction in ((a, b), (b, a))]
    return as_columns("links", [(a, b, f"{min(a, b)}-to-{max(a, b)}", carried[a, b]) for a, b in ways])


def link_backlog(plan: Plan) -> dict[str, list[Any]]:
    """Five messages in each bridge at the end of each second; none of the first link."""
    rows = [
        (second, a, b, f"{a}-to-{b}", "bridge", 5 * bool(at))
        for at, (a, b) in enumerate(plan.pairs)
        for second in range(plan.load_s if plan.sampled else 0)
    ]
    return as_columns("link_backlog", rows)


def resources(plan: Plan) -> dict[str, list[Any]]:
    if not plan.sampled:
        return as_columns("resources", [])
    random = np.random.default_rng(plan.seed + 1)
    rows: list[tuple[Any, ...]] = []
    for second in range(-WARM_UP_S, plan.load_s + DRAIN_S):
        rows += [
            (second, "", "process", "locust", "cpu_ns", int(random.normal(2.4e8, 1e7))),
            (second, "", "machine", "", "steal_ns", int(random.exponential(plan.steal_ns))),
            (second, "", "machine", "", "cpu_busy_ns", int(random.normal(1.1e9, 5e7))),
        ]
        for at, broker in enumerate(plan.names):
            frozen = plan.fault_s and at == plan.brokers - 1 and plan.fault_s[0] <= second < plan.fault_s[1]
            depth = 100 * (second - plan.fault_s[0]) if frozen and plan.fault_s else random.integers(0, 4)
            heap = (90 + 12 * at + (second * 9 + at * 31) % 120) * 2**20
            rows += [
                (second, broker, "process", broker, "cpu_ns", 0 if frozen else int(random.normal(1.6e8, 2e7))),
                (second, broker, "queue", plan.queue, "depth", int(depth)),
                (second, broker, "broker", "", "heap_used_bytes", heap),
            ]
    return as_columns("resources", rows)


def faults(plan: Plan) -> pa.Table:
    rows: list[dict[str, Any]] = []
    if plan.fault_s:
        began, ended = (LOAD_BEGAN_NS + int(at * SECOND_NS) for at in plan.fault_s)
        target = plan.names[-1]
        row = {"kind": "pause", "target": target, "began_ns": began, "ended_ns": ended, "error": None}
        rows = [{**row, "requested_ns": began, "effective_ns": began, "restored_ns": None}]
    return pa.Table.from_pylist(rows, schema=EVENT_TABLES["faults"])


def outages(plan: Plan) -> dict[str, list[Any]]:
    """The four producers of the frozen broker lose it after a second; the last one never comes back."""
    rows: list[tuple[Any, ...]] = []
    if plan.fault_s:
        began = int(plan.fault_s[0] * SECOND_NS)
        lost = began + SECOND_NS
        for client in range(4):
            back = None if client == 3 else lost + (client + 1) * 100_000_000
            ready, success = (None, None) if back is None else (back + 4_000_000, back + 10_000_000)
            to = None if back is None else plan.names[0]
            ends = (began, began - 5_000_000, lost, back, ready, to, success, client + 1, 1, 20)
            rows.append((1, "pause", plan.names[-1], client, client, "producers", "producer", *ends))
    return as_columns("outages", rows)


def stays_of(plan: Plan) -> pa.Table:
    return stays(plan.names, plan.load_s, outages(plan))


def recovery(plan: Plan) -> dict[str, Any]:
    """As the analysis makes it of these outages."""
    never = {"p50": None, "max": None}
    some = {
        "cut_off": 4,
        "never_back": 1,
        "nothing_due": 0,
        "in_flight": 4,
        "outage_ms": {"p50": 1_210.0, "max": None},
        "producers_outage_ms": {"p50": 1_210.0, "max": None},
        "consumers_outage_ms": never,
        "reconnect_ms": {"p50": 200.0, "max": None},
        "ready_ms": {"p50": 204.0, "max": None},
        "lost": plan.lost,
        "stranded": 0,
        "duplicated": plan.duplicated,
        "redelivered": plan.duplicated,
        "reordered": 0,
        "late": 300,
        "throughput_back_s": 2.2,
        "p99_back_s": None,
        "backlog_highest": 1_240,
        "backlog_drained_s": 3.6,
        "drain_per_s": 900.0,
    }
    if plan.fault_s is None:
        none = {name: never if name.endswith("_ms") else None if name.endswith("_s") else 0 for name in some}
        return {**none, "faults": []}
    moments = {"began_s": plan.fault_s[0], "effective_s": plan.fault_s[0] + 0.01, "restored_s": plan.fault_s[1] + 0.2}
    fault = {
        "fault": "F1",
        "kind": "pause",
        "target": plan.names[-1],
        **moments,
        "clients": 6 * plan.brokers,
        "stranded_at": [],
    }
    return {**some, "faults": [{**some, **fault}]}


def percentiles(took_ns: np.ndarray) -> dict[str, Any]:
    levels = {"p50": 50, "p90": 90, "p99": 99, "p99_9": 99.9, "p99_99": 99.99}
    if not len(took_ns):
        return {"count": 0, "negative": 0, "min": None, **dict.fromkeys(levels), "max": None}
    values_ms = {
        name: float(np.percentile(took_ns, level, method="inverted_cdf")) / 1e6 for name, level in levels.items()
    }
    ends = {"min": float(took_ns.min()) / 1e6, "max": float(took_ns.max()) / 1e6}
    return {"count": len(took_ns), "negative": int((took_ns < 0).sum()), **values_ms, **ends}


def checks(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "name": "no acked send lost",
            "metric": "messages.lost",
            "value": float(plan.lost),
            "rule": "<= 0",
            "outcome": "fail" if plan.lost else "pass",
        },
        {
            "name": "duplicates at most 20",
            "metric": "messages.duplicated",
            "value": float(plan.duplicated),
            "rule": "<= 20",
            "outcome": "pass",
        },
    ]


def offered_rate(plan: Plan, per_s: float) -> dict[str, Any]:
    """Of a rate that was held."""
    figures = {"owed_per_s": per_s, "received_per_s": per_s, "backlog": 0, "limited_by": None, "why": "", "note": ""}
    return {"held": True, "from_s": 0.0, "until_s": float(plan.load_s), **figures}


def summary(plan: Plan, messages: Messages) -> dict[str, Any]:
    load = (messages.due >= 0) & (messages.due < plan.load_s * SECOND_NS)
    lag = percentiles((messages.sent - messages.due)[load])
    per_s = float(load.sum() / plan.load_s) if plan.load_s else None
    info = run_info(plan)
    further_counts = dict.fromkeys(NOT_PLANTED, 0) | {"expected": len(messages.due), "redelivered": plan.duplicated}
    failed = bool(plan.lost)
    return {
        "summary_version": SUMMARY_VERSION,
        "run_id": info.run_id,
        "scenario": info.scenario,
        "topology": info.topology,
        "runtime": info.runtime,
        "protocol": info.protocol,
        "verdict": plan.verdict,
        "reasons": [f"messages.lost is {plan.lost}, and no more than 0 are allowed."] if failed else [],
        "messages": counts(plan, messages) | further_counts,
        "throughput": {
            "due_per_s": per_s,
            "sent_per_s": per_s,
            "acked_per_s": per_s,
            "received_per_s": per_s,
            "held_per_s": None,
            "cpu_ms_per_message_brokers": 1.604 if plan.sampled else None,
            "cpu_ms_per_message_generator": 0.802 if plan.sampled else None,
            "core_wait_ms_per_message_brokers": 0.401 if plan.sampled else None,
            "core_wait_ms_per_message_generator": 0.2 if plan.sampled else None,
        },
        "offered_rate": offered_rate(plan, per_s),
        "latency_ms": {
            "due_to_received": percentiles((messages.received - messages.due)[load]),
            "sent_to_received": percentiles((messages.received - messages.sent)[load]),
            "sent_to_settled": percentiles((messages.settled - messages.sent)[load]),
        },
        "timing": timing(plan, messages, load),
        "warm_up": {"end": "fixed", "lasted_s": float(WARM_UP_S), "at_most_s": float(WARM_UP_S)},
        "lag_ms": {name: lag[name] for name in ("p50", "p99", "p99_9", "max")} | {"blocked_slots": 0},
        "blocked": {"periods": 0, "total_ms": 0.0, "longest_ms": 0.0, "brokers": []},
        "recovery": recovery(plan),
        "consumers": divided(received(plan, messages))[1],
        "destinations": destinations_of(messages),
        "rebalance": rebalance_of(stays_of(plan), info, faults(plan), plan.brokers, plan.load_s),
        "connection_counts": {"compared": 240, "differed": 0, "brokers": []},
        "connections": NO_STEPS,
        "regions": {"within": {**UNMEASURED}, "across": {**UNMEASURED}, "across_per_s": 0.0},
        "mirror": {"lag_messages": {"max": None}, "lag_s": {"max": None}, "at_kill": []},
        "kinds": {},
        "unplanned": [],
        "refused": {},
        "left_behind": [],
        "steps": [],
        "limit": NOTHING,
        "clocks": {"error_bound_ms": 0.0},
        "checks": checks(plan),
        "phases": {
            "up": 4.2,
            "warm_up": float(WARM_UP_S),
            "load": float(plan.load_s),
            "drain": 2.4,
            "browse": 0.31,
            "down": 1.8,
        },
        "leftovers": 0,
        "foreign_leftovers": 0,
        "wall": "2026-11-21T14:32:41+00:00",
    }


def run_info(plan: Plan) -> RunInfo:
    started, ended = LOAD_BEGAN_NS - WARM_UP_S * SECOND_NS, LOAD_BEGAN_NS + plan.load_s * SECOND_NS
    names = tuple(plan.names)
    uri = "failover:(" + ",".join(names) + ")?randomize=true"
    values: dict[str, Any] = {
        "run_id": "20261121-143231-steady-mesh-brokers-3-9f2c41",
        "scenario": "steady",
        "topology": f"mesh(brokers={plan.brokers})",
        "runtime": "processes",
        "protocol": "stomp",
        "state": "ended",
        "question": "Does a mesh carry a steady load of durable messages between any two brokers, and how fast?",
        "command": (
            "locust",
            "-f",
            "scenarios/steady.py",
            "--headless",
            "--topology",
            f"mesh(brokers={plan.brokers})",
            "-t",
            f"{plan.load_s}s",
        ),
        "seed": 7,
        "runtime_reason": "no Docker engine answered",
        "brokers": tuple(BrokerInfo(name) for name in names),
        "links": tuple(LinkInfo(f"{a}-to-{b}", opened_by=a, to=b, duplex=True) for a, b in plan.pairs),
        "groups": (GroupInfo("producers", names, uri), GroupInfo("consumers", names, uri)),
        "users": (
            UserInfo(
                "OrderProducer",
                "producer",
                "producers",
                f"queue://{plan.queue}",
                12,
                {"body_bytes": 1_024, "durable": True},
            ),
            UserInfo("OrderConsumer", "consumer", "consumers", f"queue://{plan.queue}", 6, {"prefetch": 100}),
        ),
        "checks": (Check("no acked send lost", "messages.lost", at_most=0),),
        "phases": Phases(started, LOAD_BEGAN_NS, ended, ended + 2 * SECOND_NS, ended + 3 * SECOND_NS),
        "durations_s": {"load": float(plan.load_s), "warm_up": float(WARM_UP_S)},
        "processes": (ProcessInfo("locust", 0, "bench-host", 1, 2),),
        "options": {"users": 18, "in_flight_cap": 1_000, "drain_timeout_s": 30.0, "image": None},
        "versions": {
            "ActiveMQ Classic": "5.18.3",
            "Java": "17.0.12 (Debian)",
            "Jolokia agent": "2.1.1",
            "Python": "3.11.7",
        },
        "machine": {"cores": 2, "memory_bytes": 8_338_427_904, "cpu": "AMD EPYC 7763", "system": "Linux 6.1"},
        "rendered": {f"{name}/activemq.xml": xml(name) for name in names},
    }
    return RunInfo(**(values | plan.run))


def xml(broker: str) -> str:
    lines = [f'    <property name="option-{n}" value="{n * 17}"/>' for n in range(60)]
    head = f'<beans xmlns="http://www.springframework.org/schema/beans">\n  <broker brokerName="{broker}">'
    return "\n".join((head, *lines, "  </broker>", "</beans>", ""))
