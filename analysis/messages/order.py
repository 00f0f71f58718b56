"""Finds first deliveries that came out of order: after one with a higher seq of the same producer at the same consumer.

This is the only question about messages that a part of a run cannot answer alone, as a producer's messages are in many
parts. Each part tells what it sees (`overtaken`) and when the messages of each block arrived (`blocks`). A block of
seqs was overtaken from another part if any message of a higher block came before its last one. Only of such blocks
`latecomers` asks the parts again, and `passed_by` which seqs had come before those. So what is found is exact.
"""

import polars as pl

from records.parts import SEQS_PER_BLOCK

STREAM = ["consumer", "producer", "destination", "subscription"]
"""What has an order: the messages of one producer at one consumer."""
_BLOCK = [*STREAM, "block"]


def overtaken(firsts: pl.DataFrame) -> pl.DataFrame:
    """First deliveries with a lower seq than one that the same producer's messages reached the consumer with before.

    ``firsts``: of `analysis.messages.deliveries`. Their STREAM, seq, from_broker, due_ns and received_ns, and
    overtaken_by: the highest seq received earlier. Deliveries of one and the same moment have no order: sorted by seq,
    none of them comes after a higher one.
    """
    highest_before = pl.col("seq").cum_max().shift(1).over(STREAM)
    return (
        firsts.select(*STREAM, "seq", "from_broker", "due_ns", "received_ns")
        .sort("received_ns", "seq")
        .with_columns(highest_before.alias("overtaken_by"))
        .filter(pl.col("seq") < pl.col("overtaken_by"))
    )


def blocks(firsts: pl.DataFrame) -> pl.DataFrame:
    """One row a stream and block of seqs: when the first and the last of its messages were received."""
    return (
        firsts.with_columns(_block())
        .group_by(_BLOCK)
        .agg(pl.min("received_ns").alias("first_ns"), pl.max("received_ns").alias("last_ns"))
    )


def entangled(blocks: pl.DataFrame) -> pl.DataFrame:
    """The blocks of a whole run that a message of a higher block overtook, and after_ns: the earliest of those came."""
    later_blocks_ns = pl.col("first_ns").reverse().cum_min().reverse().shift(-1).over(STREAM)
    return (
        blocks.sort("block")
        .with_columns(later_blocks_ns.alias("after_ns"))
        .filter(pl.col("after_ns") < pl.col("last_ns"))
        .select(*_BLOCK, "after_ns")
    )


def overtaken_from_elsewhere(arrivals: pl.DataFrame, entangled: pl.DataFrame) -> pl.DataFrame:
    """First deliveries that a message of a higher block overtook."""
    of_blocks = arrivals.with_columns(_block()).join(entangled, _BLOCK)
    return of_blocks.filter(pl.col("received_ns") > pl.col("after_ns"))


def latecomers(firsts: pl.DataFrame, entangled: pl.DataFrame) -> pl.DataFrame:
    """The same, as `overtaken` has them, without overtaken_by."""
    late = overtaken_from_elsewhere(firsts, entangled)
    return late.select(*STREAM, "seq", "from_broker", "due_ns", "received_ns")


def passed_by(arrivals: pl.DataFrame, late: pl.DataFrame) -> pl.DataFrame:
    """STREAM and seq of those that are ``late``, and overtaken_by: the highest seq that some messages had before."""
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
    """Rows of REORDERED."""
    behind = pl.col("overtaken_by") - pl.col("seq")
    return out_of_order.group_by("destination", "subscription", "producer").agg(
        pl.len().cast(pl.Int64).alias("reordered"), behind.max().alias("furthest")
    )


def _block() -> pl.Expr:
    return (pl.col("seq") // SEQS_PER_BLOCK).alias("block")
