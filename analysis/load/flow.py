"""Finds how many deliveries waited at the end of each second of a load, and whether a backlog grew.

A delivery waits from when its message was due until it is received. Some were never received and still waited when the
load ended: those of messages that were never sent, and those of the last messages that had no answer or were left on a
queue. What was lost is in no backlog. Runs on the driver, on few rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.timeline import Timeline
from analysis.latency.timing import FROM_DUE
from analysis.load.rates import LEAST_MORE, LEAST_MORE_S
from analysis.messages.outcomes import NOBODY
from records.buckets import value_ns
from records.rate_steps import LEAST_SHARE
from records.step_judgement import MOST_BACKLOG_S
from records.units import NS_PER_S

LEAST_S = 8
"""So many seconds in a row at least say whether a backlog grows: two in the first quarter."""
FEWEST = 10
"""A backlog that grows by fewer messages says nothing."""
SHORTEST_GROWTH_S = 3
"""What limited a rate is looked for in no fewer seconds."""
ARRIVED = 0.1
"""So much of what was due in a second was received sooner or later, or hardly any of it was."""
MOST = 0.5
"""A rate of which less came is not held, though nothing of the rest waits: it was refused, lost or expired."""
PENDING = ("stranded", "unaccounted", "left_unconfirmed")
"""What becomes of a message that still waits when nobody looks any more; one without an answer does so too."""


@dataclass(frozen=True)
class Deliveries:
    """Deliveries by the second in which their messages were due, of messages that were sent.

    ``owed``: those that the subscriptions should have. ``pending``: the part of these that had not come in the end, and
    may still have been on its way.
    """

    owed: Mapping[int, int] = field(default_factory=dict)
    pending: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "Deliveries":
        """``rows``: of `deliveries_owed`, added up."""
        by_second = {row["second"]: row for row in rows}
        return cls(
            {at_s: row["expected"] - row["missed_away"] for at_s, row in by_second.items()},
            {at_s: row["pending"] + row["in_doubt"] - row["recovered"] for at_s, row in by_second.items()},
        )


def deliveries_owed(expected: pl.DataFrame, outcomes: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """One row a second and table: see `Deliveries`. Rows of parts of a run add up.

    A queue's message that no consumer's selector matches is owed to nobody, nor is one whose subscriber was away.
    """

    def count(condition: pl.Expr, name: str) -> pl.Expr:
        return condition.sum().cast(pl.Int64).alias(name)

    at_s, outcome = timeline.second_of(pl.col("due_ns")).alias("second"), pl.col("message_outcome")
    sent = expected.filter((pl.col("subscription") != NOBODY) & ~pl.col("unselected"))
    of_sent = sent.group_by(at_s).agg(
        pl.len().cast(pl.Int64).alias("expected"), count(pl.col("outcome") == "in_doubt", "in_doubt")
    )
    of_outcomes = outcomes.group_by(at_s).agg(
        count(outcome == "missed_away", "missed_away"),
        count(outcome == "recovered", "recovered"),
        count(outcome.is_in(PENDING), "pending"),
    )
    return pl.concat([of_sent, of_outcomes], how="diagonal").fill_null(0)


@dataclass(frozen=True)
class Flow:
    """By second of the load: deliveries that were due; the part of these that came sooner or later, and the part that
    still waited at the end; and all that waited at the end of the second."""

    owed_in: Mapping[int, float]
    arrived: Mapping[int, float]
    left: Mapping[int, float]
    waiting: Mapping[int, float]

    @classmethod
    def of(cls, timed: pa.Table, deliveries: Deliveries, unsent: Mapping[int, float], ends_s: int) -> "Flow":
        """``timed``: rows of FROM_DUE. ``unsent``: deliveries of messages that were never sent. ``ends_s``: the second
        with which the load ends."""
        owed_in: dict[int, float] = defaultdict(float, deliveries.owed)
        for at_s, count in unsent.items():
            owed_in[at_s] += count
        left: dict[int, float] = defaultdict(float, unsent)
        for at_s in _last_pending(deliveries, ends_s):
            left[at_s] += deliveries.pending[at_s]
        return cls(owed_in, arrived_of(timed), left, _with_left(waiting_by_second(timed), left, ends_s))

    def owed(self, seconds: range) -> float:
        """Deliveries that were due."""
        return sum(self.owed_in.get(at_s, 0) for at_s in seconds)

    def received(self, seconds: range) -> float:
        """Deliveries that came within these seconds, whenever they were due."""
        awaited = sum(self.arrived.get(at_s, 0) + self.left.get(at_s, 0) for at_s in seconds)
        return awaited + self.waiting_after(seconds.start - 1) - self.waiting_after(seconds.stop - 1)

    def waiting_after(self, at_s: int) -> float:
        return self.waiting.get(at_s, 0.0)

    def seconds_due(self, load: range) -> range:
        """Up to the last second in which anything was due: from then on what waits drains."""
        return range(load.start, max((at for at in load if self.owed_in.get(at)), default=load.start - 1) + 1)

    def most_came(self, seconds: range) -> bool:
        """Whether most of what was due in each half of these seconds came, sooner or later, or waited at the end."""
        middle = (seconds.start + seconds.stop) // 2
        return all(
            sum(self.arrived.get(at_s, 0) + self.left.get(at_s, 0) for at_s in half) >= MOST * self.owed(half)
            for half in (range(seconds.start, middle), range(middle, seconds.stop))
        )

    def any_arrived(self, load: range) -> bool:
        """Whether more than hardly any of what was due in some second came."""
        return any(self.arrived.get(at, 0) > ARRIVED * self.owed(range(at, at + 1)) for at in load)


def _last_pending(deliveries: Deliveries, ends_s: int) -> list[int]:
    """The seconds at the end of the load that all have deliveries which never came and may still have waited.

    Those of earlier seconds stopped somewhere, and what was due after them did not.
    """
    seconds = []
    for at_s in sorted((at_s for at_s in deliveries.owed if at_s < ends_s), reverse=True):
        if deliveries.pending.get(at_s, 0) <= (1 - LEAST_SHARE) * deliveries.owed[at_s]:
            break
        seconds.append(at_s)
    return seconds


def _with_left(waiting: Mapping[int, float], left: Mapping[int, float], ends_s: int) -> dict[int, float]:
    """With deliveries that waited from the second in which they were due, and did not come."""
    together, left_so_far = {}, 0.0
    first_s = min([*waiting, *left], default=0)
    for at_s in range(first_s, max([ends_s, *waiting]) + 1):
        left_so_far += left.get(at_s, 0.0)
        together[at_s] = waiting.get(at_s, 0.0) + left_so_far
    return together


@dataclass(frozen=True)
class Growth:
    """By how much more waited at the end of ``seconds`` than at their beginning; ``least``: less would not count.

    ``grew_in``: the last of the seconds, since few waited for the last time.
    """

    seconds: range
    grown: float
    least: float
    grew_in: range

    @property
    def counts(self) -> bool:
        return self.grown >= self.least


def growth(seconds: range, waiting: Mapping[int, float], owed: float, *, together: float = 0.0) -> Growth | None:
    """None of too few seconds. The beginning is the first quarter, in its median.

    ``owed``: deliveries that were due in these seconds. ``together``: how many come at once and wait for each other, as
    those of transactions do. A backlog that has drained within a second after the last one is none: a machine that
    stood still for a moment has caught up.
    """
    if len(seconds) < LEAST_S:
        return None
    depth = [waiting.get(at_s, 0.0) for at_s in seconds]
    first_quarter = depth[: round(len(depth) / 4)]
    usual = median(first_quarter)
    little_more = max(LEAST_MORE, LEAST_MORE_S * owed / len(seconds))
    has_drained = waiting.get(seconds.stop, 0.0) <= usual + little_more
    few = min(first_quarter) + little_more
    grew_from_s = max((at_s for at_s in seconds if waiting.get(at_s, 0.0) <= few), default=seconds.start)
    grew_from_s = max(seconds.start, min(grew_from_s, seconds.stop - SHORTEST_GROWTH_S))
    least = least_growth(owed, len(seconds)) + together
    return Growth(seconds, 0.0 if has_drained else depth[-1] - usual, least, range(grew_from_s, seconds.stop))


def least_growth(owed: float, for_s: int) -> float:
    """The rate was held if a backlog grew by fewer deliveries. ``owed``: how many were due in so many seconds."""
    return max(MOST_BACKLOG_S * owed / max(for_s, 1), (1 - LEAST_SHARE) * owed, FEWEST)


def rows_of_measure(latency: pa.Table, measure: str = FROM_DUE) -> pa.Table:
    return latency.filter(pc.equal(latency["measure"], measure))


def arrived_of(timed: pa.Table) -> dict[int, float]:
    """How many messages that were due in each second were received, sooner or later. ``timed``: rows of a measure."""
    summed = timed.group_by("second").aggregate([("count", "sum")])
    return dict(zip(summed["second"].to_pylist(), summed["count_sum"].to_pylist(), strict=True))


def waiting_by_second(timed: pa.Table) -> dict[int, float]:
    """How many messages waited at the end of each second, of those that were received sooner or later.

    ``timed``: rows of a measure. The messages of a second are taken as due evenly within it.
    """
    changes: dict[int, float] = defaultdict(float)
    summed = timed.group_by(["second", "bucket"]).aggregate([("count", "sum")])
    for row in summed.sort_by([("second", "ascending"), ("bucket", "ascending")]).to_pylist():  # sums are of floats
        at_s, count = row["second"], row["count_sum"]
        whole, part = divmod(max(value_ns(row["bucket"]), 0) / NS_PER_S, 1)
        changes[at_s] += count if whole else count * part
        if whole:  # all of them wait for so many ends of seconds, and a part for one more
            changes[at_s + int(whole)] -= count * (1 - part)
        changes[at_s + int(whole) + 1] -= count * part
    waiting, waits = {}, 0.0
    for at_s in range(min(changes, default=0), max(changes, default=0)):
        waits += changes.get(at_s, 0.0)
        waiting[at_s] = max(waits, 0.0)
    return waiting
