"""Generates a run folder of any size in which almost all messages are delivered normally.

``python -m benchmarks.generate_events PARENT --messages 1000000`` writes a run in which 12 producers and 8 consumers on
3 brokers, recorded by 2 processes, share one queue. Each consumer receives a producer's messages in order. Occasionally
a message stalls and delays all messages behind it. One message in a thousand is resent, and a few in 100,000 are
duplicated, redelivered, lost, stranded, dead-lettered, expired or foreign. The same seed generates the same events.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.arguments import Parser, folder, whole
from records.figures.checks import Check
from records.run import BrokerInfo, Phases, ProcessInfo, RunInfo
from records.store.reader import seal
from records.store.rundir import RunDirectory, new_run_id
from records.store.streams import SUFFIX, StreamFile, described
from records.tables.schemas import CLIENTS_PER_PROCESS, EVENT_TABLES, UNKNOWN
from records.units import NS_PER_MS, NS_PER_S

PRODUCERS, CONSUMERS, BROKERS, PROCESSES = 12, 8, ("broker-1", "broker-2", "broker-3"), ("worker-1", "worker-2")
QUEUE, SUBSCRIPTION = "queue://orders", "orders"
WARM_UP_S, LOAD_FROM_NS = 5, 1_000 * NS_PER_S
ROUND = PRODUCERS * CONSUMERS  # messages until each producer has had one for each consumer
ROUNDS_PER_BATCH = 1_500
RATES = {
    "resent": 1e-3,
    "duplicated": 5e-5,
    "redelivered": 5e-5,
    "lost": 1e-5,
    "stranded": 1e-5,
    "dead": 1e-5,
    "expired": 1e-5,
}
STALLED, STALL_MS, RESEND_NS, FOREIGN_PER_BATCH = 2e-5, 200, 500 * NS_PER_MS, 1

Ints = npt.NDArray[np.int64]
Columns = dict[str, Any]
Choose = Callable[[float], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Batch:
    """Messages of one part of the run, one row per message. A producer's messages are in order of due time."""

    producer: Ints
    consumer: Ints
    seq: Ints
    due_ns: Ints
    sent_ns: Ints
    settled_ns: Ints
    received_ns: Ints

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Batch":
        return Batch(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def write_run(parent: Path, messages: int, per_s: int = 20_000, seed: int = 1) -> Path:
    """Write a sealed run of at least ``messages`` messages, due at a steady rate, and return its folder."""
    rounds = -(-messages // ROUND)
    directory = RunDirectory.create(parent, new_run_id("generated", f"{messages} messages"))
    directory.write_run(run_info(directory.path.name, rounds * ROUND / per_s))
    writers = {table: Writer(directory, table) for table in EVENT_TABLES}
    for batch in batches(rounds, per_s, np.random.default_rng(seed)):
        write_batch(writers, batch, np.random.default_rng((seed, int(batch.seq[0]))))
    write_clients_and_samples(writers, rounds * ROUND // per_s)
    for writer in writers.values():
        writer.close()
    seal(directory)
    return directory.path


def run_info(run_id: str, length_s: float) -> RunInfo:
    begins_ns = LOAD_FROM_NS - WARM_UP_S * NS_PER_S
    ends_ns = begins_ns + int(length_s * NS_PER_S)
    load_from_ns = min(LOAD_FROM_NS, begins_ns + (ends_ns - begins_ns) // 2)  # in the middle of a short run
    processes = tuple(
        ProcessInfo(name, index, "generated", LOAD_FROM_NS, 1_767_225_600 * NS_PER_S)
        for index, name in enumerate(("master", *PROCESSES))
    )
    return RunInfo(
        run_id=run_id,
        scenario="steady",
        topology="mesh(brokers=3)",
        runtime="memory",
        protocol="stomp",
        state="ended",
        brokers=tuple(map(BrokerInfo, BROKERS)),
        checks=(Check("no acked send lost", "messages.lost", at_most=0),),
        phases=Phases(begins_ns, load_from_ns, ends_ns, ends_ns + 2 * NS_PER_S, ends_ns + 3 * NS_PER_S),
        processes=processes,
    )


def batches(rounds: int, per_s: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield the messages of the run in order of time. Each producer's schedule has a constant period and phase."""
    period_ns = PRODUCERS * NS_PER_S // per_s
    phase_ns = np.arange(PRODUCERS) * (period_ns // PRODUCERS) + LOAD_FROM_NS - WARM_UP_S * NS_PER_S
    for first_round in range(0, rounds, ROUNDS_PER_BATCH):
        shape = (min(ROUNDS_PER_BATCH, rounds - first_round), CONSUMERS, PRODUCERS)
        nth, slot, producer = np.indices(shape)
        seq = (first_round + nth) * CONSUMERS + slot
        due_ns = phase_ns[producer] + seq * period_ns
        sent_ns = due_ns + rng.exponential(0.2 * NS_PER_MS, shape).astype("int64")
        took_ms = rng.lognormal(0.7, 0.5, shape) + (rng.random(shape) < STALLED) * rng.exponential(STALL_MS, shape)
        arrived_ns = sent_ns + (took_ms * NS_PER_MS).astype("int64")
        settled_ns = sent_ns + (rng.lognormal(0.4, 0.4, shape) * NS_PER_MS).astype("int64")
        received_ns = np.maximum.accumulate(
            arrived_ns, axis=0
        )  # a queue keeps its order: a stalled message delays the rest
        columns = (producer, (slot + producer) % CONSUMERS, seq, due_ns, sent_ns, settled_ns, received_ns)
        yield Batch(*(column.ravel() for column in columns))


def write_batch(writers: dict[str, "Writer"], batch: Batch, rng: np.random.Generator) -> None:
    draw = rng.random(len(batch.seq))
    bounds = np.cumsum([0, *RATES.values()])
    kinds = zip(RATES, bounds[:-1], bounds[1:], strict=True)
    outcome = {name: (low <= draw) & (draw < high) for name, low, high in kinds}
    gone = outcome["lost"] | outcome["stranded"] | outcome["dead"] | outcome["expired"]
    resent = batch.where(outcome["resent"])
    once = batch.where(~outcome["resent"])
    writers["sends"].add("producer", sends(once))
    writers["sends"].add("producer", sends(resent, outcome="in_doubt"))
    writers["sends"].add("producer", sends(resent, attempt=2, later_ns=RESEND_NS))
    writers["receipts"].add("consumer", receipts(batch.where(~gone & ~outcome["resent"])))
    writers["receipts"].add("consumer", receipts(resent.where(draw[outcome["resent"]] < RATES["resent"] / 2)))
    writers["receipts"].add("consumer", receipts(resent, attempt=2, later_ns=RESEND_NS))
    writers["receipts"].add("consumer", receipts(batch.where(outcome["duplicated"]), later_ns=3 * NS_PER_MS))
    writers["receipts"].add(
        "consumer", receipts(batch.where(outcome["redelivered"]), later_ns=NS_PER_MS, redelivered=True)
    )
    foreign = {**receipts(batch.where(np.arange(len(draw)) < FOREIGN_PER_BATCH)), "integrity": "foreign"}
    writers["receipts"].add("consumer", {**foreign, "producer": UNKNOWN, "seq": UNKNOWN, "attempt": UNKNOWN})
    writers["leftovers"].add(None, leftovers(batch.where(outcome["stranded"]), dead_letter=False))
    writers["leftovers"].add(None, leftovers(batch.where(outcome["dead"]), dead_letter=True))
    writers["leftovers"].add(None, leftovers(batch.where(outcome["expired"]), dead_letter=True, expired=True))


def client(number: Ints) -> Ints:
    """Return the client numbers of all processes. Every second client belongs to the second process."""
    return (1 + number % len(PROCESSES)) * CLIENTS_PER_PROCESS + number


def broker(number: Ints) -> pa.Array:
    return pa.array(BROKERS).take(pa.array(number % len(BROKERS)))


def sends(batch: Batch, *, attempt: int = 1, later_ns: int = 0, outcome: str = "acked") -> Columns:
    return {
        "producer": client(batch.producer),
        "seq": batch.seq,
        "attempt": attempt,
        "destination": QUEUE,
        "broker": broker(batch.producer + attempt - 1),
        "due_ns": batch.due_ns,
        "ready_ns": batch.due_ns,
        "sent_ns": batch.sent_ns + later_ns,
        "settled_ns": batch.settled_ns + later_ns if outcome == "acked" else None,
        "outcome": outcome,
        "body_bytes": 1_024,
        "blocked": False,
    }


def receipts(batch: Batch, *, attempt: int = 1, later_ns: int = 0, redelivered: bool = False) -> Columns:
    crossed = (batch.producer + attempt - 1) % len(BROKERS) != batch.consumer % len(BROKERS)
    return {
        "consumer": client(batch.consumer),
        "subscription": SUBSCRIPTION,
        "producer": client(batch.producer),
        "seq": batch.seq,
        "attempt": attempt,
        "destination": QUEUE,
        "broker": broker(batch.consumer),
        "received_ns": batch.received_ns + later_ns,
        "redelivered": redelivered,
        "integrity": "intact",
        "hops": crossed.astype("int32"),
    }


def leftovers(batch: Batch, *, dead_letter: bool, expired: bool = False) -> Columns:
    queue = "ActiveMQ.DLQ" if dead_letter else SUBSCRIPTION
    message = {"producer": client(batch.producer), "seq": batch.seq, "attempt": 1}
    return {
        "broker": broker(batch.consumer),
        "queue": queue,
        "dead_letter": dead_letter,
        **message,
        "age_ns": None,
        "expired": expired,
    }


def write_clients_and_samples(writers: dict[str, "Writer"], length_s: int) -> None:
    began_ns, clients = LOAD_FROM_NS - WARM_UP_S * NS_PER_S, np.arange(PRODUCERS + CONSUMERS)
    group = pa.array(np.where(clients < PRODUCERS, "producers", "consumers"))
    event: Columns = {"protocol": "stomp", "event": "connected", "at_ns": began_ns - NS_PER_S, "reason": ""}
    event |= {"from_broker": None, "cause": None, "ended_ns": None}
    writers["connections"].add(
        "client", {"client": client(clients), "group": group, "broker": broker(clients), **event}
    )
    held: Columns = {"subscription": SUBSCRIPTION, "destination": QUEUE, "kind": "queue", "began_ns": began_ns}
    held["selector"] = ""
    consumers = np.arange(CONSUMERS)
    writers["subscriptions"].add("consumer", {"consumer": client(consumers), "broker": broker(consumers), **held})
    at_s = np.arange(length_s + WARM_UP_S)
    add = partial(_samples, writers["samples"], began_ns + at_s * NS_PER_S)
    for name in BROKERS:
        add(name, "process", "", "cpu_ns", at_s * 300 * NS_PER_MS)
        add(name, "process", "", "rss_bytes", at_s * 0 + 5 * 10**8)
        for metric in ("depth", "in_flight", "enqueue_count", "dequeue_count", "forward_count", "dispatch_count"):
            add(name, "queue", SUBSCRIPTION, metric, at_s * 10)
        for peer in BROKERS:
            for metric in ("enqueue_count", "dequeue_count", "received_count"):
                add(name, "bridge", f"mesh|{peer}", metric, at_s * 10)


def _samples(writer: "Writer", at_ns: Ints, broker: str, kind: str, subject: str, metric: str, value: Ints) -> None:
    writer.add(
        None, {"broker": broker, "at_ns": at_ns, "kind": kind, "object": subject, "metric": metric, "value": value}
    )


class Writer:
    """Writes the streams of one table, one per process, in the format of `records.store.writer`."""

    def __init__(self, directory: RunDirectory, table: str) -> None:
        self.schema = EVENT_TABLES[table]
        self.streams = [
            StreamFile(directory.streams(table) / f"{process}{SUFFIX}", schema)
            for process in PROCESSES
            for schema in [described(self.schema, table, process, directory.run_id)]
        ]

    def add(self, client: str | None, columns: Columns) -> None:
        """Append rows to the streams. A scalar is repeated for all rows.

        ``client``: column with the client numbers, which select each row's process; None for the first process.
        """
        rows = next(len(column) for column in columns.values() if isinstance(column, np.ndarray | pa.Array))
        table = pa.table([_column(columns[field.name], field.type, rows) for field in self.schema], schema=self.schema)
        process = columns[client] // CLIENTS_PER_PROCESS if client else np.ones(rows, "int64")
        for index, stream in enumerate(self.streams, start=1):
            for batch in table.filter(pa.array(process == index)).combine_chunks().to_batches():
                stream.append(batch)

    def close(self) -> None:
        for stream in self.streams:
            stream.close(complete=True)


def _column(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    if isinstance(value, np.ndarray | pa.Array):
        return pa.array(value).cast(kind)
    return pa.repeat(pa.scalar(value, kind), rows)


def add_rate(parser: Parser, default: int) -> None:
    text = f"messages per second, which determine the run's duration ({default})"
    parser.add_argument("--per-s", type=whole(PRODUCERS), default=default, metavar="N", help=text)


def main() -> None:
    parser = Parser("generate_events", __doc__)
    parser.add_argument("parent", type=folder, metavar="PARENT", help="folder in which to create the run's folder")
    parser.add_argument("--messages", type=whole(1), default=1_000_000, metavar="N", help="messages (1000000)")
    add_rate(parser, 20_000)
    parser.add_argument("--seed", type=whole(0), default=1, metavar="N", help="random seed (1)")
    options = parser.parse_args()
    print(write_run(options.parent, options.messages, options.per_s, options.seed))


if __name__ == "__main__":
    main()
