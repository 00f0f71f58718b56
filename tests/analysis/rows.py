"""Rows of the event tables for tests: each function fills in the values that do not matter to a test.

Times are whole milliseconds, so that a test can be read; the tables hold nanoseconds.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from analysis.events.timeline import Timeline
from analysis.latency.seconds import OF_SPANS, LatencyBySecond, waits_of
from analysis.messages.deliveries import OUTCOME
from records.figures.buckets import bucket_of
from records.tables.results import LATENCY, RATES
from records.tables.schemas import EVENT_TABLES, UNKNOWN
from tests.support.event_rows import receipt_row, send_row

Row = dict[str, Any]
MS = 1_000_000
ENDS = ("lost", "closed")
QUEUE, TOPIC = "queue://orders", "topic://prices"
LOAD_FROM_MS, LOAD_UNTIL_MS = 1_000, 11_000
TIMELINE = Timeline(LOAD_FROM_MS * MS, LOAD_UNTIL_MS * MS)


def send(
    seq: int,
    *,
    attempt: int = 1,
    due: float = 2_000,
    ready: float | None = None,
    sent: float | None = None,
    settled: float | None = None,
    outcome: str = "acked",
    producer: int = 1,
    destination: str = QUEUE,
    broker: str = "a",
    blocked: bool = False,
) -> Row:
    sent = due if sent is None else sent
    if settled is None and outcome in ("acked", "failed"):
        settled = sent + 1
    times = {"ready_ns": due if ready is None else ready, "sent_ns": sent, "settled_ns": settled}
    return send_row(
        seq,
        int(due * MS),
        producer=producer,
        attempt=attempt,
        destination=destination,
        broker=broker,
        outcome=outcome,
        blocked=blocked,
        **{name: None if at_ms is None else int(at_ms * MS) for name, at_ms in times.items()},
    )._asdict()


def receipt(
    seq: int,
    *,
    at: float = 2_005,
    attempt: int = 1,
    consumer: int = 7,
    subscription: str = "orders",
    producer: int = 1,
    destination: str = QUEUE,
    broker: str = "b",
    redelivered: bool = False,
    integrity: str = "intact",
    hops: int | None = None,
) -> Row:
    nameless = integrity in ("unreadable", "foreign")
    return receipt_row(
        UNKNOWN if nameless else seq,
        int(at * MS),
        consumer=consumer,
        subscription=subscription,
        producer=UNKNOWN if nameless else producer,
        attempt=UNKNOWN if nameless else attempt,
        destination=destination,
        broker=broker,
        redelivered=redelivered,
        integrity=integrity,
        hops=hops,
    )._asdict()


def subscription(name: str, *, began: float = 0, consumer: int = 7, kind: str = "topic", selector: str = "") -> Row:
    destination = QUEUE if kind == "queue" else TOPIC
    return {
        "consumer": consumer,
        "subscription": name,
        "destination": destination,
        "kind": kind,
        "broker": "b",
        "began_ns": int(began * MS),
        "selector": selector,
    }


def leftover(
    seq: int,
    *,
    queue: str = "orders",
    broker: str = "a",
    dead_letter: bool = False,
    producer: int = 1,
    expired: bool = False,
) -> Row:
    place = {"broker": broker, "queue": queue, "dead_letter": dead_letter, "producer": producer, "seq": seq}
    return {**place, "attempt": 1, "age_ns": None, "expired": expired}


def connection(
    event: str,
    *,
    at: float,
    client: int = 1,
    broker: str | None = "a",
    group: str = "producers",
    reason: str = "",
    from_broker: str | None = None,
    cause: str | None = None,
    ended: float | None = None,
) -> Row:
    """An event without a cause gets the usual cause of that event."""
    client_row = {"client": client, "group": group, "protocol": "stomp", "broker": broker, "event": event}
    why = {"reason": reason, "from_broker": from_broker, "cause": cause or (event if event in ENDS else None)}
    return client_row | why | {"at_ns": int(at * MS), "ended_ns": None if ended is None else int(ended * MS)}


def member(user: int, connection: int | None, *, role: str = "producer") -> Row:
    its = {"group": f"{role}s", "role": role, "user_class": "Orders", "from_ns": 0}
    return {"user": user, "connection": connection, **its}


def sample(metric: str, value: int, *, at: float, kind: str = "process", broker: str = "a", object: str = "") -> Row:
    return {"broker": broker, "at_ns": int(at * MS), "kind": kind, "object": object, "metric": metric, "value": value}


def stall(*, began: float, ended: float, process: int = 0, protocol: str = "memory") -> Row:
    return {"process": process, "protocol": protocol, "began_ns": int(began * MS), "ended_ns": int(ended * MS)}


def frame(table: str, rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows of an event table like the rows of a part."""
    whole = pl.from_arrow(pa.Table.from_pylist(list(rows), EVENT_TABLES[table]))
    assert isinstance(whole, pl.DataFrame)
    return whole.with_columns(pl.col("outcome").cast(OUTCOME)) if table == "sends" else whole


