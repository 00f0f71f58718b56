"""Computes the number of waiting deliveries at the end of each second of a load, and whether a backlog grew.

A delivery waits from its message's due time until it is received. Some deliveries were never received and still waited
when the load ended: messages that were never sent, and the last messages without an answer or left on a queue. Lost
messages are in no backlog. Runs on the driver, on few rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import polars as pl

from analysis.events.timeline import Timeline
from analysis.latency.seconds import LatencyBySecond
from analysis.load.rates import LEAST_MORE, LEAST_MORE_S
from analysis.messages.outcomes import NOBODY
from records.figures.step_judgement import MOST_BACKLOG_S
from records.loads.rate_steps import LEAST_SHARE

LEAST_S = 8
"""Minimum number of consecutive seconds to decide whether a backlog grows: two in the first quarter."""
FEWEST = 10
"""A backlog that grows by fewer messages is ignored."""
SHORTEST_GROWTH_S = 3
"""Minimum number of seconds for the search for a rate's limit."""
ARRIVED = 0.1
"""Below this share of received messages, hardly any of the messages due in a second were received."""
MOST = 0.5
"""With a smaller share received, the rate is not held even without a backlog: the rest was refused, lost or expired."""
PENDING = ("stranded", "unaccounted", "left_unconfirmed")
"""Outcomes of messages that still wait at the end of the recording. Messages without an answer also wait."""


@dataclass(frozen=True)
class Deliveries:
    """Deliveries of sent messages, by the due second of the messages.

    ``owed``: deliveries that the subscriptions should receive. ``pending``: owed deliveries that had not arrived at the
    end and may still have been in transit.
    """

    owed: Mapping[int, int] = field(default_factory=dict)
    pending: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "Deliveries":
        """Build from the rows of `deliveries_owed`, added up."""
        by_second = {row["second"]: row for row in rows}
        return cls(
            {at_s: row["expected"] - row["missed_away"] for at_s, row in by_second.items()},
            {at_s: row["pending"] + row["in_doubt"] - row["recovered"] for at_s, row in by_second.items()},
        )


def deliveries_owed(expected: pl.DataFrame, outcomes: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return one row per second and table: see `Deliveries`. Counts from several parts can be added.

    Not owed are queue messages that no consumer's selector matches, and messages whose subscriber was away.
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
    """Deliveries by second of the load.

    Counts the deliveries that were due in each second, how many of them arrived at any time, how many still waited at
    the end, and all deliveries that waited at the end of the second.
    """

    owed_in: Mapping[int, float]
    arrived: Mapping[int, float]
    left: Mapping[int, float]
    waiting: Mapping[int, float]

    @classmethod
    def of(cls, latency: LatencyBySecond, deliveries: Deliveries, unsent: Mapping[int, float], ends_s: int) -> "Flow":
        """Compute the flow.

        ``unsent``: deliveries of messages that were never sent. ``ends_s``: the last second of the load.
        """
        owed_in: dict[int, float] = defaultdict(float, deliveries.owed)
        for at_s, count in unsent.items():
            owed_in[at_s] += count
        left: dict[int, float] = defaultdict(float, unsent)
        for at_s in _last_pending(deliveries, ends_s):
            left[at_s] += deliveries.pending[at_s]
        return cls(owed_in, latency.arrived(), left, _with_left(latency.waiting(), left, ends_s))

    def due_deliveries(self, seconds: range) -> float:
        """Return the number of deliveries that were due in these seconds."""
        return sum(self.owed_in.get(at_s, 0) for at_s in seconds)

    def received(self, seconds: range) -> float:
        """Return the number of deliveries that arrived in these seconds, regardless of the due time."""
        awaited = sum(self.arrived.get(at_s, 0) + self.left.get(at_s, 0) for at_s in seconds)
        return awaited + self.waiting_after(seconds.start - 1) - self.waiting_after(seconds.stop - 1)

    def waiting_after(self, at_s: int) -> float:
        return self.waiting.get(at_s, 0.0)

    def seconds_due(self, load: range) -> range:
        """Return the seconds up to the last one with due messages. After that, the backlog only drains."""
        return range(load.start, max((at for at in load if self.owed_in.get(at)), default=load.start - 1) + 1)

    def most_arrived(self, seconds: range) -> bool:
        """Return whether most deliveries due in each half of these seconds arrived at any time or waited at the end."""
        middle = (seconds.start + seconds.stop) // 2
        return all(
            sum(self.arrived.get(at_s, 0) + self.left.get(at_s, 0) for at_s in half) >= MOST * self.due_deliveries(half)
            for half in (range(seconds.start, middle), range(middle, seconds.stop))
        )

    def any_arrived(self, load: range) -> bool:
        """Return whether more than the share ARRIVED of the deliveries due in any second arrived."""
        return any(self.arrived.get(at, 0) > ARRIVED * self.due_deliveries(range(at, at + 1)) for at in load)


def _last_pending(deliveries: Deliveries, ends_s: int) -> list[int]:
    """Return the consecutive last seconds of the load with deliveries that never arrived and may still have waited.

    Pending deliveries of earlier seconds got stuck somewhere, because later deliveries arrived.
    """
    seconds = []
    for at_s in sorted((at_s for at_s in deliveries.owed if at_s < ends_s), reverse=True):
        if deliveries.pending.get(at_s, 0) <= (1 - LEAST_SHARE) * deliveries.owed[at_s]:
            break
        seconds.append(at_s)
    return seconds


def _with_left(waiting: Mapping[int, float], left: Mapping[int, float], ends_s: int) -> dict[int, float]:
    """Add deliveries that waited from the second of their due time and never arrived."""
    together, left_so_far = {}, 0.0
    first_s = min([*waiting, *left], default=0)
    for at_s in range(first_s, max([ends_s, *waiting]) + 1):
        left_so_far += left.get(at_s, 0.0)
        together[at_s] = waiting.get(at_s, 0.0) + left_so_far
    return together


@dataclass(frozen=True)
class Growth:
    """Growth of the backlog from the start to the end of ``seconds``; ``least``: smaller growth would not count.

    ``grew_in``: the last seconds, since the backlog was small for the last time.
    """

    seconds: range
    grown: float
    least: float
    grew_in: range

    @property
    def counts(self) -> bool:
        return self.grown >= self.least


def growth(seconds: range, waiting: Mapping[int, float], owed: float, *, together: float = 0.0) -> Growth | None:
    """Return the growth of the backlog; None for too few seconds. The starting value is the first quarter's median.

    ``owed``: deliveries that were due in these seconds. ``together``: number of messages that wait for each other and
    arrive at the same time, like messages in a transaction. A backlog that drains within a second after the last one
    does not count: the machine stalled for a moment and has caught up.
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
    """Return the smallest growth that counts as a rate not held. ``owed``: deliveries due in ``for_s`` seconds."""
    return max(MOST_BACKLOG_S * owed / max(for_s, 1), (1 - LEAST_SHARE) * owed, FEWEST)
