"""Checks that a batch counts in Locust's statistics as its messages would one by one."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from locust.env import Environment
from locust.stats import RequestStats

from drivers.users.live_figures import LiveFigures
from drivers.users.live_latency import LiveLatency
from drivers.users.locust_stats import LocustStatistics, log_many
from records.figures.buckets import bucket_of
from records.store.packing import packed_dtype
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.schemas import RECEIPTS, SENDS, ReceiptRow, SendRow
from tests.support.event_rows import packed_values, receipt_row, send_row

MS, Q = 1_000_000, "queue://q"


@dataclass
class ReportedTally:
    sent: int = 0
    settled: int = 0
    received: int = 0
    lag: Counter[int] = field(default_factory=Counter)
    live: LiveLatency = field(default_factory=LiveLatency)
    figures: LiveFigures = field(default_factory=LiveFigures)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(RunDirectory.create(tmp_path, "run"), "main")


@given(st.lists(st.floats(0, 90_000), max_size=30), st.integers(0, 3))
def test_a_batch_in_locusts_statistics_is_as_its_messages_one_by_one(times_ms: list[float], unknown: int) -> None:
    at_once, one_by_one = RequestStats(), RequestStats()
    log_many(at_once, "SEND", Q, times_ms, unknown, 100, 0)
    for time_ms in [*times_ms, *[None] * unknown]:
        one_by_one.log_request("SEND", Q, time_ms, 100)  # type: ignore[arg-type]
    for batch, wanted in (
        (at_once.total, one_by_one.total),
        (at_once.entries[Q, "SEND"], one_by_one.entries[Q, "SEND"]),
    ):
        assert batch.num_requests == wanted.num_requests
        assert batch.num_none_requests == wanted.num_none_requests
        assert batch.total_content_length == wanted.total_content_length
        assert batch.total_response_time == pytest.approx(wanted.total_response_time)
        assert (batch.min_response_time, batch.max_response_time) == (
            wanted.min_response_time,
            wanted.max_response_time,
        )
        assert sum(batch.num_reqs_per_sec.values()) == sum(wanted.num_reqs_per_sec.values())
        assert sum(batch.response_times.values()) == sum(wanted.response_times.values())


def packed_array(recorder: Recorder, *rows: SendRow | ReceiptRow) -> Any:
    dtype = packed_dtype(SENDS if isinstance(rows[0], SendRow) else RECEIPTS)
    return np.array([packed_values(row, recorder.number) for row in rows], dtype)


def test_sends_are_counted_by_lag_and_shown_by_destination(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    tally, environment = ReportedTally(), Environment()
    statistics = LocustStatistics(tally, recorder, lambda *_: None)
    statistics.show(environment, Q)
    tally.live.begin(0)
    doubtful = {"settled_ns": None, "outcome": "in_doubt"}
    sends = (
        send_row(0, 0, destination=Q, ready_ns=3 * MS, sent_ns=5 * MS, **doubtful),
        send_row(0, 0, destination=Q, attempt=2, ready_ns=8 * MS, sent_ns=9 * MS, settled_ns=11 * MS),
        send_row(1, MS, destination=Q, sent_ns=2 * MS, settled_ns=6 * MS),
    )
    statistics.sends_recorded(packed_array(recorder, *sends))
    statistics.counted(3, 2)
    assert (tally.sent, tally.settled) == (3, 2)
    assert tally.lag == Counter([bucket_of(2 * MS), bucket_of(MS)]), "since they were ready"
    assert tally.live.rows() == [("settled", 0, bucket_of(4 * MS), 1)], "first attempts that were confirmed"
    shown = environment.stats.entries[Q, "SEND"]
    assert (shown.num_requests, shown.num_failures, shown.max_response_time) == (3, 1, 4.0)
    assert caplog.messages == [], "no broker refused anything"


def test_live_figures_count_batches_of_the_load(recorder: Recorder) -> None:
    """Message 0 was due in the warm-up. Of message 2, which was in doubt at first, a later failure is not the best."""
    tally = ReportedTally()
    statistics = LocustStatistics(tally, recorder, lambda _, seq, at: None if seq == 9 else at - (seq + 1) * MS)
    statistics.show(Environment(), Q)
    failed = {"destination": Q, "outcome": "failed"}
    rows = (
        send_row(0, 1 * MS, sent_ns=2 * MS, settled_ns=4 * MS, **failed),
        send_row(1, 2 * MS, sent_ns=2 * MS, settled_ns=4 * MS, **failed),
        send_row(2, 3 * MS, destination=Q, sent_ns=4 * MS, settled_ns=None, outcome="in_doubt"),
        send_row(2, 3 * MS, attempt=2, sent_ns=5 * MS, settled_ns=None, **failed),
        send_row(3, 4 * MS, destination=Q, sent_ns=5 * MS, settled_ns=8 * MS),
    )
    sends = packed_array(recorder, *rows)
    receipts = packed_array(recorder, *(receipt_row(seq, 10 * MS, destination=Q) for seq in (0, 3, 9)))
    statistics.sends_recorded(sends)
    assert tally.figures.rows() == [], "nothing is counted before the start signal"
    tally.figures.begin(2 * MS, has_others=True)
    statistics.sends_recorded(sends)
    statistics.receipts_recorded(receipts)
    assert tally.figures.failed == 1
    assert tally.figures.rows() == [
        ("due_to_received", bucket_of(6 * MS), 1),
        ("sent_to_settled", bucket_of(3 * MS), 1),
    ]
    assert tally.figures.take_untimed() == [(1, 9, 10 * MS)], "the producer is in another process"


def test_receipts_are_timed_where_this_process_knows_when_they_were_due(recorder: Recorder) -> None:
    tally, environment = ReportedTally(), Environment()
    due_ns = {(1, 7): 10 * MS}
    statistics = LocustStatistics(tally, recorder, lambda p, s, at: at - due_ns[p, s] if (p, s) in due_ns else None)
    statistics.show(environment, Q)
    tally.live.begin(0)
    statistics.receipts_recorded(packed_array(recorder, *(receipt_row(seq, 30 * MS, destination=Q) for seq in (7, 8))))
    assert tally.live.rows() == [("received", 0, bucket_of(20 * MS), 1), ("untimed", 0, 0, 1)]
    shown = environment.stats.entries[Q, "RECEIVE"]
    assert (tally.received, shown.num_requests, shown.num_none_requests) == (2, 2, 1)
    assert shown.max_response_time == 20.0


def test_packed_rows_are_recorded_as_if_each_had_been_given(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "run")
    recorder = Recorder(directory, "main")
    row = send_row(4, 10, ready_ns=15, sent_ns=20, settled_ns=30, body_bytes=64, blocked=True)
    recorder.packed("sends", packed_array(recorder, row).tobytes())
    recorder.send(row)
    recorder.close()
    seal(directory)
    packed, plain = read_events(directory, "sends").to_pylist()
    assert packed == plain


def test_half_a_packed_row_is_refused_and_told(recorder: Recorder) -> None:
    recorder.packed("receipts", b"half")
    assert recorder.failure == "main was given an invalid row of receipts: 4 bytes are not whole rows of 49"
