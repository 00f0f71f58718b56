"""Checks the figures that --abort-on sees against those that the analysis makes of the same latencies."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.latency.figures import Spread
from drivers.users.live_figures import LiveFigures
from drivers.users.other_schedules import described, schedule_of
from harness.distributed import messages
from records.figures.abort import LIVE_FIGURES
from records.figures.buckets import bucket_of, value_ns
from records.figures.percentiles import SHARES, quantiles_ns
from records.figures.summary import FIGURES
from records.loads.arrivals import ARRIVALS
from records.loads.rate_steps import parse_steps
from records.loads.send_schedule import producer_schedule

MS = 1_000_000
Latencies = st.lists(st.integers(-5 * MS, 90_000 * MS), max_size=60)


def test_live_figures_are_figures_of_the_summary() -> None:
    assert set(LIVE_FIGURES) <= FIGURES.keys()
    assert LiveFigures().values().keys() == set(LIVE_FIGURES)


def test_nothing_is_known_before_the_first_message() -> None:
    values = LiveFigures().values()
    counts = [name for name, value in values.items() if value == 0]
    assert counts == [name for name in LIVE_FIGURES if name.endswith((".failed", ".count"))]
    assert {values[name] for name in values.keys() - set(counts)} == {None}


@given(Latencies, st.integers(1, 40))
def test_percentiles_are_those_of_the_analysis(latencies_ns: list[int], times: int) -> None:
    """Also which of them are unknown, because too few values lie beyond them."""
    figures, all_ns = LiveFigures(), latencies_ns * times
    figures.begin(0)
    for latency_ns in all_ns:
        figures.received(100_000 * MS, latency_ns)
    counts = Counter(map(bucket_of, all_ns))
    row = {
        "count": len(all_ns),
        "negative": sum(latency_ns < 0 for latency_ns in all_ns),
        "min_ns": min(all_ns, default=None),
        "max_ns": max(all_ns, default=None),
        "quantiles_ns": quantiles_ns(counts, list(SHARES.values())),
    }
    spread, values = Spread.from_distribution(row), figures.values()
    assert values["latency_ms.due_to_received.count"] == spread.count
    for name, analysed_ms in (*spread.quantiles_ms.items(), ("max", spread.max_ms)):
        live_ms = values[f"latency_ms.due_to_received.{name}"]
        assert (live_ms is None) == (analysed_ms is None)
        assert live_ms is None or bucket_of(round(live_ms * MS)) == bucket_of(round((analysed_ms or 0) * MS))


@given(Latencies, st.integers(0, 50_000 * MS))
def test_batches_count_as_single_messages(latencies_ns: list[int], began_ns: int) -> None:
    one_by_one, at_once = LiveFigures(), LiveFigures()
    for figures in (one_by_one, at_once):
        figures.begin(began_ns)
    at_ns = 90_000 * MS
    for latency_ns in latencies_ns:
        one_by_one.received(at_ns, latency_ns)
        one_by_one.acked(at_ns - latency_ns, at_ns - latency_ns, at_ns)
        one_by_one.message_failed(at_ns - latency_ns)
    took_ns, received_ns = np.array(latencies_ns, "int64"), np.full(len(latencies_ns), at_ns, "int64")
    due_ns, all_rows = received_ns - took_ns, np.ones(len(latencies_ns), bool)
    at_once.received_many(received_ns, took_ns)
    at_once.settled_many(due_ns, due_ns, received_ns, acked=all_rows, failed=all_rows)
    assert sorted(at_once.rows()) == sorted(one_by_one.rows())
    assert at_once.failed == one_by_one.failed == sum(due >= began_ns for due in due_ns.tolist())


@given(Latencies, Latencies)
def test_two_workers_add_up(first_ns: list[int], second_ns: list[int]) -> None:
    workers, alone, total = (LiveFigures(), LiveFigures()), LiveFigures(), LiveFigures()
    alone.begin(0)
    for worker, latencies_ns in zip(workers, (first_ns, second_ns), strict=True):
        worker.begin(0)
        for latency_ns in latencies_ns:
            for figures in (worker, alone):
                figures.received(100_000 * MS, latency_ns)
                figures.message_failed(latency_ns)
        total.add(worker.failed, worker.rows())
    assert total.values() == alone.values()


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("steps", ["", "100,200,400@20s", "10..50@5s"])
def test_another_process_knows_the_same_due_times(arrivals: str, steps: str) -> None:
    """By the message that the master passes on, to a clock that is ahead by 7 ms."""
    schedule = producer_schedule(
        arrivals, 30.0, 5, 1_000_001, start_ns=12 * MS, steps=parse_steps(steps) if steps else ()
    )
    schedule.set_load_times(2_000 * MS, None)
    told = messages.schedules_in(messages.schedules({1_000_001: described(schedule)}), 7 * MS)
    other = schedule_of(told[1_000_001], 5, 1_000_001)
    other.set_load_times(2_007 * MS, None)
    ahead_ns = {other.planned_ns(slot) - schedule.planned_ns(slot) for slot in range(300)}
    assert ahead_ns <= {7 * MS - 1, 7 * MS, 7 * MS + 1}


def test_deliveries_wait_only_for_schedules_that_may_come() -> None:
    alone, worker = LiveFigures(), LiveFigures()
    alone.begin(0)
    worker.begin(0, has_others=True)
    for figures in (alone, worker, LiveFigures()):
        figures.wait_for_schedule((1, 2, 3))
    assert (alone.take_untimed(), worker.take_untimed(), worker.take_untimed()) == ([], [(1, 2, 3)], [])


def test_the_largest_value_is_within_its_bucket() -> None:
    figures = LiveFigures()
    figures.begin(0)
    figures.received(1_000 * MS, 777 * MS)
    assert figures.values()["latency_ms.due_to_received.max"] == value_ns(bucket_of(777 * MS)) / MS
