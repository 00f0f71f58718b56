"""What do batches of sends and receipts count for? The tally of the session, and Locust's own statistics.

For clients that tell in batches (`drivers.own_clients`); others count each message where it comes (`drivers.users`).
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from locust.stats import RequestStats

from drivers.contract import Outcome
from drivers.locust_statistics import log_many
from records.buckets import bucket_of
from records.packing import NULL_INT64
from records.writer import Recorder

NS_PER_MS = 1_000_000

LatencyNs = Callable[[int, int, int], int | None]
"""(producer, seq, received_ns) -> from due to received, where this process knows"""
Refused = Callable[[str, str, str], None]
"""(destination, broker, reason)"""


class Counts(Protocol):
    """`drivers.session.Tally`."""

    sent: int
    settled: int
    received: int
    lag: Counter[int]


class TallyClerk:
    """Counts for one session; see `drivers.own_clients.Clerk`."""

    def __init__(self, tally: Counts, recorder: Recorder, latency_ns: LatencyNs, refused: Refused) -> None:
        """``refused``: hears of messages that a broker refused."""
        self._tally, self._recorder, self._latency_ns, self.refused = tally, recorder, latency_ns, refused
        self._shown: dict[int, tuple[RequestStats, str]] = {}  # by the number of a destination
        self._good = [recorder.number(Outcome.ACKED), recorder.number(Outcome.UNCONFIRMED)]

    def show(self, stats: RequestStats, destination: str) -> None:
        """Tell Locust's statistics of what goes to, and comes from, this destination."""
        self._shown[self._recorder.number(destination)] = (stats, destination)

    def counted(self, begun: int, settled: int) -> None:
        self._tally.sent += begun
        self._tally.settled += settled

    def took_sends(self, rows: Any) -> None:
        first = rows[rows["attempt"] == 1]
        self._tally.lag.update(map(bucket_of, (first["sent_ns"] - first["due_ns"]).tolist()))
        for destination, (stats, name) in self._shown.items():
            of = rows[rows["destination"] == destination]
            if len(of):
                settled_ns = np.where(of["settled_ns"] == NULL_INT64, of["sent_ns"], of["settled_ns"])
                failures = int((~np.isin(of["outcome"], self._good)).sum())
                times_ms = (settled_ns - of["sent_ns"]) / NS_PER_MS
                log_many(stats, "SEND", name, times_ms, 0, int(of["body_bytes"][0]), failures)

    def took_receipts(self, rows: Any) -> None:
        self._tally.received += len(rows)
        for destination, (stats, name) in self._shown.items():
            of = rows[rows["destination"] == destination]
            taken_ns = [
                self._latency_ns(*each)
                for each in zip(of["producer"].tolist(), of["seq"].tolist(), of["received_ns"].tolist(), strict=True)
            ]
            times_ms = [each / NS_PER_MS for each in taken_ns if each is not None]
            log_many(stats, "RECEIVE", name, times_ms, len(taken_ns) - len(times_ms), 0, 0)
