"""Counts latencies by second during the warm-up, so that the run can decide when it ends.

Two kinds: ``received`` (from due to received, of messages that this process also sent) and ``settled`` (from sent to
confirmed, which the sending process always knows). Only the last seconds are kept. Nothing here reaches the results.
"""

from collections import Counter
from collections.abc import Iterable

from records.buckets import bucket_of

NS_PER_S = 1_000_000_000
KEPT_S = 6
RECEIVED, SETTLED = "received", "settled"

Row = tuple[str, int, int, int]
"""(kind, second since the warm-up began, bucket of `records.buckets`, how many)"""


class LiveLatency:
    """The latencies of one process, or of several added up. Counts nothing before `begin` and after `end`."""

    def __init__(self) -> None:
        self._began_ns: int | None = None
        self._counts: dict[tuple[str, int], Counter[int]] = {}

    @property
    def counting(self) -> bool:
        """Whether the warm-up goes on. Batches need not be looked at row by row otherwise."""
        return self._began_ns is not None

    def begin(self, began_ns: int) -> None:
        """The warm-up begins, on this process's clock."""
        self._began_ns = began_ns

    def end(self) -> None:
        """The warm-up is over: what was counted goes."""
        self._began_ns = None
        self._counts = {}

    def note(self, kind: str, at_ns: int, latency_ns: int | None) -> None:
        """One latency that was known at a moment. None: it is not known."""
        if self._began_ns is None or latency_ns is None or at_ns < self._began_ns:
            return
        second = (at_ns - self._began_ns) // NS_PER_S
        counts = self._counts.get((kind, second))
        if counts is None:
            counts = self._counts[kind, second] = Counter()
            self._forget(second - KEPT_S)
        counts[bucket_of(latency_ns)] += 1

    def _forget(self, until: int) -> None:
        for key in [key for key in self._counts if key[1] <= until]:
            del self._counts[key]

    def rows(self) -> list[Row]:
        """The counts, as plain values."""
        return [
            (kind, second, bucket, count)
            for (kind, second), counts in list(self._counts.items())
            for bucket, count in list(counts.items())
        ]

    def add(self, rows: Iterable[Row]) -> None:
        """What another process counted."""
        for kind, second, bucket, count in rows:
            self._counts.setdefault((kind, second), Counter())[bucket] += count

    def seconds(self, kind: str) -> dict[int, Counter[int]]:
        """Counts by bucket, for each second that has any."""
        return {second: counts for (each, second), counts in self._counts.items() if each == kind}