def table(rows: Iterable[tuple[Any, ...]], columns: str) -> pl.DataFrame:
    """Return rows with columns given as ``name type, name type``."""
    kinds = {"int": pl.Int32, "bigint": pl.Int64, "string": pl.String, "boolean": pl.Boolean}
    schema = {name: kinds[kind] for name, kind in (column.split() for column in columns.split(", "))}
    return pl.DataFrame(list(rows), schema, orient="row")


def rates_table(by_event: Mapping[str, Mapping[int, int]]) -> pa.Table:
    """Return the result table with each event's messages by second of the load, half of them at each of two brokers."""
    rows = [
        {"second": at_s, "phase": "load", "event": event, "broker": broker, "count": count}
        for event, by_second in by_event.items()
        for at_s, messages in by_second.items()
        for broker, count in (("a", messages // 2), ("b", messages - messages // 2))
    ]
    return pa.Table.from_pylist(rows, RATES)


def latency_row(
    measure: str, at_s: int, ms: float, count: int, *, ends: tuple[str, str] = ("a", "b"), phase: str = "load"
) -> Row:
    """Return a row for `latency_by_second`: messages due in a second, and their time from broker to broker."""
    ns = round(ms * MS)
    from_broker, to_broker = ends
    return {
        "measure": measure,
        "from_broker": from_broker,
        "to_broker": to_broker,
        "hops": int(from_broker != to_broker),
        "phase": phase,
        "second": at_s,
        "in_fault": False,
        "bucket": bucket_of(ns),
        "count": count,
        "count_less_own": count,
        "min_ns": ns,
        "max_ns": ns,
    }


def latency_table(rows: Iterable[Row]) -> pa.Table:
    """Return latencies: the result table's columns, and each bucket's minimum and maximum."""
    bounds = [pa.field("min_ns", pa.int64()), pa.field("max_ns", pa.int64())]
    return pa.Table.from_pylist(list(rows), pa.schema([*LATENCY, *bounds]))


def latency_by_second(rows: Iterable[Row]) -> LatencyBySecond:
    """Return latencies in the form that the topics of the analysis use."""
    table = latency_table(rows)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)

    def histogram(measure: str, seconds: range) -> pa.Table:
        assert measure in OF_SPANS
        within = pl.col("second").is_between(seconds.start, seconds.stop - 1)
        rows: pa.Table = frame.filter(within & (pl.col("measure") == measure)).to_arrow()
        return rows

    return LatencyBySecond(waits_of(frame), histogram)


def resource_row(
    metric: str, at_s: int, value: float, *, broker: str = "", kind: str = "process", object: str = ""
) -> Row:
    """Return a row of the resources table."""
    row = {"second": at_s, "broker": broker, "kind": kind, "object": object}
    return row | {"metric": metric, "value": round(value)}
