"""Computes the canonical latency table: each message's time since it was due and since it was sent.

A message is timed once a subscription, by its first receipt. Nothing is clamped: a negative duration has a bucket.
"""

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.buckets import bucket
from analysis.deliveries import first
from analysis.stalls import Stalls, with_read_late_ns
from analysis.timeline import Timeline

KEY = ["measure", "from_broker", "to_broker", "hops", "phase", "second", "in_fault", "bucket"]
DURATION = ["measure", "from_broker", "to_broker", "hops", "due_ns", "from_ns", "until_ns", "own_ns", "read_late_ns"]
NO_STALLS = Stalls()


def durations(
    sends: DataFrame,
    messages: DataFrame,
    deliveries: DataFrame,
    stalls: Stalls = NO_STALLS,
    replies: Collection[str] = (),
) -> DataFrame:
    """One row a duration of each of the five measures; its columns are those of DURATION.

    ``replies``: the destinations whose messages are replies, due when their requests were.

    own_ns: how much of the duration is the generator's own delay: the lag of the send, if it counts from due, and the
    lateness of the read. read_late_ns: the latter alone. ready_to_sent has neither. due_to_received is absent for a
    message without a recorded send, sent_to_received for an attempt without one.
    """
    read_late_ns, none = F.col("read_late_ns"), F.lit(0).cast("bigint")
    due_read = _known_hops(_read(first(deliveries).where(F.col("due_ns").isNotNull()), stalls))
    ends = {
        "due_to_received": (F.col("due_ns"), "received_ns", F.col("own_ns") + read_late_ns),
        "sent_to_received": (F.col("sent_ns"), "received_ns", read_late_ns),
    }
    if replies:
        asked_ns = F.when(F.col("destination").isin(*replies), F.col("due_ns"))
        ends["round_trip"] = (asked_ns, "received_ns", F.col("own_ns") + read_late_ns)
    received = _durations(due_read, **ends)
    acked = sends.where(F.col("outcome") == "acked").withColumnRenamed("broker", "from_broker")
    answered = with_read_late_ns(acked, stalls.of_producers, "producer", "settled_ns", F.col("sent_ns"))
    settled = _durations(_not_received(answered), sent_to_settled=(F.col("sent_ns"), "settled_ns", read_late_ns))
    first_sent = _not_received(messages).withColumn("read_late_ns", none)
    lag = _durations(first_sent, ready_to_sent=(_lag_from_ns(), "sent_ns", none))
    return reduce(DataFrame.unionByName, (received, settled, lag))


def _lag_from_ns() -> Column:
    """When the message was ready; when it was sent, if that was before."""
    return F.col("sent_ns") - F.col("own_ns")


def _read(deliveries: DataFrame, stalls: Stalls) -> DataFrame:
    """Deliveries with read_late_ns. An attempt that is not on record was sent no earlier than the first one."""
    sent_ns = F.coalesce("sent_ns", "first_sent_ns")
    return with_read_late_ns(deliveries, stalls.of_consumers, "consumer", "received_ns", sent_ns)


def _known_hops(deliveries: DataFrame) -> DataFrame:
    """Of a message that came from another broker and bears one broker's stamp or none, hops are not known.

    Classic stamps a message while it sends it on, and one of thousands leaves before that (5.18.3).
    """
    unstamped = (F.col("hops") == 0) & (F.col("from_broker") != F.col("to_broker"))
    return deliveries.withColumn("hops", F.when(~F.coalesce(unstamped, F.lit(False)), F.col("hops")))


def _not_received(frame: DataFrame) -> DataFrame:
    return frame.withColumns({"to_broker": F.lit(""), "hops": F.lit(None).cast("int")})


def _durations(frame: DataFrame, **ends: tuple[Column, str, Column]) -> DataFrame:
    """A row for each row and measure with both ends known, from one pass over the frame."""
    measures = (
        F.struct(
            F.lit(measure).alias("measure"),
            began.alias("from_ns"),
            F.col(ended).alias("until_ns"),
            own_ns.alias("own_ns"),
        )
        for measure, (began, ended, own_ns) in ends.items()
    )
    several = frame.select("from_broker", "to_broker", "hops", "due_ns", "read_late_ns", F.inline(F.array(*measures)))
    timed = several.where(F.col("from_ns").isNotNull() & F.col("until_ns").isNotNull())
    return timed.select(*DURATION)


def latency(durations: DataFrame, timeline: Timeline, clock_error_ns: int) -> DataFrame:
    """Rows of LATENCY, and of each the exact min_ns and max_ns, and how many lie below -clock_error_ns (impossible).

    less_own_min_ns and less_own_max_ns are the extremes of the values that count_less_own counts, except that a
    message that was read late cannot be the shortest: how long it took the brokers is not known. Nulls where a count is
    0.
    """
    took_ns, less_own_ns = F.col("took_ns"), F.col("less_own_ns")
    timed = durations.select(
        *KEY[:4],
        timeline.phase(F.col("due_ns")).alias("phase"),
        timeline.second(F.col("due_ns")).alias("second"),
        timeline.in_fault(F.col("from_ns"), F.col("until_ns")).alias("in_fault"),
        (F.col("until_ns") - F.col("from_ns")).alias("took_ns"),
        "own_ns",
        "read_late_ns",
    )
    return (
        _in_buckets(timed)
        .groupBy(*KEY)
        .agg(
            F.count(took_ns).alias("count"),
            F.count(less_own_ns).alias("count_less_own"),
            F.min(took_ns).alias("min_ns"),
            F.max(took_ns).alias("max_ns"),
            F.min("least_ns").alias("less_own_min_ns"),
            F.max(less_own_ns).alias("less_own_max_ns"),
            _impossible(took_ns, clock_error_ns).alias("impossible"),
        )
    )


def _in_buckets(timed: DataFrame) -> DataFrame:
    """A row for each duration and bucket: one if it stays in its bucket without the generator's delay, else two.

    took_ns: null in the row of the second bucket. less_own_ns: null in the row of the first; least_ns: the same, but of
    a message that was read late its whole duration.
    """
    took_ns, less_own_ns = F.col("took_ns"), F.col("less_own_ns")
    none = F.lit(None).cast("bigint")
    both = timed.withColumn("less_own_ns", took_ns - F.col("own_ns"))
    numbered = both.withColumns({"of_took": bucket(took_ns), "of_less_own": bucket(less_own_ns)})
    least_ns = F.when(F.col("read_late_ns") > 0, took_ns).otherwise(less_own_ns)
    apart = F.array(_row("of_took", took_ns, none, none), _row("of_less_own", none, less_own_ns, least_ns))
    together = F.array(_row("of_took", took_ns, less_own_ns, least_ns))
    rows = F.when(F.col("of_took") == F.col("of_less_own"), together).otherwise(apart)
    return numbered.select(*KEY[:-1], F.inline(rows))


def _row(of: str, took_ns: Column, less_own_ns: Column, least_ns: Column) -> Column:
    values = {"took_ns": took_ns, "less_own_ns": less_own_ns, "least_ns": least_ns}
    return F.struct(F.col(of).alias("bucket"), *(value.alias(name) for name, value in values.items()))


def _impossible(took_ns: Column, clock_error_ns: int) -> Column:
    return F.count_if(took_ns < F.lit(-clock_error_ns))
