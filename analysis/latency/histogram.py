"""Computes the canonical latency table: the time of each message since it was due and since it was sent.

Each subscription's first receipt of a message is timed. Nothing is clamped: negative durations have buckets.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import polars as pl

from analysis.events.stalls import Stalls, with_read_late_ns
from analysis.events.timeline import Timeline
from analysis.messages.deliveries import first
from analysis.packed_keys import PACKED, ROW, by_number, grouped, packed
from records.figures.buckets import BUCKETS_PER_OCTAVE, LINEAR_BITS
from records.tables.merged_tables import BUCKET

KEY = ["measure", "from_broker", "to_broker", "hops", "phase", "second", "in_fault", "bucket"]
FIGURES = {
    "count": pl.sum("count"),
    "count_less_own": pl.sum("count_less_own"),
    "impossible": pl.sum("impossible"),
    "min_ns": pl.min("min_ns"),
    "max_ns": pl.max("max_ns"),
    "less_own_min_ns": pl.min("less_own_min_ns"),
    "less_own_max_ns": pl.max("less_own_max_ns"),
}
"""The aggregations of rows with equal keys."""
NO_STALLS = Stalls()


def durations(
    sends: pl.DataFrame,
    messages: pl.DataFrame,
    deliveries: pl.DataFrame,
    stalls: Stalls = NO_STALLS,
    replies: Collection[str] = (),
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each measure with one row per duration: from_broker, to_broker, hops, due_ns, from_ns, until_ns, own_ns,
    read_late_ns.

    ``replies``: the destinations whose messages are replies, due when their requests were.

    own_ns: the generator's own delay within the duration: the lag of the send if the duration starts at the due time,
    and the lateness of the read. read_late_ns: only the latter. ready_to_sent has neither. due_to_received is missing
    for a message without a recorded send, and sent_to_received for an attempt without a recorded send.
    """
    read_late_ns, both_ns = pl.col("read_late_ns"), pl.col("own_ns") + pl.col("read_late_ns")
    received = _known_hops(_read(first(deliveries).filter(pl.col("due_ns").is_not_null()), stalls))
    yield "due_to_received", _durations(received, pl.col("due_ns"), "received_ns", both_ns)
    yield "sent_to_received", _durations(received, pl.col("sent_ns"), "received_ns", read_late_ns)
    if replies:
        answers = received.filter(pl.col("destination").is_in([*replies]))
        yield "round_trip", _durations(answers, pl.col("due_ns"), "received_ns", both_ns)
    acked = sends.filter(pl.col("outcome") == "acked").rename({"broker": "from_broker"})
    answered = with_read_late_ns(acked, stalls.of_producers, "producer", "settled_ns", pl.col("sent_ns"))
    yield "sent_to_settled", _durations(_not_received(answered), pl.col("sent_ns"), "settled_ns", read_late_ns)
    sent = _not_received(messages).with_columns(pl.lit(0, pl.Int64).alias("read_late_ns"))
    ready_ns = pl.col("sent_ns") - pl.col("own_ns")  # when it was sent, if that was before
    yield "ready_to_sent", _durations(sent, ready_ns, "sent_ns", pl.lit(0, pl.Int64))


def from_due(deliveries: pl.DataFrame, stalls: Stalls) -> pl.DataFrame:
    """Return the first deliveries with a known due time: the columns of deliveries, took_ns, less_own_ns and
    read_late_ns."""
    received = _read(first(deliveries).filter(pl.col("due_ns").is_not_null()), stalls)
    took_ns, own_ns = pl.col("received_ns") - pl.col("due_ns"), pl.col("own_ns") + pl.col("read_late_ns")
    return received.with_columns(took_ns.alias("took_ns"), (took_ns - own_ns).alias("less_own_ns"))


def _read(deliveries: pl.DataFrame, stalls: Stalls) -> pl.DataFrame:
    """Add read_late_ns to deliveries. An unrecorded attempt was not sent before the first recorded attempt."""
    sent_ns = pl.coalesce("sent_ns", "first_sent_ns")
    return with_read_late_ns(deliveries, stalls.of_consumers, "consumer", "received_ns", sent_ns)


def _known_hops(deliveries: pl.DataFrame) -> pl.DataFrame:
    """Set hops to null for a message from another broker with at most one broker's stamp.

    Classic stamps a message while it forwards it, and about one message in thousands leaves before that (5.18.3).
    """
    unstamped = (pl.col("hops") == 0) & (pl.col("from_broker") != pl.col("to_broker"))
    return deliveries.with_columns(pl.when(~unstamped.fill_null(False)).then("hops").alias("hops"))


def _not_received(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit("").alias("to_broker"), pl.lit(None, pl.Int32).alias("hops"))


def _durations(frame: pl.DataFrame, began: pl.Expr, ended: str, own_ns: pl.Expr) -> pl.DataFrame:
    """Return the durations whose start and end are known."""
    return frame.select(
        "from_broker",
        "to_broker",
        "hops",
        "due_ns",
        began.alias("from_ns"),
        pl.col(ended).alias("until_ns"),
        own_ns.alias("own_ns"),
        "read_late_ns",
    ).filter(pl.col("from_ns").is_not_null() & pl.col("until_ns").is_not_null())


