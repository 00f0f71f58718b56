"""Lists up to a hundred messages of each anomaly, so that a reader can look one up in the event tables."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.deliveries import unexpected
from analysis.timeline import Timeline

PER_ANOMALY = 100
_COLUMNS = ["anomaly", "destination", "subscription", "producer", "seq", "from_broker", "at_ns", "detail"]


def anomalies(
    outcomes: DataFrame,
    deliveries: DataFrame,
    out_of_order: DataFrame,
    strangers: DataFrame,
    timeline: Timeline,
    *,
    all_expired: bool = True,
) -> DataFrame:
    """Rows of ANOMALIES: the earliest of each anomaly. ``second`` is of the due time, else of the receipt.

    ``deliveries``: marked, as `analysis.expectations` does. ``all_expired``: what is nowhere, and past its time to
    live, has expired; else some of it may be lost, and nobody knows which.
    """
    past_ttl = "expired" if all_expired else "expired or lost"
    parts = (_ends(outcomes, past_ttl), _copies(deliveries), _overtaken(out_of_order), _unreadable(strangers))
    every = reduce(DataFrame.unionByName, parts)
    earliest = Window.partitionBy("anomaly").orderBy("at_ns", "producer", "seq", "subscription", "detail")
    return (
        every.withColumn("place", F.row_number().over(earliest))
        .where(F.col("place") <= PER_ANOMALY)
        .withColumn("second", timeline.second(F.col("at_ns")))
        .drop("place", "at_ns")
    )


def _ends(outcomes: DataFrame, past_ttl: str) -> DataFrame:
    attempts = F.concat(F.col("attempts").cast("string"), F.lit(" attempt(s)"))
    where = F.coalesce(F.concat(F.lit(", left on "), F.col("found_at")), F.lit(""))
    named = outcomes.where(~F.col("message_outcome").isin("missing_unconfirmed", "past_ttl_unconfirmed"))
    gone = F.col("message_outcome") == "past_ttl"
    told = F.when(gone, F.lit(", nowhere once its time to live was over")).otherwise(where)
    anomaly = F.when(gone, past_ttl).otherwise(F.col("message_outcome"))
    return _rows(named, anomaly, F.concat(F.col("outcome"), F.lit(" after "), attempts, told))


def _copies(deliveries: DataFrame) -> DataFrame:
    """A delivery may be several of them at once: a corrupted duplicate is a row of each."""
    corrupted, duplicate = F.col("integrity") == "corrupted", F.col("duplicate")
    late, unselected = F.col("late"), F.col("unselected")
    too_late = _seen("its time to live was over")
    not_its = _seen("its selector does not match")
    kinds = F.array_compact(
        F.array(
            F.when(duplicate, F.struct(F.lit("duplicated").alias("anomaly"), _copy_detail().alias("detail"))),
            F.when(corrupted, F.struct(F.lit("corrupted").alias("anomaly"), _seen("its body is not as it was sent"))),
            F.when(unexpected(), F.struct(F.lit("unexpected").alias("anomaly"), _seen("no send of it is on record"))),
            F.when(late, F.struct(F.lit("expired_yet_received").alias("anomaly"), too_late)),
            F.when(unselected, F.struct(F.lit("unselected_yet_received").alias("anomaly"), not_its)),
        )
    )
    odd = deliveries.where(duplicate | corrupted | unexpected() | late | unselected).withColumn(
        "kind", F.explode(kinds)
    )
    return _rows(odd, F.col("kind.anomaly"), F.col("kind.detail"))


def _overtaken(out_of_order: DataFrame) -> DataFrame:
    detail = F.format_string("consumer %d had received seq %d before", F.col("consumer"), F.col("overtaken_by"))
    return _rows(out_of_order, F.lit("reordered"), detail)


def _unreadable(strangers: DataFrame) -> DataFrame:
    unreadable = strangers.where(F.col("integrity") == "unreadable")
    detail = F.format_string("identity unreadable, received by consumer %d from %s", F.col("consumer"), F.col("broker"))
    nameless = unreadable.withColumns({"from_broker": F.lit(""), "due_ns": F.lit(None).cast("bigint")})
    return _rows(nameless, F.lit("corrupted"), detail)


def _copy_detail() -> Column:
    after_ms = (F.col("received_ns") - F.col("first_received_ns")) / F.lit(1e6)
    by = F.when(F.col("by_resend"), F.lit("by a resend")).otherwise(F.lit("by the broker"))
    text = "copy %d, %s (attempt %d after %d), %.3f ms after the first, to consumer %d from %s"
    attempts = (F.col("attempt"), F.col("first_attempt"))
    return F.format_string(text, F.col("copy"), by, *attempts, after_ms, F.col("consumer"), F.col("to_broker"))


def _seen(what: str) -> Column:
    text = f"{what}; attempt %d, received by consumer %d from %s"
    return F.format_string(text, F.col("attempt"), F.col("consumer"), F.col("to_broker")).alias("detail")


def _rows(frame: DataFrame, anomaly: Column, detail: Column) -> DataFrame:
    at_ns = F.coalesce("due_ns", "received_ns") if "received_ns" in frame.columns else F.col("due_ns")
    return frame.withColumns({"anomaly": anomaly, "detail": detail, "at_ns": at_ns}).select(*_COLUMNS)
