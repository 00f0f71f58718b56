"""Checks the column expressions of the analysis against plain Python, including boundary values."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.events.clocks import on_the_masters_clock
from analysis.events.run import as_table
from analysis.events.timeline import FAULT_GRACE_NS, FaultWindow, Timeline
from analysis.latency.figures import Spread
from analysis.latency.histogram import buckets_of, durations, latency
from analysis.messages.deliveries import deliveries, messages
from records.figures.buckets import bucket_of
from records.run import ClockReading, ProcessInfo
from records.tables.schemas import CLIENTS_PER_PROCESS
from tests.analysis.oracle import latency_counts
from tests.analysis.rows import LOAD_FROM_MS, MS, TIMELINE, frame, receipt, send, table


def test_buckets_are_those_of_plain_python_at_every_power_of_two_and_anywhere() -> None:
    rng = random.Random(5)
    edges = [2**power + step for power in range(63) for step in (-1, 0, 1) if 2**power + step < 2**63]
    values = [*range(-300, 300), *edges, *(rng.getrandbits(rng.randint(1, 63)) for _ in range(3_000))]
    signed = [(sign * value, bucket_of(sign * value)) for value in values for sign in (1, -1)]
    buckets = table(signed, "value bigint, expected int")
    assert buckets_of(buckets["value"]).to_list() == buckets["expected"].to_list()


def test_the_load_begins_second_0_after_the_warm_ups_second_minus_1() -> None:
    began_ns, ended_ns = TIMELINE.load_began_ns, TIMELINE.load_ended_ns or 0
    moments = [began_ns - 1, began_ns, began_ns + 999_999_999, ended_ns - 1, ended_ns]
    placed = table([(at,) for at in moments], "at bigint").select(
        TIMELINE.second_of(pl.col("at")).alias("second"), TIMELINE.phase(pl.col("at")).alias("phase")
    )
    expected = [(-1, "warm-up"), (0, "load"), (0, "load"), (9, "load"), (10, "drain")]
    assert placed.rows() == expected


def test_what_touches_a_fault_or_its_grace_is_in_it() -> None:
    timeline = Timeline(0, None, (FaultWindow(100, 200), FaultWindow(10 * FAULT_GRACE_NS, None)))
    grace_ends = 200 + FAULT_GRACE_NS
    spans = [
        (0, 99, False),
        (0, 100, True),  # was in progress when the fault began
        (150, 160, True),
        (grace_ends, grace_ends + 5, True),
        (grace_ends + 1, grace_ends + 5, False),
        (50 * FAULT_GRACE_NS, 50 * FAULT_GRACE_NS, True),  # the second was never mended
    ]
    touching = table(spans, "began bigint, ended bigint, expected boolean")
    is_in = touching.select(timeline.in_fault(pl.col("began"), pl.col("ended")).alias("is_in"))["is_in"]
    assert is_in.to_list() == touching["expected"].to_list()


def test_times_of_another_host_are_moved_to_the_masters_clock() -> None:
    hosts = (ProcessInfo("master", 0, "m", 0, 0), ProcessInfo("worker", 1, "w", 0, 0, offset_ns=50 * MS))
    sends = frame("sends", [send(1, due=100), send(1, due=150, producer=CLIENTS_PER_PROCESS + 4)])
    moved = on_the_masters_clock(sends, "producer", ("due_ns", "sent_ns", "settled_ns"), hosts)
    assert {(row["due_ns"], row["settled_ns"]) for row in moved.to_dicts()} == {(100 * MS, 101 * MS)}


def test_times_of_a_clock_that_runs_faster_are_moved_by_as_much_as_it_was_ahead_then() -> None:
    readings = (ClockReading(0, 0), ClockReading(1_000 * MS, 10 * MS), ClockReading(5_000 * MS, 12 * MS))
    worker = ProcessInfo("worker", 1, "w", 0, 0, clock=readings)
    times_ms = (-500, 0, 1, 500, 999, 1_000, 3_333, 5_000, 9_000)
    sends = frame("sends", [send(at, due=at, producer=CLIENTS_PER_PROCESS) for at in times_ms])
    moved = on_the_masters_clock(sends, "producer", ("due_ns",), (ProcessInfo("master", 0, "m", 0, 0), worker))
    for row in moved.to_dicts():
        assert abs(row["due_ns"] - (row["seq"] * MS - worker.offset_at(row["seq"] * MS))) <= 1
    assert worker.offset_at(500 * MS) == 5 * MS


def test_latency_starts_at_first_due_time_and_received_attempts_send() -> None:
    due = LOAD_FROM_MS + 500
    sends = [
        send(1, due=due, sent=due + 2, outcome="in_doubt", broker="a"),
        send(1, attempt=2, due=due, sent=due + 700, settled=due + 705, broker="c"),
    ]
    arrived = [receipt(1, attempt=2, at=due + 720, broker="b", hops=1), receipt(1, attempt=2, at=due + 900)]
    assert timed(sends, arrived) == {
        ("due_to_received", "c", "b", 1, 0, 720 * MS),
        ("sent_to_received", "c", "b", 1, 0, 20 * MS),
        ("sent_to_settled", "c", "", None, 0, 5 * MS),
        ("ready_to_sent", "a", "", None, 0, 2 * MS),
    }


def test_a_receipt_before_its_sending_is_counted_and_not_clamped() -> None:
    assert ("sent_to_received", "a", "b", None, 1, -3 * MS) in timed([send(1)], [receipt(1, at=1_997)])


def test_an_attempt_that_is_not_on_record_is_timed_from_due_only() -> None:
    measures = {row[0] for row in timed([send(1)], [receipt(1, attempt=2)])}
    assert measures == {"due_to_received", "sent_to_settled", "ready_to_sent"}


def test_a_message_from_another_broker_that_bears_no_second_stamp_has_unknown_hops() -> None:
    arrived = [receipt(1, broker="b", hops=0), receipt(2, broker="a", hops=0), receipt(3, broker="b", hops=1)]
    rows = timed([send(1), send(2), send(3)], arrived)
    of_receipts = {(to, hops) for measure, _, to, hops, _, _ in rows if measure == "due_to_received"}
    assert of_receipts == {("b", None), ("a", 0), ("b", 1)}


def test_a_reply_is_timed_as_a_round_trip_too_and_a_request_is_not() -> None:
    """The request is due at 2,000 ms and received at 2,010; its reply is due then too, sent at 2,012, back at 2,030."""
    back: Any = {"producer": 9, "destination": "queue://q.replies"}
    sends = [send(1, due=2_000), send(1, due=2_000, sent=2_012, **back)]
    arrived = [receipt(1, at=2_010), receipt(1, at=2_030, subscription="q.replies", **back)]
    rows = timed(sends, arrived, replies=["queue://q.replies"])
    assert sorted(took_ns for measure, *_, took_ns in rows if measure == "due_to_received") == [10 * MS, 30 * MS]
    assert [took_ns for measure, *_, took_ns in rows if measure == "round_trip"] == [30 * MS]


def timed(sends: list, receipts: list, replies: Sequence[str] = ()) -> set[tuple]:  # type: ignore[type-arg]
    """Return (measure, from, to, hops, second, exact duration) of every duration in the latency table."""
    return {
        (row["measure"], row["from_broker"], row["to_broker"], row["hops"], row["second"], row["min_ns"])
        for row in latency_rows(sends, receipts, replies=replies)
        if row["count"]
    }


def latency_rows(
    sends: list,
    receipts: list,
    timeline: Timeline = TIMELINE,  # type: ignore[type-arg]
    replies: Sequence[str] = (),
) -> list:  # type: ignore[type-arg]
    sent = frame("sends", sends)
    of_messages = messages(sent)
    delivered = deliveries(frame("receipts", receipts), of_messages, sent)
    return latency(durations(sent, of_messages, delivered, replies=replies), timeline, 0).to_dicts()


def test_both_counts_of_a_bucket_are_those_of_plain_python() -> None:
    """Blocked, late, early, resent and duplicate messages, in a fault and outside of it, for two subscriptions."""
    rng = random.Random(11)
    fault = FaultWindow(LOAD_FROM_MS * MS + 4_000 * MS, LOAD_FROM_MS * MS + 4_500 * MS)
    sends, receipts = [], []
    for seq in range(400):
        due = LOAD_FROM_MS + 25.0 * seq
        ready = due + rng.choice([0, 0, rng.expovariate(0.1)])
        sent = ready + rng.choice([-1, 0, 0.01, rng.expovariate(0.1)])
        sends.append(send(seq, due=due, ready=ready, sent=sent))
        if seq % 7 == 0:
            sends.append(send(seq, attempt=2, due=due, sent=sent + 50))
        for name in ("one", "two")[: 1 + seq % 2]:
            receipts.append(receipt(seq, at=sent + rng.expovariate(0.2), subscription=name))
            if seq % 5 == 0:
                receipts.append(receipt(seq, at=sent + 900, subscription=name))
    timeline = Timeline(TIMELINE.load_began_ns, None, (fault,))
    whole, less_own = latency_counts(sends, receipts)
    rows = [row for row in latency_rows(sends, receipts, timeline) if row["measure"] == "due_to_received"]
    assert added_up(rows, "count") == whole
    assert added_up(rows, "count_less_own") == less_own
    assert whole != less_own


def added_up(rows: list, count: str) -> dict[int, int]:  # type: ignore[type-arg]
    total = Counter[int]()
    for row in rows:
        total[row["bucket"]] += row[count]
    return +total


def test_what_is_not_timed_from_due_has_no_own_delay() -> None:
    rows = latency_rows([send(1, due=2_000, sent=2_030)], [receipt(1, at=2_050)])
    counts = {row["measure"]: [] for row in rows}  # type: ignore[var-annotated]
    for row in rows:
        counts[row["measure"]].append((row["bucket"], row["count"], row["count_less_own"]))
    assert counts["sent_to_received"] == [(bucket_of(20 * MS), 1, 1)]
    assert counts["ready_to_sent"] == [(bucket_of(30 * MS), 1, 1)]
    assert sorted(counts["due_to_received"]) == [(bucket_of(20 * MS), 0, 1), (bucket_of(50 * MS), 1, 0)]


def test_percentiles_of_the_latency_table_are_those_of_numpy_within_0_8_percent() -> None:
    took_ns = np.random.default_rng(3).lognormal(15, 2, 5_000).astype("int64")
    rows = [("a", "b", None, 2_000 * MS, 0, int(duration_ns), int(duration_ns) // 3, 0) for duration_ns in took_ns]
    schema = (
        "from_broker string, to_broker string, hops int, due_ns bigint, from_ns bigint, until_ns bigint, "
        "own_ns bigint, read_late_ns bigint"
    )
    timed = as_table(latency(iter([("due_to_received", table(rows, schema))]), TIMELINE, 0))
    spread, less_own = Spread.as_measured(timed), Spread.less_own(timed)
    shares, too_few = [0.5, 0.9, 0.99], [None, None]  # beyond p99.9 and p99.99 of 5,000
    exact_ns = np.quantile(took_ns, shares, method="inverted_cdf")
    assert list(spread.quantiles_ms.values()) == [
        *(pytest.approx(expected_ms, rel=0.008) for expected_ms in exact_ns / MS),
        *too_few,
    ]
    assert (spread.min_ms, spread.max_ms) == (took_ns.min() / MS, took_ns.max() / MS)
    rest_ns = took_ns - took_ns // 3
    exact_ns = np.quantile(rest_ns, shares, method="inverted_cdf")
    assert list(less_own.quantiles_ms.values()) == [
        *(pytest.approx(expected_ms, rel=0.008) for expected_ms in exact_ns / MS),
        *too_few,
    ]
    assert (less_own.min_ms, less_own.max_ms) == (rest_ns.min() / MS, rest_ns.max() / MS)