def latency(durations: Iterator[tuple[str, pl.DataFrame]], timeline: Timeline, clock_error_ns: int) -> pl.DataFrame:
    """Return rows of LATENCY with exact min_ns and max_ns, and the number of values below -clock_error_ns (impossible).

    less_own_min_ns and less_own_max_ns are the extremes of the values in count_less_own, except that a message that was
    read late cannot be the minimum, as the brokers' part of its time is unknown. They are null if the count is 0.
    """
    histograms = (_histogram(measure, timed, timeline, clock_error_ns) for measure, timed in durations)
    return pl.concat(histograms, how="diagonal")


def added_up(rows: pl.DataFrame, key: Sequence[str] = KEY) -> pl.DataFrame:
    """Merge rows of several measures, paths or parts to one row per ``key``."""
    return grouped(rows, key, *(figure for name, figure in FIGURES.items() if name in rows.columns))


def _histogram(measure: str, durations: pl.DataFrame, timeline: Timeline, clock_error_ns: int) -> pl.DataFrame:
    """Return the histogram of one measure, both as recorded and less the generator's own delay."""
    due_ns = pl.col("due_ns")
    timed = durations.select(
        *(pl.col(name).cast(pl.Categorical) for name in ("from_broker", "to_broker")),  # few distinct values
        *("hops", "read_late_ns"),
        timeline.phase(due_ns).alias("phase"),
        timeline.second_of(due_ns).alias("second"),
        timeline.in_fault(pl.col("from_ns"), pl.col("until_ns")).alias("in_fault"),
        (pl.col("until_ns") - pl.col("from_ns")).alias("took_ns"),
        (pl.col("until_ns") - pl.col("from_ns") - pl.col("own_ns")).alias("less_own_ns"),
    )
    histogram = bucketed(timed, [name for name in KEY if name != "measure"], clock_error_ns)
    return histogram.with_columns(pl.lit(measure).cast(pl.Categorical).alias("measure"))


def bucketed(timed: pl.DataFrame, key: Sequence[str], clock_error_ns: int) -> pl.DataFrame:
    """Count durations by ``key``, which contains bucket: as recorded, and less the generator's own delay.

    ``timed``: took_ns, less_own_ns, read_late_ns, and the other columns of the key.
    """
    took_ns, less_own_ns = pl.col("took_ns"), pl.col("less_own_ns")
    others = [name for name in key if name != BUCKET]
    is_same = bool((timed["took_ns"] == timed["less_own_ns"]).all())  # then no message was read late, either
    buckets = buckets_of(timed["took_ns"])
    less_own_buckets = buckets if is_same else buckets_of(timed["less_own_ns"])
    lowest, span = _extent(buckets, less_own_buckets)
    numbers, room = packed(timed, others)
    assert room * span < 2**63, "more paths, seconds and buckets than a number has room for"

    def groups(buckets: pl.Series, *figures: pl.Expr) -> pl.DataFrame:
        return by_number(timed, numbers * span + (buckets - lowest).fill_null(span - 1), *figures)

    whole = groups(
        buckets,
        pl.len().cast(pl.Int64).alias("count"),
        (took_ns < -clock_error_ns).sum().cast(pl.Int64).alias("impossible"),
        took_ns.min().alias("min_ns"),
        took_ns.max().alias("max_ns"),
    )
    if is_same:
        same = {"count": "count_less_own", "min_ns": "less_own_min_ns", "max_ns": "less_own_max_ns"}
        figures = whole.with_columns(pl.col(name).alias(copied_to) for name, copied_to in same.items())
    else:
        least_ns = pl.when(pl.col("read_late_ns") > 0).then(took_ns).otherwise(less_own_ns)
        less_own = groups(
            less_own_buckets,
            pl.len().cast(pl.Int64).alias("count_less_own"),
            least_ns.min().alias("less_own_min_ns"),
            less_own_ns.max().alias("less_own_max_ns"),
        )
        figures = whole.join(less_own, PACKED, how="full", coalesce=True).with_columns(
            pl.coalesce(ROW, f"{ROW}_right").alias(ROW), pl.col("count", "count_less_own", "impossible").fill_null(0)
        )
    code = pl.col(PACKED) % span
    keys = timed.select(others)[figures[ROW]]
    found = figures.select(
        pl.when(code != span - 1).then(code + lowest).cast(pl.Int32).alias(BUCKET),
        *FIGURES,
    )
    return pl.concat([keys, found], how="horizontal")


def _extent(*buckets: pl.Series) -> tuple[int, int]:
    """Return the lowest bucket, and the number of codes for the buckets from there on; the last code is of null."""
    together = pl.concat(buckets)
    lowest, highest = together.min(), together.max()
    return (0, 1) if lowest is None else (int(lowest), int(highest) - int(lowest) + 2)  # type: ignore[arg-type]


def buckets_of(values_ns: pl.Series) -> pl.Series:
    """Return the bucket (Int64) of each of |ns| < 2**63; null for null.

    A double may put a value below a power of two into the octave above. Both octaves have the same bucket number at
    their border, so the result is still correct.
    """
    values = values_ns.fill_null(0).to_numpy()
    magnitudes = np.abs(values)
    _, bits = np.frexp(magnitudes.astype("float64"))
    dropped_bits = np.maximum(bits - LINEAR_BITS, 0)
    buckets = pl.Series(BUCKET, (dropped_bits * BUCKETS_PER_OCTAVE + (magnitudes >> dropped_bits)) * np.sign(values))
    return buckets.set(values_ns.is_null(), None) if values_ns.null_count() else buckets
