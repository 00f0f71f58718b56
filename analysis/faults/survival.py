"""Finds which messages confirmed by a broker survived its fault, and where in their sequences messages were lost.

A message is *at risk* at a fault if the fault's broker had confirmed it, and no consumer had received it, when the
fault took effect. A *sequence* is the messages at risk of one producer to one subscription, in the order of sending.
A message is *gone* if it was neither received nor found on a queue, even if some queues could not be searched.
A sequence with losses has lost all messages, or a *tail* (its last messages, whose writes were not synced), or it has a
*hole*: a later message survived.

Broker and producer refer to the first attempt. In a network, messages already forwarded to other brokers survive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.events.timeline import FaultSpan
from analysis.faults.harm import fault_of
from analysis.messages.deliveries import MESSAGE
from records.units import NS_PER_S

SEQUENCE = ("fault", "producer", "subscription")
FOUND = ("stranded", "dead_lettered", "unselected")
"""Outcomes of messages that were found on a queue after the drain."""
GONE = ("lost", "unaccounted")
"""Outcomes of messages that were not found. ``unaccounted``: some queues could not be searched."""


@dataclass(frozen=True)
class Survival:
    """Outcomes of the messages at risk at one fault. ``oldest_lost_s``: 0 if none is gone.

    ``lost_tails``, ``lost_holes``, ``lost_whole``: number of sequences that lost a tail, more than a tail, or all.
    """

    at_risk: int = 0
    gone: int = 0
    lost_tails: int = 0
    lost_holes: int = 0
    lost_whole: int = 0
    oldest_lost_s: float = 0.0


def at_risk(
    expected: pl.DataFrame, firsts: pl.DataFrame, outcomes: pl.DataFrame, faults: Sequence[FaultSpan]
) -> pl.DataFrame:
    """Return one row per fault and message at risk with a known outcome.

    Columns: fault, producer, seq, subscription, acked_ns, lost (gone). A lost message is lost at one fault only, by
    `analysis.faults.harm.fault_of`.
    """
    to = [*MESSAGE, "subscription"]
    confirmed = expected.filter(pl.col("acked_ns").is_not_null()).select(*to, "from_broker", "sent_ns", "acked_ns")
    known = confirmed.join(firsts.select(*to, "received_ns"), to, how="left").join(
        outcomes.select(*to, "message_outcome"), to, how="left"
    )
    known = known.with_columns(fault_of(faults).alias("lost_at"))
    is_lost = pl.col("message_outcome").is_in(GONE).fill_null(False)
    is_found = pl.col("message_outcome").is_in(FOUND).fill_null(False)

    def of_fault(fault: FaultSpan) -> pl.DataFrame:
        at_ns = fault.began_ns if fault.effective_ns is None else fault.effective_ns
        received_later = (pl.col("received_ns") > at_ns).fill_null(False)
        lost = is_lost & (pl.col("lost_at") == fault.number).fill_null(False)
        of_its_broker = (pl.col("from_broker") == fault.target) & (pl.col("acked_ns") <= at_ns)
        rows = known.filter(of_its_broker & (lost | received_later | is_found))
        return rows.select(pl.lit(fault.number, pl.Int32).alias("fault"), *to, "acked_ns", lost.alias("lost"))

    return pl.concat(map(of_fault, faults))


def by_sequence(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per sequence in `at_risk`: at_risk, gone, first_lost, last_survived, oldest_lost_ns."""
    lost = pl.col("lost")
    return rows.group_by(SEQUENCE).agg(
        pl.len().cast(pl.Int64).alias("at_risk"),
        lost.sum().cast(pl.Int64).alias("gone"),
        pl.col("seq").filter(lost).min().alias("first_lost"),
        pl.col("seq").filter(~lost).max().alias("last_survived"),
        pl.col("acked_ns").filter(lost).min().alias("oldest_lost_ns"),
    )


def by_second(rows: pl.DataFrame, second: pl.Expr) -> pl.DataFrame:
    """Return one row per fault and second of confirmation: fault, second, survived, lost. Counts can be added."""
    return rows.group_by("fault", second.alias("second")).agg(
        (~pl.col("lost")).sum().cast(pl.Int64).alias("survived"), pl.col("lost").sum().cast(pl.Int64).alias("lost")
    )


def survivals(sequences: pl.DataFrame, faults: Iterable[FaultSpan]) -> dict[int, Survival]:
    """Return survival by fault number. ``sequences``: rows of the whole run."""
    return {fault.number: _survival(sequences.filter(pl.col("fault") == fault.number), fault) for fault in faults}


def _survival(sequences: pl.DataFrame, fault: FaultSpan) -> Survival:
    with_losses = sequences.filter(pl.col("first_lost").is_not_null())
    is_whole = with_losses["last_survived"].is_null()
    has_hole = (with_losses["first_lost"] < with_losses["last_survived"]).fill_null(False)
    oldest_ns = with_losses["oldest_lost_ns"].min()
    return Survival(
        at_risk=int(sequences["at_risk"].sum()),
        gone=int(sequences["gone"].sum()),
        lost_tails=int((~is_whole & ~has_hole).sum()),
        lost_holes=int(has_hole.sum()),
        lost_whole=int(is_whole.sum()),
        oldest_lost_s=max(0, fault.began_ns - int(oldest_ns)) / NS_PER_S if isinstance(oldest_ns, int) else 0.0,
    )
