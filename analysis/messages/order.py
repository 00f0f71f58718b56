"""Finds first deliveries out of order: a consumer had already received a higher seq of the same producer.

A single part cannot find all of them, as a producer's messages are in many parts. Each part returns the deliveries that
were overtaken within the part (`overtaken`) and the arrival times of each block of seqs (`blocks`). A block was
overtaken if any message of a higher block arrived before the block's last message. Spark finds these blocks by a window
(`analysis.pipeline`). The receipt times of an overtaken block overlap with the times of a higher block. If there are
overtaken blocks, a second pass returns the deliveries that arrived during the overlaps (`in_overlaps`), and Spark
orders them by another window. The result is exact. Spark counts all overtaken deliveries by stream and fault, and keeps
a few of them (`summarized`).
"""

from collections.abc import Sequence

import polars as pl

from analysis.events.timeline import FaultSpan, last_begun
from analysis.messages.deliveries import MESSAGE
from analysis.packed_keys import PACKED, ROW, grouped, packed
from records.store.parts import SEQS_PER_BLOCK
from records.tables import merged_tables

STREAM = [*merged_tables.STREAM]
"""The key of an ordered stream: the messages of one producer at one consumer."""
_BLOCK = [*STREAM, "block"]


def overtaken(firsts: pl.DataFrame, faults: Sequence[FaultSpan] = ()) -> pl.DataFrame:
    """Return first deliveries that the consumer received after a higher seq of the same producer.

    ``firsts``: first deliveries from `analysis.messages.deliveries`. Returns the columns of the merged table OVERTAKEN,
    with alike 1 and no furthest; overtaken_by is the highest seq received earlier. Deliveries with the same time have
    no order: they are sorted by seq, so none of them counts as overtaken by another.
    """
    arrived = firsts.select("seq", "received_ns", packed(firsts, STREAM)[0]).with_row_index(ROW)
    highest_before = pl.col("seq").cum_max().shift(1).over(PACKED)
    late = (
        arrived.sort("received_ns", "seq")
        .with_columns(highest_before.alias("overtaken_by"))
        .filter(pl.col("seq") < pl.col("overtaken_by"))
    )
    return _arrivals(firsts[late[ROW]].with_columns(late["overtaken_by"]), faults, pl.lit(1))


def summarized(overtaken: pl.DataFrame) -> pl.DataFrame:
    """Return a few of the overtaken deliveries with the numbers of all: rows of `merged_tables.OVERTAKEN`."""
    alike = [*STREAM, "fault"]
    at_ns = pl.coalesce("due_ns", "received_ns")
    by_arrival = overtaken.sort("received_ns", "seq").with_columns(
        pl.int_range(pl.len()).over(alike).alias("place_alike"),
        (pl.col("overtaken_by") - pl.col("seq")).max().over(alike).alias("furthest"),
        pl.len().cast(pl.Int64).over(alike).alias("number"),
    )
    ranked = by_arrival.sort(at_ns, "seq").with_columns(pl.int_range(pl.len()).over(STREAM).alias("place"))
    is_first = pl.col("place_alike") == 0
    return (
        ranked.filter((pl.col("place") < merged_tables.MOST_OVERTAKEN) | is_first)
        .with_columns(pl.when(is_first).then("number").otherwise(0).alias("alike"))
        .select(overtaken.columns)
    )


def blocks(firsts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per stream and block of seqs: when its first and its last message were received."""
    times_ns = (pl.min("received_ns").alias("first_ns"), pl.max("received_ns").alias("last_ns"))
    return grouped(firsts.with_columns(_block()), _BLOCK, *times_ns).with_columns(
        pl.lit(None, pl.Int64).alias("after_ns")
    )


def overlaps(entangled: pl.DataFrame) -> pl.DataFrame:
    """Return STREAM, block and until_ns: when the last delivery of this or a lower overtaken block arrived.

    ``entangled``: the merged table blocks.
    """
    last_ns = pl.col("last_ns").cum_max().over(STREAM)
    return entangled.sort("block").select(*_BLOCK, last_ns.alias("until_ns"), pl.col("block").alias("of_block"))


def messages_in_overlaps(receipts: pl.DataFrame, overlaps: pl.DataFrame) -> pl.DataFrame:
    """Return the MESSAGE keys of the receipts that arrived during the overlaps, and maybe a few more."""
    of_blocks = receipts.filter(pl.col("producer").is_in(overlaps["producer"].unique().implode())).with_columns(
        _block()
    )
    arrived = grouped(of_blocks, _BLOCK, pl.min("received_ns"))
    within = _until(arrived, overlaps).filter(pl.col("received_ns") <= pl.col("until_ns")).select(*_BLOCK, "until_ns")
    return of_blocks.join(within, _BLOCK).filter(pl.col("received_ns") <= pl.col("until_ns")).select(MESSAGE).unique()


def in_overlaps(firsts: pl.DataFrame, overlaps: pl.DataFrame, faults: Sequence[FaultSpan] = ()) -> pl.DataFrame:
    """Return the first deliveries that arrived during the overlaps, with the columns of `overtaken`.

    alike is 1 for the blocks that were overtaken, and 0 for those that overtook. overtaken_by is null, because the seqs
    of other parts are unknown.
    """
    within = _until(firsts.with_columns(_block()), overlaps).filter(pl.col("received_ns") <= pl.col("until_ns"))
    unknown = within.with_columns(pl.lit(None, pl.Int64).alias("overtaken_by"))
    return _arrivals(unknown, faults, (pl.col("of_block") == pl.col("block")).cast(pl.Int64))


def _arrivals(firsts: pl.DataFrame, faults: Sequence[FaultSpan], alike: pl.Expr) -> pl.DataFrame:
    return firsts.select(
        *_BLOCK[:-1],
        _block(),
        "seq",
        last_begun(faults).alias("fault"),
        *("from_broker", "due_ns", "received_ns", "overtaken_by"),
        alike.cast(pl.Int64).alias("alike"),
        pl.lit(None, pl.Int64).alias("furthest"),
    )


def _until(rows: pl.DataFrame, overlaps: pl.DataFrame) -> pl.DataFrame:
    """Add until_ns of each row's block, or of the next lower block with an overlap; null if there is none."""
    return rows.sort("block").join_asof(
        overlaps.sort("block"), on="block", by=STREAM, strategy="backward", check_sortedness=False
    )


def reordered(summarized: pl.DataFrame) -> pl.DataFrame:
    """Return rows of REORDERED."""
    by_producer = summarized.group_by("destination", "subscription", "producer")
    return by_producer.agg(pl.sum("alike").alias("reordered"), pl.max("furthest"))


def _block() -> pl.Expr:
    return (pl.col("seq") // SEQS_PER_BLOCK).alias("block")
