"""The messages topic: outcomes by subscription, examples, order, first receipts and leftovers."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import polars as pl
import pyarrow.compute as pc

from analysis.events.routes import unexplained
from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.messages import accounting, deliveries, examples, left_behind, order
from analysis.messages.accounting import BETWEEN, expired_counts, kinds, settled
from analysis.messages.part import Part, durable_queues, search_of
from records.figures.messages import Destinations, FirstReceiptSpread
from records.tables.merged_tables import BLOCKS, OVERTAKEN, OVERTAKEN_IN_OVERLAPS
from records.tables.results import REORDERED
from records.tables.schemas import UNKNOWN
from records.units import NS_PER_MS, NS_PER_S


class MessagesTopic:
    """Tables: accounting, anomalies, reordered. Summary: kinds, refused, left_behind, destinations and leftovers.

    Sets for later topics:

    - late: first deliveries received out of order
    - unsearched: reasons for unaccounted messages in addition to the reasons recorded in the run
    - unexplained: receipts from destinations without a matching route
    - foreign: the places of messages of other clients or runs, in words
    """

    step = "accounted for the messages"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        several: dict[str, RowsOfPart] = (
            {BLOCKS: _blocks} if run.parts > 1 else {}
        )  # with one part, `overtaken` finds and counts all
        return several | {
            "counts": _counts,
            "outcomes": _outcomes,
            "examples": _examples,
            OVERTAKEN: _overtaken,
            "left_behind": _left_behind,
            "refused": _refused,
            "foreign_leftovers": _foreign_leftovers,
            "foreign": _foreign,
            "first_receipts": _first_receipts,
        }

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        results.late = _out_of_order(run, merged)
        counts = [accounting.by_subscription(merged["counts"]), accounting.count_reordered(results.late)]
        of_run = accounting.added_up(pl.concat(counts, how="diagonal"))
        counted = as_table(accounting.with_derived(of_run))
        if any(pc.sum(counted[name]).as_py() for name in BETWEEN):
            expired = expired_counts(run.samples, fresh=not run.info.brokers_ran_before)
            counted, results.unsearched = settled(counted, expired, search_of(run, durable_queues(run)))
        taken = (f"with other clients that consumed from queue {queue}" for queue in run.shared_queues)
        results.unsearched = (*results.unsearched, *taken)
        results.unexplained = tuple(unexplained(counted.to_pylist()))
        all_expired = not any(pc.sum(counted[name]).as_py() for name in ("lost", "unaccounted"))
        odd = examples.earliest(pl.concat([examples.repeated(merged["examples"]), examples.overtaken(results.late)]))
        results.tables |= {
            "accounting": counted,
            "anomalies": as_table(examples.make_rows(odd, run.timeline, all_expired=all_expired)),
            "reordered": as_table(order.reordered(results.late)) if results.late.height else REORDERED.empty_table(),
        }
        results.foreign = foreign_words(merged["foreign"].to_dicts(), run.info.destinations)
        foreign = int(merged["foreign_leftovers"]["messages"].sum())
        results.summary |= {
            "messages": accounting.messages(dict(merged["outcomes"].iter_rows()), counted, run.info.withheld),
            "kinds": kinds(counted, run.subscriptions.to_dicts(), run.info.users, run.routes.queues),
            "refused": dict(merged["refused"].sort("broker").iter_rows()),
            "left_behind": left_behind.sort_by_count(merged["left_behind"]),
            "destinations": spread(merged["first_receipts"].to_dicts(), closed=run.info.is_closed),
            "leftovers": run.sealing.rows["leftovers"] - foreign,
            "unsent_leftovers": _unsent(merged["left_behind"]),
            "foreign_leftovers": foreign,
        }


def _unsent(left: pl.DataFrame) -> int:
    return int(left.filter(pl.col("outcome") == left_behind.UNSENT)["messages"].sum())


def _out_of_order(run: Run, merged: MergedTables) -> pl.DataFrame:
    """Return a few first deliveries that were received out of order, with the numbers of all (`order.summarized`)."""
    within_parts = merged[OVERTAKEN]
    if BLOCKS not in merged or (entangled := merged[BLOCKS]).is_empty():
        return within_parts
    in_overlaps = partial(_in_overlaps, overlaps=order.overlaps(entangled))
    across_parts = run.compute("messages: order across parts", {OVERTAKEN_IN_OVERLAPS: in_overlaps})
    return pl.concat([within_parts, across_parts[OVERTAKEN_IN_OVERLAPS]])


def _counts(part: Part) -> pl.DataFrame:
    return accounting.by_count(accounting.counts(part.expected, part.outcomes, part.deliveries, part.strangers))


def _outcomes(part: Part) -> pl.DataFrame:
    return deliveries.outcomes(part.messages)


def _examples(part: Part) -> pl.DataFrame:
    unsent = left_behind.unsent(part.leftovers, part.messages)
    of_part = examples.earliest(
        pl.concat([examples.anomalies(part.outcomes, part.deliveries, part.strangers), examples.unsent(unsent)])
    )
    return of_part.with_columns(pl.lit(1, pl.Int64).alias("copies"))


def _overtaken(part: Part) -> pl.DataFrame:
    overtaken = order.overtaken(part.firsts, part.run.faults)
    return overtaken if part.run.parts > 1 else order.summarized(overtaken)


def _blocks(part: Part) -> pl.DataFrame:
    return order.blocks(part.firsts)


def _in_overlaps(part: Part, overlaps: pl.DataFrame) -> pl.DataFrame:
    messages = order.messages_in_overlaps(part.receipts, overlaps)
    return order.in_overlaps(part.narrowed(messages).firsts, overlaps, part.run.faults)


def _left_behind(part: Part) -> pl.DataFrame:
    return left_behind.left_behind(part.leftovers, part.outcomes, part.messages)


def _refused(part: Part) -> pl.DataFrame:
    return left_behind.count_rejected(part.sends, part.messages)


def _foreign_leftovers(part: Part) -> pl.DataFrame:
    """Count foreign leftovers. Other clients may use the same broker and its dead-letter queue."""
    return part.leftovers.select((pl.col("producer") == UNKNOWN).sum().cast(pl.Int64).alias("messages"))


def _foreign(part: Part) -> pl.DataFrame:
    return deliveries.foreign(part.strangers, part.leftovers)


MOST_PLACES = 5
"""Maximum number of places of foreign messages that a reason names, ordered by their number of messages."""


def foreign_words(places: Sequence[dict[str, Any]], destinations: Collection[str]) -> str:
    """Return ``40 received from queue://orders at broker-1; 2 left on …``, or empty if there were none. Pure.

    ``destinations``: the run's destinations. Leftovers on other queues belong to other clients and do not count.
    """
    ours = [row for row in places if not row["found"] or row["destination"] in destinations]
    most_first = sorted(ours, key=lambda row: (-row["messages"], row["destination"], row["broker"], row["found"]))
    verbs = {False: "received from", True: "(or unreadable ones) left on"}
    words = [f"{row['messages']:,} {verbs[row['found']]} {row['destination']} at {row['broker']}" for row in most_first]
    more = [f"more at {len(words) - MOST_PLACES:,} other places"] if len(words) > MOST_PLACES else []
    return "; ".join((*words[:MOST_PLACES], *more))


def _first_receipts(part: Part) -> pl.DataFrame:
    return first_receipts(part.messages, part.deliveries)


def first_receipts(messages: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return one row per destination.

    due_ns: when its first message was due, null if none was sent. received_ns: when its first message was received,
    null if none was.
    """
    sent = messages.group_by("destination").agg(pl.min("due_ns"))
    arrived = deliveries.group_by("destination").agg(pl.min("received_ns"))
    return earliest(pl.concat([sent, arrived], how="diagonal"))


def earliest(first_receipts: pl.DataFrame) -> pl.DataFrame:
    """Merge the rows of several parts of a run to one row per destination."""
    return first_receipts.group_by("destination").agg(pl.min("due_ns"), pl.min("received_ns"))


def spread(rows: Sequence[dict[str, Any]], *, closed: bool = False) -> Destinations:
    """Return the summary's section from rows of `first_receipts`. ``closed``: there are no due times to count from."""
    rows = [row for row in rows if row["due_ns"] is not None]
    reached = [row for row in rows if row["received_ns"] is not None]
    waits_ns = sorted(row["received_ns"] - row["due_ns"] for row in reached if not closed)
    all_flow_s = None
    if waits_ns and len(waits_ns) == len(rows):
        began_ns = min(row["due_ns"] for row in rows)
        all_flow_s = (max(row["received_ns"] for row in rows) - began_ns) / NS_PER_S
    return Destinations(
        count=len(rows),
        reached=len(reached),
        all_flow_s=all_flow_s,
        first_ms=FirstReceiptSpread(
            p50=waits_ns[(len(waits_ns) - 1) // 2] / NS_PER_MS if waits_ns else None,
            max=waits_ns[-1] / NS_PER_MS if waits_ns else None,
        ),
    )
