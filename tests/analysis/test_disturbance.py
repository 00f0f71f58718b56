"""Checks how long a fault disturbed throughput and latency: planted seconds give the expected times."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.events.timeline import FaultSpan
from analysis.faults.disturbance import TimeToNormal, back
from tests.analysis.rows import rates_table

MS, S = 1_000_000, 1_000_000_000
LOAD_NS, LOAD_S = 500 * S, 40.0
FAULT = FaultSpan(1, "kill", "a", LOAD_NS + 10_400 * MS, LOAD_NS + 60 * S)
STEADY = dict.fromkeys(range(-5, 40), 100)


def time_back(
    received: Mapping[int, int] = STEADY, p99_ms: Mapping[int, float] | None = None, fault: FaultSpan = FAULT
) -> TimeToNormal:
    rates = rates_table({"received": received, "due": received, "sent": received})  # only receipts count
    slow = dict.fromkeys(range(-5, 40), 20.0) if p99_ms is None else p99_ms
    p99_ns = {at_s: round(p99_ms * MS) for at_s, p99_ms in slow.items()}
    return back(rates, p99_ns, (fault,), LOAD_NS, LOAD_S)[fault.number]


def test_what_never_left_its_band_was_back_at_once() -> None:
    assert time_back() == TimeToNormal(0.0, 0.0)


def test_throughput_is_back_when_nine_tenths_are_received_for_three_seconds() -> None:
    dip = {11: 0, 12: 0, 13: 88, 14: 90, 15: 250, 16: 50, 17: 96, 18: 100}
    assert time_back(STEADY | dip).throughput_s == pytest.approx(17 - 10.4)


def test_p99_is_back_at_most_at_twice_its_baseline() -> None:
    """A second without messages is not back to normal."""
    steady = dict.fromkeys(range(-5, 40), 20.0)
    slow = steady | {10: 3_000.0, 11: 39.0, 12: 41.0, 14: 39.0}
    del slow[13]
    assert time_back(p99_ms=slow).p99_s == pytest.approx(14 - 10.4)


def test_a_p99_of_half_a_millisecond_may_be_ten_more() -> None:
    fast = dict.fromkeys(range(-5, 40), 1.5)
    assert time_back(p99_ms=fast | {12: 11.0}).p99_s == 0.0
    assert time_back(p99_ms=fast | {12: 12.0}).p99_s == pytest.approx(13 - 10.4)


def test_what_does_not_come_back_in_the_load_never_did() -> None:
    assert time_back(STEADY | dict.fromkeys(range(11, 40), 80)).throughput_s is None
    assert time_back(STEADY | dict.fromkeys(range(11, 38), 80)).throughput_s is None  # two seconds are left


def test_without_three_seconds_before_the_fault_nothing_is_known() -> None:
    early = FaultSpan(1, "kill", "a", LOAD_NS + 2_500 * MS, LOAD_NS + 60 * S)
    assert time_back(fault=early) == TimeToNormal(None, None)
    assert time_back({}, {}) == TimeToNormal(None, None)


@given(st.lists(st.integers(0, 200), min_size=29, max_size=29))
def test_the_time_is_that_of_plain_python(after: list[int]) -> None:
    counts = STEADY | dict(zip(range(11, 40), [count // 2 * 2 for count in after], strict=True))
    low = [at_s for at_s in range(10, 40) if counts[at_s] < 90]
    expected: float | None = 0.0
    if low:
        starts = [s for s in range(low[0], 38) if min(counts[s], counts[s + 1], counts[s + 2]) >= 90]
        expected = starts[0] - 10.4 if starts else None
    assert time_back(counts).throughput_s == (None if expected is None else pytest.approx(expected))
