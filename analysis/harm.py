"""Counts what each fault did to the messages: lost, stranded, duplicated, redelivered, reordered and late ones.

A message belongs to one fault at most. If it was lost or stranded, that is the first fault that was not over when the
message was sent. If it came again, or out of order, that is the last fault that had begun by then.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.disturbance import LEAST_BEFORE_S, most_in_band_ns, p99s_ns, seconds_before
from analysis.fault_spans import FaultSpan
from analysis.timeline import FOREVER_NS
from records.buckets import bucket_of
from records.units import NS_PER_S


def harm(
    outcomes: DataFrame,
    deliveries: DataFrame,
    out_of_order: DataFrame,
    faults: Sequence[FaultSpan],
    *,
    all_expired: bool = True,
) -> DataFrame:
    """One row: lost_1, stranded_1, duplicated_1, redelivered_1, reordered_1, lost_2 … by the faults' numbers.

    ``all_expired``: as `analysis.anomalies` has it; if not, a message that may have expired counts as lost.
    """
    lost_ones = ["lost"] if all_expired else ["lost", "past_ttl"]
    of_outcomes = {"lost": F.col("message_outcome").isin(lost_ones), "stranded": _is_stranded()}
    of_deliveries = {"duplicated": F.col("duplicate"), "redelivered": F.col("redelivered")}
    parts = (
        outcomes.agg(*_counts(of_outcomes, faults, _is_first_open)),
        deliveries.agg(*_counts(of_deliveries, faults, _is_last_begun)),
        out_of_order.agg(*_counts({"reordered": F.lit(True)}, faults, _is_last_begun)),
    )
    return reduce(DataFrame.crossJoin, parts)


def stranded(outcomes: DataFrame, faults: Sequence[FaultSpan]) -> DataFrame:
    """One row for each fault's number and broker with stranded messages: messages, and the age_ns of the oldest one."""
    numbers = [F.when(_is_first_open(fault, faults), F.lit(fault.number)) for fault in faults]
    return (
        outcomes.where(_is_stranded())
        .withColumn("fault", F.coalesce(*numbers))
        .where(F.col("fault").isNotNull())
        .groupBy("fault", F.col("left_at").alias("broker"))
        .agg(F.count("*").alias("messages"), F.max("age_ns").alias("age_ns"))
        .orderBy("fault", "broker")
    )


def late(latency: pa.Table, faults: Sequence[FaultSpan], load_began_ns: int) -> dict[int, int | None]:
    """By the fault's number: first deliveries that were slower than the p99 band of the seconds before the fault.

    ``latency``: the result table. They were due in the fault's first second or later, and before the second in which
    the next fault began. None if too few seconds are known before the fault.
    """
    p99_ns = p99s_ns(latency)
    found: dict[int, int | None] = {}
    for fault, following in pairwise([*sorted(faults, key=lambda fault: fault.began_ns), None]):
        assert fault is not None
        until = None if following is None else _second(following, load_began_ns)
        before = [p99_ns[second] for second in seconds_before(fault, load_began_ns) if second in p99_ns]
        from_second = _second(fault, load_began_ns)
        usable = len(before) >= LEAST_BEFORE_S
        most_ns = most_in_band_ns(median(before)) if usable else 0
        found[fault.number] = _slower(latency, most_ns, from_second, until) if usable else None
    return found


def _second(fault: FaultSpan, load_began_ns: int) -> int:
    return math.floor((fault.began_ns - load_began_ns) / NS_PER_S)


def _slower(latency: pa.Table, most_ns: float, from_second: int, until: int | None) -> int:
    """The bucket that holds the limit is in the band."""
    wanted = pc.and_(
        pc.equal(latency["measure"], "due_to_received"), pc.greater(latency["bucket"], bucket_of(math.ceil(most_ns)))
    )
    wanted = pc.and_(wanted, pc.greater_equal(latency["second"], from_second))
    if until is not None:
        wanted = pc.and_(wanted, pc.less(latency["second"], until))
    return int(pc.sum(latency.filter(wanted)["count"]).as_py() or 0)


def by_fault(rows: Sequence[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    """The rows of `stranded` by the fault's number."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["fault"], []).append(row)
    return found


def _is_stranded() -> Column:
    return F.col("message_outcome") == "stranded"


def _is_first_open(fault: FaultSpan, faults: Sequence[FaultSpan]) -> Column:
    earlier = max((other.until_ns for other in faults if other.number < fault.number), default=-1)
    return F.col("sent_ns").between(earlier + 1 if earlier < FOREVER_NS else FOREVER_NS, fault.until_ns)


def _is_last_begun(fault: FaultSpan, faults: Sequence[FaultSpan]) -> Column:
    later = min((other.began_ns for other in faults if other.number > fault.number), default=FOREVER_NS)
    return F.col("received_ns").between(fault.began_ns, later - 1)


def _counts(
    kinds: Mapping[str, Column],
    faults: Sequence[FaultSpan],
    belongs: Callable[[FaultSpan, Sequence[FaultSpan]], Column],
) -> list[Column]:
    return [
        F.count_if(condition & belongs(fault, faults)).alias(f"{name}_{fault.number}")
        for name, condition in kinds.items()
        for fault in faults
    ]
