"""Run folders that the analysis makes of planted events: a mesh, a tail, a frozen broker, odd messages.

The events come from a seed. The analysis runs in this process without Spark, once for each `RunPlan`. A test that needs
special figures changes those keys of the summary.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.network.resources import COUNTERS
from analysis.run.store import write_results, write_summary
from analysis.run.topic import summary_of
from records.figures.checks import Check
from records.run import BrokerInfo, GroupInfo, LinkInfo, Phases, ProcessInfo, RunInfo, UserInfo, WarmUp
from records.store.digests import digests, list_analysed, read_files
from records.store.rundir import RunDirectory
from records.store.streams import SUFFIX, StreamFile, described
from records.tables.schemas import EVENT_TABLES
from tests.analysis.topics import results_of

RUN_ID = "20261121-143231-steady-mesh-brokers-3-9f2c41"
MS, S = 1_000_000, 1_000_000_000
LOAD_BEGAN_NS = 50 * S
LOAD_BEGAN_WALL_NS = 1_795_271_561 * S  # 2026-11-21T14:32:41+00:00
WARM_UP_S, DRAIN_S = 10, 3
FORWARDED_MS = 0.7
PRODUCERS, CONSUMERS = (0, 1, 2, 3), (4, 5)
"""The clients at each broker: client 14 is the first consumer at the second broker."""
NEVER_BACK = 3
"""The producer of the frozen broker that finds no other broker."""
LAST_SUCCESS_MS, NOTICED_MS = 50, 1_000
"""Before and after the broker is frozen: its producers' last success, and their loss of it."""
READY_MS, SENT_AGAIN_MS, SUCCESS_MS = 4, 5, 10
"""After a producer is connected again."""


