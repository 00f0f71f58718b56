"""Checks how long a fault disturbed throughput and latency: planted seconds give their times back."""

from collections.abc import Mapping

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.events.timeline import FaultSpan
from analysis.faults.disturbance import Back, back
from records.buckets import bucket_of
from records.results import LATENCY, RATES

MS, S = 1_000_000, 1_000_000_000
LOAD_NS, LOAD_S = 500 * S, 40.0
FAULT = FaultSpan(1, "kill", "a", LOAD_NS + 10_400 * MS, LOAD_NS + 60 * S)
STEADY = dict.fromkeys(range(-5, 40), 100)


def rates(received: Mapping[int, int]) -> pa.Table:
    """Half of each second's messages at either of two brokers, and sends that must not count."""
    rows = [
        {"second": second, "phase": "load", "event": event, "broker": broker, "count": count // 2}
        for second, count in received.items()
        for event, broker in (("received", "a"), ("received", "b"), ("due", "a"), ("sent", "b"))
    ]
    return pa.Table.from_pylist(rows, RATES)


def latency(p99_ms: Mapping[int, float]) -> pa.Table:
    """50 messages a second: 48 of 1 ms, and two of the given time, so that it is the p99."""
    rows = [
        {
            "measure": measure,
            "from_broker": "a",
            "to_broker": "b",
            "hops": 1,
            "phase": "load",
            "second": second,
            "in_fault": False,
            "bucket": bucket_of(round(ms * MS)),
            "count": count,
            "count_less_own": count,
        }
        for second, slow_ms in p99_ms.items()
        for measure, ms, count in (
            ("due_to_received", 1.0, 48),
            ("due_to_received", slow_ms, 2),
            ("sent_to_settled", 900.0, 2),
        )
    ]
    return pa.Table.from_pylist(rows, LATENCY)


def found(
    received: Mapping[int, int] = STEADY, p99_ms: Mapping[int, float] | None = None, fault: FaultSpan = FAULT
) -> Back:
    slow = dict.fromkeys(range(-5, 40), 20.0) if p99_ms is None else p99_ms
    return back(rates(received), latency(slow), (fault,), LOAD_NS, LOAD_S)[fault.number]


def test_what_never_left_its_band_was_back_at_once() -> None:
    assert found() == Back(0.0, 0.0)


def test_throughput_is_back_when_nine_tenths_are_received_for_three_seconds() -> None:
    dip = {11: 0, 12: 0, 13: 88, 14: 90, 15: 250, 16: 50, 17: 96, 18: 100}
    assert found(STEADY | dip).throughput_s == pytest.approx(17 - 10.4)


def test_p99_is_back_when_it_is_at_most_twice_what_it_was_and_a_second_without_messages_is_not() -> None:
    steady = dict.fromkeys(range(-5, 40), 20.0)
    slow = steady | {10: 3_000.0, 11: 39.0, 12: 41.0, 14: 39.0}
    del slow[13]
    assert found(p99_ms=slow).p99_s == pytest.approx(14 - 10.4)


def test_a_p99_of_half_a_millisecond_may_be_ten_more() -> None:
    fast = dict.fromkeys(range(-5, 40), 1.5)
    assert found(p99_ms=fast | {12: 11.0}).p99_s == 0.0
    assert found(p99_ms=fast | {12: 12.0}).p99_s == pytest.approx(13 - 10.4)


def test_what_does_not_come_back_in_the_load_never_did() -> None:
    assert found(STEADY | dict.fromkeys(range(11, 40), 80)).throughput_s is None
    assert found(STEADY | dict.fromkeys(range(11, 38), 80)).throughput_s is None  # two seconds are left


def test_without_three_seconds_before_the_fault_nothing_is_known() -> None:
    early = FaultSpan(1, "kill", "a", LOAD_NS + 2_500 * MS, LOAD_NS + 60 * S)
    assert found(fault=early) == Back(None, None)
    assert found({}, {}) == Back(None, None)


@given(st.lists(st.integers(0, 200), min_size=29, max_size=29))
def test_the_time_is_that_of_plain_python(after: list[int]) -> None:
    counts = STEADY | dict(zip(range(11, 40), [each // 2 * 2 for each in after], strict=True))
    low = [second for second in range(10, 40) if counts[second] < 90]
    expected: float | None = 0.0
    if low:
        starts = [s for s in range(low[0], 38) if min(counts[s], counts[s + 1], counts[s + 2]) >= 90]
        expected = starts[0] - 10.4 if starts else None
    assert found(counts).throughput_s == (None if expected is None else pytest.approx(expected))
