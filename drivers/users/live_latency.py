"""Counts latencies by second, so that a run can decide when its warm-up ends, or which rate it tries next.

There are three kinds. ``received``: from due to received, for messages that this process also sent. ``untimed``: other
messages that it received, counted as if they took no time. ``settled``: from sent to confirmed. A load in steps has a
fourth: ``due``, the same latencies as ``received``, by the second in which a message was due. Only the last seconds are
kept. Nothing here reaches the results.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from records.figures.buckets import BUCKETS_PER_OCTAVE, LINEAR_BITS, bucket_of
from records.units import NS_PER_S

KEPT_S = 6
RECEIVED, UNTIMED, SETTLED, DUE = "received", "untimed", "settled", "due"

Row = tuple[str, int, int, int]
"""(kind, second since the counting began, bucket of `records.figures.buckets`, count)"""


def count_buckets(values_ns: Any) -> Counter[int]:
    """Return the number of an array's integers in each bucket of `records.figures.buckets`. Their magnitudes are below
    2**53."""
    magnitude = np.abs(values_ns)
    dropped_bits = np.maximum(np.frexp(magnitude.astype("float64"))[1] - LINEAR_BITS, 0)
    buckets = (dropped_bits * BUCKETS_PER_OCTAVE + (magnitude >> dropped_bits)) * np.sign(values_ns)
    distinct, counts = np.unique(buckets, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))


class LiveLatency:
    """The latencies of one process, or of several added up. Counts nothing before `begin` and after `end`."""

    def __init__(self) -> None:
        self._began_ns: int | None = None
        self._kept_s = KEPT_S
        self._by_due = False
        self._counts: dict[tuple[str, int], Counter[int]] = {}

    @property
    def counting(self) -> bool:
        """Whether anything is counted now. Otherwise batches do not need to be processed row by row."""
        return self._began_ns is not None

    def begin(self, began_ns: int, kept_s: int = KEPT_S, *, by_due: bool = False) -> None:
        """Count from ``began_ns`` on, on this process's clock; ``kept_s``: the number of seconds to keep.

        ``by_due``: count received messages also by due second.
        """
        self._began_ns, self._kept_s, self._by_due = began_ns, kept_s, by_due

    def keep(self, kept_s: int) -> None:
        """Keep this many seconds from now on."""
        self._kept_s = kept_s

    def end(self) -> None:
        """Stop counting, and discard the counts."""
        self._began_ns = None
        self._counts = {}

    def received(self, at_ns: int, latency_ns: int | None) -> None:
        """Count a received message. ``latency_ns``: None if it is not known."""
        if self._began_ns is None:
            return
        if latency_ns is None:
            self.note(UNTIMED, at_ns, 0)
        else:
            self.note(RECEIVED, at_ns, latency_ns)
            if self._by_due:
                self.note(DUE, at_ns - latency_ns, latency_ns)

    def received_many(self, at_ns: Any, latencies_ns: Any) -> None:
        """Count received messages: two arrays of integers, as in `note_many`."""
        self.note_many(RECEIVED, at_ns, latencies_ns)
        if self._by_due:
            self.note_many(DUE, at_ns - latencies_ns, latencies_ns)

    def note(self, kind: str, at_ns: int, latency_ns: int) -> None:
        """Count one latency that was known at a moment."""
        if self._began_ns is None or at_ns < self._began_ns:
            return
        self._of_second(kind, (at_ns - self._began_ns) // NS_PER_S)[bucket_of(latency_ns)] += 1

    def note_many(self, kind: str, at_ns: Any, latencies_ns: Any) -> None:
        """Count latencies in two arrays of integers: when each was known, and its value."""
        if self._began_ns is None:
            return
        seconds = (at_ns - self._began_ns) // NS_PER_S
        for second in np.unique(seconds[seconds >= 0]).tolist():
            self._of_second(kind, second).update(count_buckets(latencies_ns[seconds == second]))

    def _of_second(self, kind: str, second: int) -> Counter[int]:
        counts = self._counts.get((kind, second))
        if counts is None:
            counts = self._counts[kind, second] = Counter()
            self._forget(second - self._kept_s)
        return counts

    def _forget(self, until: int) -> None:
        for key in [key for key in self._counts if key[1] <= until]:
            del self._counts[key]

    def rows(self) -> list[Row]:
        """Return the counts, as plain values."""
        return [
            (kind, second, bucket, count)
            for (kind, second), counts in list(self._counts.items())
            for bucket, count in list(counts.items())
        ]

    def add(self, rows: Iterable[Row]) -> None:
        """Add the counts of another process."""
        for kind, second, bucket, count in rows:
            self._counts.setdefault((kind, second), Counter())[bucket] += count

    def seconds(self, kind: str) -> dict[int, Counter[int]]:
        """Return counts by bucket, for each second that has any."""
        return {second: counts for (each, second), counts in self._counts.items() if each == kind}
