"""Finds first deliveries out of order: a consumer had already received a higher seq of the same producer.

A single part cannot find all of them, as a producer's messages are in many parts. Each part returns the deliveries that
were overtaken within the part (`overtaken`) and the arrival times of each block of seqs (`blocks`). A block was
overtaken from another part if any message of a higher block arrived before the block's last message. Spark finds these
blocks by a window (`analysis.pipeline`). A second pass reads only these blocks: `latecomers` returns their late
deliveries, and `passed_by` the seqs that had arrived before. The result is exact.
"""

import polars as pl

from records import merged_tables
from records.parts import SEQS_PER_BLOCK

STREAM = [*merged_tables.STREAM]
"""The key of an ordered stream: the messages of one producer at one consumer."""
_BLOCK = [*STREAM, "block"]


def overtaken(firsts: pl.DataFrame) -> pl.DataFrame:
    """Return first deliveries that the consumer received after a higher seq of the same producer.

    ``firsts``: first deliveries from `analysis.messages.deliveries`. Columns: STREAM, seq, from_broker, due_ns,
    received_ns, and overtaken_by, the highest seq received earlier. Deliveries with the same time have no order: they
    are sorted by seq, so none of them counts as overtaken by another.
    """
    highest_before = pl.col("seq").cum_max().shift(1).over(STREAM)
    return (
        firsts.select(*STREAM, "seq", "from_broker", "due_ns", "received_ns")
        .sort("received_ns", "seq")
        .with_columns(highest_before.alias("overtaken_by"))
        .filter(pl.col("seq") < pl.col("overtaken_by"))
    )


def blocks(firsts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per stream and block of seqs: when its first and its last message were received."""
    return (
        firsts.with_columns(_block())
        .group_by(_BLOCK)
        .agg(pl.min("received_ns").alias("first_ns"), pl.max("received_ns").alias("last_ns"))
        .with_columns(pl.lit(None, pl.Int64).alias("after_ns"))
    )


def overtaken_from_elsewhere(arrivals: pl.DataFrame, entangled: pl.DataFrame) -> pl.DataFrame:
    """Return first deliveries that a message of a higher block overtook. ``entangled``: the merged table blocks."""
    of_blocks = arrivals.with_columns(_block()).join(entangled.select(*_BLOCK, "after_ns"), _BLOCK)
    return of_blocks.filter(pl.col("received_ns") > pl.col("after_ns"))


def latecomers(firsts: pl.DataFrame, entangled: pl.DataFrame) -> pl.DataFrame:
    """Return these deliveries with the columns of `overtaken`, except overtaken_by."""
    late = overtaken_from_elsewhere(firsts, entangled)
    return late.select(*STREAM, "seq", "from_broker", "due_ns", "received_ns")


def passed_by(arrivals: pl.DataFrame, late: pl.DataFrame) -> pl.DataFrame:
    """Return STREAM and seq of the ``late`` deliveries, and overtaken_by: the highest seq that arrived before."""
    of_streams = arrivals.join(late.select(STREAM).unique(), STREAM, how="semi")
    highest = of_streams.sort("received_ns").select(
        *STREAM, "received_ns", pl.col("seq").cum_max().over(STREAM).alias("overtaken_by")
    )
    return (
        late.select(*STREAM, "seq", "received_ns")
        .sort("received_ns")
        .join_asof(
            highest, on="received_ns", by=STREAM, strategy="backward", allow_exact_matches=False, check_sortedness=False
        )
        .filter(pl.col("overtaken_by").is_not_null())
        .select(*STREAM, "seq", "overtaken_by")
    )


def reordered(out_of_order: pl.DataFrame) -> pl.DataFrame:
    """Return rows of REORDERED."""
    behind = pl.col("overtaken_by") - pl.col("seq")
    return out_of_order.group_by("destination", "subscription", "producer").agg(
        pl.len().cast(pl.Int64).alias("reordered"), behind.max().alias("furthest")
    )


def _block() -> pl.Expr:
    return (pl.col("seq") // SEQS_PER_BLOCK).alias("block")
