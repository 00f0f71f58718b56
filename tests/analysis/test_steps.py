"""Checks what is told of each step of a load: planted counts and latencies give their figures back."""

from collections.abc import Mapping

import pyarrow as pa
import pytest

from analysis.load.steps import held_per_s, step_results
from records.buckets import bucket_of
from records.load import StepResult
from records.rate_steps import parse_steps
from records.results import LATENCY, RATES

MS = 1_000_000
STEPS = parse_steps("100,200@10s")
WARM_UP_S = 3


def rates(due: Mapping[int, int], received: Mapping[int, int]) -> pa.Table:
    """What is due is sent, and confirmed by either of two brokers, in the same second."""
    counts = {"due": due, "sent": due, "acked": due, "received": received}
    rows = [
        {"second": second, "phase": "load", "event": event, "broker": broker, "count": count // 2}
        for event, by_second in counts.items()
        for second, count in by_second.items()
        for broker in ("a", "b")
    ]
    return pa.Table.from_pylist(rows, RATES)


def latency(due: Mapping[int, int]) -> pa.Table:
    """A message that is due in second n of the load takes n + 1 ms; what was sent takes 900 ms to be confirmed."""
    ends = [pa.field("min_ns", pa.int64()), pa.field("max_ns", pa.int64())]
    rows = [
        {
            "measure": measure,
            "from_broker": "a",
            "to_broker": "b",
            "hops": 1,
            "phase": "load" if second >= 0 else "warm_up",
            "second": second,
            "in_fault": False,
            "bucket": bucket_of(took_ms * MS),
            "count": count,
            "count_less_own": count,
            "min_ns": took_ms * MS,
            "max_ns": took_ms * MS,
        }
        for second, count in due.items()
        for measure, took_ms in (("due_to_received", max(second, 0) + 1), ("sent_to_settled", 900))
    ]
    return pa.Table.from_pylist(rows, pa.schema([*LATENCY, *ends]))


def planned(first: int = 100, second: int = 200) -> dict[int, int]:
    """Messages by second: of the warm-up, and of the two steps."""
    return {at: first for at in range(-WARM_UP_S, 10)} | {at: second for at in range(10, 20)}


def results(
    received: Mapping[int, int], load_s: float | None = 20.0, copies: float = 1.0, due: Mapping[int, int] | None = None
) -> list[StepResult]:
    due = due or planned()
    return step_results(STEPS, rates(due, received), latency(due), load_s, copies)


def test_a_load_that_comes_through_is_held_in_each_step_with_the_latencies_of_its_own_messages() -> None:
    first, second = results(planned())
    assert (first["from_s"], first["until_s"], second["from_s"], second["until_s"]) == (0, 10, 10, 20)
    assert [each["received_per_s"] for each in (first, second)] == [100, 200]
    assert [each["due_to_received_ms"]["count"] for each in (first, second)] == [1_000, 2_000]
    assert [(each["due_to_received_ms"]["min"], each["due_to_received_ms"]["max"]) for each in (first, second)] == [
        (1, 10),
        (11, 20),
    ]
    assert [each["backlog"] for each in (first, second)] == [0, 0]
    assert first["held"]
    assert second["held"]


def test_a_broker_that_takes_no_more_than_150_a_second_holds_the_first_step_and_not_the_second() -> None:
    first, second = results(planned(second=150))
    assert (first["held"], second["held"]) == (True, False)
    assert (second["received_per_s"], second["backlog"]) == (150, 500)


def test_a_step_that_only_drains_what_the_one_before_it_left_is_not_held_until_it_has() -> None:
    due = {at: 400 for at in range(-WARM_UP_S, 10)} | {at: 200 for at in range(10, 20)}
    received = {at: 300 for at in range(-WARM_UP_S, 20)}
    first, second = step_results(parse_steps("400,200@10s"), rates(due, received), latency(due), 20.0, 1.0)
    assert first["backlog"] == 1_300
    assert (second["backlog"], second["received_per_s"], second["held"]) == (300, 300, False)


def test_what_was_due_and_not_sent_is_not_held() -> None:
    due, sent = planned(), planned(second=150)
    counts = rates(due, sent).to_pylist()
    kept = [
        row | {"count": min(row["count"], 75)} if row["event"] in ("sent", "acked") and row["second"] >= 10 else row
        for row in counts
    ]
    (first, second) = step_results(STEPS, pa.Table.from_pylist(kept, RATES), latency(due), 20.0, 1.0)
    assert (first["held"], second["held"], second["sent_per_s"]) == (True, False, 150)


def test_each_subscriber_of_a_topic_has_to_keep_up() -> None:
    twice = {second: 2 * count for second, count in planned().items()}
    assert [each["held"] for each in results(twice, copies=2.0)] == [True, True]
    assert [each["held"] for each in results(planned(), copies=2.0)] == [False, False]


@pytest.mark.parametrize(("load_s", "whole"), [(None, 0), (9.0, 0), (10.0, 1), (19.9, 2), (20.0, 2), (14.0, 1)])
def test_a_step_that_the_load_did_not_go_through_to_its_end_is_left_out(load_s: float | None, whole: int) -> None:
    assert len(results(planned(), load_s)) == whole


def test_the_highest_rate_held_has_only_held_steps_below_it() -> None:
    held, low = results(planned()), results(planned(second=150))
    assert (held_per_s(held), held_per_s(low), held_per_s([])) == (200, 100, None)
    after_a_spike = [*low, StepResult(**{**low[0], "held": False})]
    assert held_per_s(after_a_spike) is None


def test_a_load_without_steps_has_none() -> None:
    assert step_results((), rates(planned(), planned()), latency(planned()), 20.0, 1.0) == []