@dataclass(frozen=True)
class RunPlan:
    """What to plant. ``fault_s``: (began, ended) of a freeze of the last broker. ``run``: fields of run.json."""

    brokers: int = 3
    load_s: int = 60
    per_s: int = 300
    fault_s: tuple[float, float] | None = (30.0, 33.0)
    lost: int = 0
    duplicated: int = 0
    hops_known: bool = True
    queue: str = "orders"
    links: tuple[tuple[int, int], ...] | None = None  # None: a mesh
    sampled: bool = True
    steal_ns: float = 3e6  # mean of each second
    drift_ms_per_s: float = 0.0
    stall_ms: int = 0  # the generator stands still so long, 2 s into the load
    seed: int = 7
    run: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def names(self) -> list[str]:
        return [f"broker-{n}" for n in range(1, self.brokers + 1)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        mesh = [(i, j) for i in range(self.brokers) for j in range(i + 1, self.brokers)]
        return [(self.names[i], self.names[j]) for i, j in (mesh if self.links is None else self.links)]

    def back_ns(self, producer: Any) -> Any:
        """Return when a producer of the frozen broker (or each of an array) reconnects, from the load's start."""
        assert self.fault_s
        return int(self.fault_s[0] * S) + NOTICED_MS * MS + (producer + 1) * 100 * MS


def write_run_folder(parent: Path, plan: RunPlan = RunPlan()) -> Path:
    """A run folder below ``parent``, analysed; returns its path."""
    return Path(shutil.copytree(Path(_analysed(plan).name) / RUN_ID, parent / RUN_ID))


def summary(plan: RunPlan = RunPlan()) -> dict[str, Any]:
    """Return the summary of the planned run, for the test to change."""
    whole: dict[str, Any] = json.loads((Path(_analysed(plan).name) / RUN_ID / "summary.json").read_text())
    return whole


@cache
def _analysed(plan: RunPlan) -> "TemporaryDirectory[str]":
    """The folder of the run's folder. It goes as this process ends."""
    folder = TemporaryDirectory()
    directory = RunDirectory.create(Path(folder.name), RUN_ID)
    directory.write_run(run_info(plan))
    for table, rows in events(plan).items():
        schema = described(EVENT_TABLES[table], table, "locust", RUN_ID)
        stream = StreamFile(directory.streams(table) / f"locust{SUFFIX}", schema)
        for batch in rows.cast(schema).combine_chunks().to_batches():
            stream.append(batch)
        stream.close(complete=True)
    results = results_of(directory)
    write_results(directory, results.tables)
    write_summary(directory, summary_of(results.summary))
    list_analysed(directory, digests(directory.path, read_files(directory)))
    return folder


def run_info(plan: RunPlan) -> RunInfo:
    started, ended = LOAD_BEGAN_NS - WARM_UP_S * S, LOAD_BEGAN_NS + plan.load_s * S
    names, queue = tuple(plan.names), f"queue://{plan.queue}"
    topology = f"mesh(brokers={plan.brokers})"
    uri = "failover:(" + ",".join(names) + ")?randomize=true"
    locust = ("locust", "-f", "scenarios/steady.py", "--headless", "--topology", topology, "-t", f"{plan.load_s}s")
    values: dict[str, Any] = {
        "run_id": RUN_ID,
        "scenario": "steady",
        "topology": topology,
        "runtime": "processes",
        "protocol": "stomp",
        "state": "ended",
        "question": "Does a mesh carry a steady load of durable messages between any two brokers, and how fast?",
        "command": locust,
        "seed": 7,
        "runtime_reason": "no Docker engine answered",
        "brokers": tuple(BrokerInfo(name) for name in names),
        "links": tuple(LinkInfo(f"{a}-to-{b}", opened_by=a, to=b, duplex=True) for a, b in plan.pairs),
        "groups": (GroupInfo("producers", names, uri), GroupInfo("consumers", names, uri)),
        "users": (
            UserInfo("OrderProducer", "producer", "producers", queue, 12, {"body_bytes": 1_024, "durable": True}),
            UserInfo("OrderConsumer", "consumer", "consumers", queue, 6, {"prefetch": 100}),
        ),
        "checks": (
            Check("no acked send lost", "messages.lost", at_most=0),
            Check("duplicates at most 20", "messages.duplicated", at_most=20),
        ),
        "phases": Phases(started, LOAD_BEGAN_NS, ended, ended + 2 * S, ended + DRAIN_S * S),
        "warm_up": WarmUp("fixed", lasted_s=WARM_UP_S, at_most_s=WARM_UP_S),
        "durations_s": {"up": 4.2, "load": float(plan.load_s), "warm_up": float(WARM_UP_S), "down": 1.8},
        "processes": (ProcessInfo("locust", 0, "bench-host", LOAD_BEGAN_NS, LOAD_BEGAN_WALL_NS),),
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


def events(plan: RunPlan) -> dict[str, pa.Table]:
    """The rows of the event tables that a run has."""
    queue = {"destination": f"queue://{plan.queue}"}
    subscription = queue | {"subscription": plan.queue, "kind": "queue", "selector": ""}
    roles = dict.fromkeys(PRODUCERS, "producer") | dict.fromkeys(CONSUMERS, "consumer")
    clients = [(10 * at + n, broker, role) for at, broker in enumerate(plan.names) for n, role in roles.items()]
    began_ns = LOAD_BEGAN_NS - WARM_UP_S * S
    rows = {
        "subscriptions": [
            {"consumer": client, "broker": broker, "began_ns": began_ns} | subscription
            for client, broker, role in clients
            if role == "consumer"
        ],
        "members": [
            {"user": client, "connection": client, "from_ns": began_ns}
            | {"group": f"{role}s", "role": role, "user_class": f"Order{role.title()}"}
            for client, _, role in clients
        ],
        "connections": list(connections(plan, clients)),
        "faults": list(faults(plan)),
        "samples": list(samples(plan)) if plan.sampled else [],
    }
    tables = {name: pa.Table.from_pylist(of_table, EVENT_TABLES[name]) for name, of_table in rows.items()}
    return tables | messages(plan)


@dataclass(frozen=True)
class PlannedMessages:
    """One element per message; times in nanoseconds from the start of the load.

    ``producer``: one of PRODUCERS at its ``home``. That, ``entered_at`` and ``left_at`` are the places of brokers.
    """

    producer: np.ndarray
    home: np.ndarray
    entered_at: np.ndarray
    left_at: np.ndarray
    due: np.ndarray
    ready: np.ndarray
    sent: np.ndarray
    settled: np.ndarray
    received: np.ndarray
    in_doubt: np.ndarray


def planted_messages(plan: RunPlan) -> PlannedMessages:
    random = np.random.default_rng(plan.seed)
    last = plan.brokers - 1
    count = (WARM_UP_S + plan.load_s) * plan.per_s
    due = (np.arange(count) * S // max(1, plan.per_s)) - WARM_UP_S * S
    sender, receiver = random.integers(0, plan.brokers, count), random.integers(0, plan.brokers, count)
    producer = random.choice(PRODUCERS, count)
    sent = due + (random.lognormal(-2.2, 0.8, count) * MS).astype(np.int64)
    stalled = (due >= 2 * S) & (due < 2 * S + plan.stall_ms * MS)
    sent = np.where(stalled, 2 * S + plan.stall_ms * MS, sent)
    settled = sent + (random.lognormal(0, 0.25, count) * MS).astype(np.int64)
    tail_ms = np.where(random.random(count) < 0.006, random.exponential(25, count), 0)
    warm_up_ms = np.where(due < 0, 6 * np.exp(-(due / S + WARM_UP_S) / 2.5), 0)
    drift_ms = plan.drift_ms_per_s * np.maximum(due, 0) / S
    took_ms = random.lognormal(0.1, 0.3, count) + tail_ms + FORWARDED_MS * (sender != receiver) + warm_up_ms + drift_ms
    ready, broker, in_doubt = due, sender, np.zeros(count, bool)
    if plan.fault_s:
        began, ended = (int(at_s * S) for at_s in plan.fault_s)
        cut = (sender == last) & (due >= began - LAST_SUCCESS_MS * MS)
        gone = cut & (producer == NEVER_BACK)
        in_doubt = gone & (due >= began) & (np.cumsum(gone & (due >= began)) == 1)  # the next one; the rest is others'
        producer, cut = np.where(gone & ~in_doubt, 0, producer), cut & ~in_doubt
        back = plan.back_ns(producer)
        waited = cut & (due < back + SUCCESS_MS * MS)
        ready = np.where(waited, np.maximum(due, back + SENT_AGAIN_MS * MS), due)
        sent = np.where(waited, ready, sent)
        settled = np.where(waited, np.maximum(sent + 2 * MS, back + SUCCESS_MS * MS), settled)
        broker = np.where(cut, 0, sender)
    received = sent + (took_ms * MS).astype(np.int64)
    if plan.fault_s:
        frozen = (receiver == last) & (due >= began) & (due < ended)
        thawed = ended + (random.random(count) * 60 * MS).astype(np.int64)
        received = np.where(frozen, np.maximum(received, thawed), received)
    return PlannedMessages(producer, sender, broker, receiver, due, ready, sent, settled, received, in_doubt)


def messages(plan: RunPlan) -> dict[str, pa.Table]:
    """Rows of sends and receipts. The first consumer of each broker takes two of three messages there."""
    planted = planted_messages(plan)
    count, names = len(planted.due), np.asarray(plan.names)
    place = np.zeros(count, int)
    for at in range(plan.brokers):
        place[planted.left_at == at] = np.arange((planted.left_at == at).sum())
    sends = {
        "producer": 10 * planted.home + planted.producer,
        "seq": np.arange(count),
        "attempt": np.ones(count),
        "destination": np.full(count, f"queue://{plan.queue}"),
        "broker": names[planted.entered_at],
        "due_ns": LOAD_BEGAN_NS + planted.due,
        "ready_ns": LOAD_BEGAN_NS + planted.ready,
        "sent_ns": LOAD_BEGAN_NS + planted.sent,
        "settled_ns": pa.array(LOAD_BEGAN_NS + planted.settled, mask=planted.in_doubt),
        "outcome": np.where(planted.in_doubt, "in_doubt", "acked"),
        "body_bytes": np.full(count, 1_024),
        "blocked": np.zeros(count, bool),
    }
    forwarded = (
        pa.array((planted.entered_at != planted.left_at).astype(np.int32))
        if plan.hops_known
        else pa.nulls(count, pa.int32())
    )
    receipts = {
        "consumer": 10 * planted.left_at + np.where(place % 3 > 0, *CONSUMERS),
        "subscription": np.full(count, plan.queue),
        "producer": sends["producer"],
        "seq": sends["seq"],
        "attempt": sends["attempt"],
        "destination": sends["destination"],
        "broker": names[planted.left_at],
        "received_ns": LOAD_BEGAN_NS + planted.received,
        "redelivered": np.zeros(count, bool),
        "integrity": np.full(count, "intact"),
        "hops": forwarded,
    }
    whole = pa.table(receipts, EVENT_TABLES["receipts"])
    odd = WARM_UP_S * plan.per_s  # the first of the load
    again = whole.slice(odd + plan.lost, plan.duplicated).to_pylist()
    later = [row | {"received_ns": row["received_ns"] + 2_900 * MS} for row in again]
    kept = [whole.slice(0, odd), whole.slice(odd + plan.lost), pa.Table.from_pylist(later, whole.schema)]
    return {"sends": pa.table(sends, EVENT_TABLES["sends"]), "receipts": pa.concat_tables(kept)}


def connections(plan: RunPlan, clients: list[tuple[int, str, str]]) -> Iterator[dict[str, Any]]:
    for client, broker, role in clients:
        for event, at_broker, at_ns, cause, from_broker in changes(plan, client, broker, role):
            row = {"client": client, "group": f"{role}s", "protocol": "stomp", "broker": at_broker, "event": event}
            yield row | {
                "at_ns": LOAD_BEGAN_NS + at_ns,
                "reason": "",
                "from_broker": from_broker,
                "cause": cause,
                "ended_ns": None,
            }


def changes(
    plan: RunPlan, client: int, broker: str, role: str
) -> Iterator[tuple[str, str, int, str | None, str | None]]:
    """Event, broker, time, cause and former broker of each change of a client's connection.

    All connect as the warm-up begins. The producers of the frozen broker lose it; one of them never comes back.
    """
    yield "connected", broker, -WARM_UP_S * S, None, None
    if plan.fault_s and role == "producer" and broker == plan.names[-1]:
        producer = client % 10
        lost_ns, back_ns = int(plan.fault_s[0] * S) + NOTICED_MS * MS, plan.back_ns(producer)
        yield "lost", broker, lost_ns, "lost", None
        if producer == NEVER_BACK:
            return
        for attempt in range(producer + 1):
            yield "attempt", plan.names[0], lost_ns + (attempt + 1) * MS, None, None
        for event, after_ms in (("connected", 0), ("moved", 0), ("ready", READY_MS)):
            yield event, plan.names[0], back_ns + after_ms * MS, "lost", broker
        broker = plan.names[0]
    yield "closed", broker, (plan.load_s + DRAIN_S) * S - 1, "closed", None


def faults(plan: RunPlan) -> Iterator[dict[str, Any]]:
    if plan.fault_s:
        began, ended = (LOAD_BEGAN_NS + int(at_s * S) for at_s in plan.fault_s)
        effects = {"requested_ns": began, "effective_ns": began + 10 * MS, "restored_ns": ended + 200 * MS}
        yield {"kind": "pause", "target": plan.names[-1], "began_ns": began, "ended_ns": ended, "error": None} | effects


def samples(plan: RunPlan) -> Iterator[dict[str, Any]]:
    """Return one value per second for each figure; counters are totals."""
    totals: Counter[tuple[str, ...]] = Counter()
    for at_s, broker, kind, name, metric, amount in figures(plan):
        total = totals[broker, kind, name, metric] if metric in COUNTERS else 0
        totals[broker, kind, name, metric] = total + int(amount)
        yield {
            "broker": broker,
            "at_ns": LOAD_BEGAN_NS + at_s * S + S // 2,
            "kind": kind,
            "object": name,
            "metric": metric,
            "value": total + int(amount),
        }


def figures(plan: RunPlan) -> Iterator[tuple[int, str, str, str, str, float]]:
    """Second, broker, kind, object, metric and value of brokers, links, generator and machine.

    Five messages wait in each bridge, none in the first.
    """
    random = np.random.default_rng(plan.seed + 1)
    last = plan.brokers - 1
    for at_s in range(-WARM_UP_S - 1, plan.load_s + DRAIN_S):
        frozen_s = at_s - plan.fault_s[0] if plan.fault_s and plan.fault_s[0] <= at_s < plan.fault_s[1] else None
        moved = plan.fault_s is not None and at_s >= plan.fault_s[0] + NOTICED_MS / 1_000
        yield at_s, "", "process", "locust", "cpu_ns", random.normal(2.4e8, 1e7)
        yield at_s, "", "process", "locust", "core_wait_ns", 6e7
        yield at_s, "", "machine", "", "steal_ns", random.exponential(plan.steal_ns)
        yield at_s, "", "machine", "", "cpu_busy_ns", random.normal(1.1e9, 5e7)
        for at, broker in enumerate(plan.names):
            is_frozen = at == last and frozen_s is not None
            clients = 6 + moved * (3 * (at == 0) - 4 * (at == last))
            yield at_s, broker, "process", broker, "cpu_ns", 0 if is_frozen else random.normal(1.6e8, 2e7)
            yield at_s, broker, "process", broker, "core_wait_ns", 0 if is_frozen else 4e7
            yield at_s, broker, "connector", "stomp", "connections", clients
            yield at_s, broker, "queue", plan.queue, "depth", 100 * frozen_s if is_frozen else random.integers(0, 4)
            yield at_s, broker, "broker", "", "heap_used_bytes", (90 + 12 * at + (at_s * 9 + at * 31) % 120) * 2**20
        for at, (opener, remote) in enumerate(plan.pairs):
            bridge = (opener, "bridge", f"{opener}-to-{remote}|{remote}")
            yield at_s, *bridge, "dequeue_count", plan.per_s // plan.brokers**2
            yield at_s, *bridge, "received_count", plan.per_s // plan.brokers**2
            yield at_s, *bridge, "unconfirmed", 5 * bool(at)
