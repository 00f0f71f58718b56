"""Checks what is counted as a fault's harm: planted messages are found exactly, each at one fault at most."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from analysis.events.fault_spans import FaultSpan
from analysis.faults.harm import harm, late, stranded
from analysis.events.fault_spans import FOREVER_NS
from records.buckets import bucket_of
from records.results import LATENCY
from tests.analysis.rows import MS

S = 1_000 * MS
SPANS = (
    FaultSpan(1, "kill", "a", 5 * MS, 14 * MS),
    FaultSpan(3, "freeze", "b", 10 * MS, 30 * MS),
    FaultSpan(4, "kill", "a", 15 * MS, FOREVER_NS),
)
OUTCOMES = "sent_ns bigint, message_outcome string, left_at string, age_ns bigint"
COPIES = "received_ns bigint, duplicate boolean, redelivered boolean"


@pytest.mark.spark
def test_each_message_belongs_to_one_fault_at_most(spark: SparkSession) -> None:
    sent = [3, 5, 14, 20, 9_000]  # the last fault is never over
    left = [(6, "a", 40), (7, "a", None), (8, "b", 30), (20, "b", 20), (40, "c", None)]
    outcomes = spark.createDataFrame(
        [(at * MS, "lost", None, None) for at in sent]
        + [(at * MS, "stranded", broker, age and age * MS) for at, broker, age in left],
        OUTCOMES,
    )
    came = [4, 5, 9, 10, 14, 15, 9_000]
    again = [(at * MS, True, False) for at in came] + [(6 * MS, False, False)]
    flagged = [(at * MS, False, True) for at in (3, 6, 12, 13)]
    deliveries = spark.createDataFrame(again + flagged, COPIES)
    out_of_order = spark.createDataFrame([(at * MS,) for at in (4, 5, 5, 20)], "received_ns bigint")
    (row,) = harm(outcomes, deliveries, out_of_order, SPANS).collect()
    assert row.asDict() == {
        **{"lost_1": 3, "lost_3": 1, "lost_4": 1},
        **{"stranded_1": 3, "stranded_3": 1, "stranded_4": 1},
        **{"duplicated_1": 2, "duplicated_3": 2, "duplicated_4": 2},
        **{"redelivered_1": 1, "redelivered_3": 2, "redelivered_4": 0},
        **{"reordered_1": 2, "reordered_3": 0, "reordered_4": 1},
    }
    assert [tuple(row) for row in stranded(outcomes, SPANS).collect()] == [
        (1, "a", 2, 40 * MS),
        (1, "b", 1, 30 * MS),
        (3, "b", 1, 20 * MS),
        (4, "c", 1, None),
    ]


def latency_rows(*rows: tuple[int, int, int]) -> pa.Table:
    """Of (second, milliseconds, messages), from due to received."""
    named = ("measure", "from_broker", "to_broker", "hops", "phase", "second", "in_fault", "bucket", "count")
    values = [
        ("due_to_received", "a", "b", None, "load", second, False, bucket_of(ms * MS), count)
        for second, ms, count in rows
    ]
    values += [("sent_to_settled", "a", "", None, "load", second, False, bucket_of(9 * S), 1) for second, *_ in rows]
    return pa.Table.from_pylist([dict(zip(named, row, strict=True)) | {"count_less_own": 0} for row in values], LATENCY)


def test_messages_are_late_beyond_the_p99_band_from_the_faults_second_to_the_next_fault() -> None:
    usual = [(second, 20, 100) for second in range(20)]  # the band ends at 40 ms
    slow = [(4, 100, 7), (5, 39, 8), (5, 60, 30), (6, 45, 5), (11, 900, 1), (12, 50, 11), (15, 41, 2)]
    faults = (
        FaultSpan(1, "kill", "a", 105 * S + 400 * MS, 109 * S),
        FaultSpan(2, "kill", "b", 112 * S, 114 * S),
    )
    assert late(latency_rows(*usual, *slow), faults, 100 * S) == {1: 36, 2: 13}


def test_nobody_knows_what_is_late_if_too_little_came_before_the_fault() -> None:
    early = FaultSpan(1, "kill", "a", 102 * S, 109 * S)
    assert late(latency_rows((0, 20, 5), (1, 20, 5), (2, 900, 5)), (early,), 100 * S) == {1: None}
