"""Counts what ``--abort-on`` needs while a load runs: failed messages, and latencies of the load so far.

They are counted as the analysis counts them: messages that were due since the counting began, in the buckets of
`records.figures.buckets`. One difference: repeated deliveries of a message are counted too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from drivers.users.live_latency import count_buckets
from records.figures.abort import FAILED, TIMED
from records.figures.buckets import bucket_of, value_ns
from records.figures.percentiles import LEAST_BEYOND, SHARES, quantiles_ns, rank_of
from records.units import NS_PER_MS

RECEIVED, SETTLED = TIMED

Row = tuple[str, int, int]
"""(measure, bucket, count)"""
MOST_UNTIMED = 200_000
Untimed = tuple[int, int, int]
"""(producer, seq, received_ns)"""


class LiveFigures:
    """The counts of one process, or of several added up. Counts nothing before `begin`."""

    def __init__(self) -> None:
        self._began_ns: int | None = None
        self._has_others = False
        self.failed = 0
        self._counts: dict[str, Counter[int]] = {measure: Counter() for measure in TIMED}
        self._untimed: list[Untimed] = []

    @property
    def counting(self) -> bool:
        """Whether anything is counted now. Otherwise batches do not need to be processed row by row."""
        return self._began_ns is not None

    def begin(self, began_ns: int, *, has_others: bool = False) -> None:
        """Count messages that are due from ``began_ns`` on, on this process's clock.

        ``has_others``: other processes have producers too.
        """
        self._began_ns, self._has_others = began_ns, has_others

    # One by one.

    def received(self, received_ns: int, latency_ns: int) -> None:
        """Count a received message. Latency is from due to received."""
        if self._counts_due(received_ns - latency_ns):
            self._counts[RECEIVED][bucket_of(latency_ns)] += 1

    def acked(self, due_ns: int, sent_ns: int, settled_ns: int) -> None:
        """Count a confirmed attempt."""
        if self._counts_due(due_ns):
            self._counts[SETTLED][bucket_of(settled_ns - sent_ns)] += 1

    def message_failed(self, due_ns: int) -> None:
        """Count a message whose first attempt failed, after which no other follows."""
        self.failed += self._counts_due(due_ns)

    def _counts_due(self, due_ns: int) -> bool:
        return self._began_ns is not None and due_ns >= self._began_ns

    # In batches of arrays of integers.

    def received_many(self, received_ns: Any, latencies_ns: Any) -> None:
        """See `received`."""
        if self._began_ns is not None and len(received_ns):
            self._counts[RECEIVED].update(count_buckets(latencies_ns[received_ns - latencies_ns >= self._began_ns]))

    def settled_many(self, due_ns: Any, sent_ns: Any, settled_ns: Any, *, acked: Any, failed: Any) -> None:
        """See `acked` and `message_failed`. ``acked``, ``failed``: which of the rows are such attempts."""
        if self._began_ns is None:
            return
        in_load = due_ns >= self._began_ns
        confirmed = in_load & acked
        self._counts[SETTLED].update(count_buckets(settled_ns[confirmed] - sent_ns[confirmed]))
        self.failed += int(np.count_nonzero(in_load & failed))

    # Messages of producers in other processes, whose schedules come a moment after the start.

    def wait_for_schedule(self, untimed: Untimed) -> None:
        """Keep a delivery until `take_untimed`, if its producer's schedule may still come."""
        if self._began_ns is not None and self._has_others and len(self._untimed) < MOST_UNTIMED:
            self._untimed.append(untimed)

    def take_untimed(self) -> list[Untimed]:
        """Return the kept deliveries, and keep them no longer."""
        untimed, self._untimed = self._untimed, []
        return untimed

    # All processes together.

    def rows(self) -> list[Row]:
        """Return the counts, as plain values."""
        return [
            (measure, bucket, count)
            for measure, counts in self._counts.items()
            for bucket, count in list(counts.items())
        ]

    def add(self, failed: int, rows: Iterable[Row]) -> None:
        """Add the counts of another process."""
        self.failed += failed
        for measure, bucket, count in rows:
            self._counts[measure][bucket] += count

    def values(self) -> dict[str, float | None]:
        """Return each of `records.figures.abort.LIVE_FIGURES`; None for a figure that is not known yet."""
        values: dict[str, float | None] = {FAILED: self.failed}
        for measure, counts in self._counts.items():
            values |= {f"latency_ms.{measure}.{name}": value for name, value in _latency_ms(dict(counts))}
        return values


def _latency_ms(counts: dict[int, int]) -> Iterator[tuple[str, float | None]]:
    """Yield the figures of one measure by name, by the rule of the analysis for percentiles of few values."""
    total = sum(counts.values())
    yield "count", total
    for (name, share), value in zip(SHARES.items(), quantiles_ns(counts, list(SHARES.values())), strict=True):
        is_known = value is not None and total - rank_of(share, total) >= LEAST_BEYOND
        yield name, value / NS_PER_MS if is_known and value is not None else None
    yield "max", value_ns(max(counts)) / NS_PER_MS if counts else None
