"""Counts what clients do for the session's tally and for Locust's own statistics, one by one or in batches.

Locust shows these counts during a run. The analysis uses the event tables instead. Clients in Python report each
message. Clients with loops in the JVM report batches: Locust's request event for each of their messages would cost more
than sending it.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from locust.env import Environment
from locust.stats import RequestStats, bucket_response_time

from drivers.contract import DriverError, Outcome
from drivers.users.connection_losses import ConnectionLosses
from drivers.users.live_figures import LiveFigures
from drivers.users.live_latency import SETTLED, UNTIMED, LiveLatency, count_buckets
from records.figures.buckets import bucket_of
from records.loads.identity import first_bytes, shown
from records.store.packing import NULL_INT64
from records.store.writer import Recorder
from records.tables.schemas import UNKNOWN, ReceiptRow, SendRow
from records.units import NS_PER_MS

GOOD = (Outcome.ACKED, Outcome.UNCONFIRMED)

LatencyNs = Callable[[int, int, int], int | None]
"""(producer, seq, received_ns) -> from due to received, if this process knows it"""
log = logging.getLogger("brokerbench")
FOREIGN_SHOWN = 3
"""Number of foreign messages of a destination that each process shows to the reader of a run."""


class Counts(Protocol):
    """The part of `drivers.users.session.Tally` that is updated here."""

    sent: int
    settled: int
    received: int
    lag: Counter[int]
    live: LiveLatency
    figures: LiveFigures
    losses: ConnectionLosses
    notes: list[str]


class LocustStatistics:
    """Counts for one session; see `drivers.client.contract.LoadStatistics`."""

    def __init__(self, tally: Counts, recorder: Recorder, latency_ns: LatencyNs) -> None:
        self._tally, self._recorder, self._latency_ns = tally, recorder, latency_ns
        self._logged_refusals: set[tuple[str, str]] = set()  # destination and broker
        self._foreign_shown = Counter[str]()  # by destination
        self._environment: Environment | None = None
        self._names: dict[str, str] = {}  # the shown names, by destination
        self._shown: dict[int, str] = {}  # the shown names, by the destinations' numbers in packed rows
        self._good = [recorder.number(outcome) for outcome in GOOD]
        self._acked, self._failed = recorder.number(Outcome.ACKED), recorder.number(Outcome.FAILED)

    def show(self, environment: Environment, name: str, destinations: Iterable[str] = ()) -> None:
        """Show the messages to and from these destinations in Locust's statistics, as one line with this name.

        Without ``destinations`` the name is the destination.
        """
        self._environment = environment
        for destination in destinations or (name,):
            self._names[destination] = name
            self._shown[self._recorder.number(destination)] = name

    def counted(self, begun: int, settled: int) -> None:
        self._tally.sent += begun
        self._tally.settled += settled

    def connection_changed(self, client: int, event: str, at_ns: int) -> None:
        self._tally.losses.note(client, event, at_ns)

    def on_rejected(self, destination: str, broker: str, reason: str) -> None:
        """Log it, once for each destination and broker; the records count all."""
        if (destination, broker) not in self._logged_refusals:
            self._logged_refusals.add((destination, broker))
            log.warning(
                "broker %s refused a message to %s, which has failed: %s (reported once)", broker, destination, reason
            )

    def foreign_received(self, destination: str, broker: str, beginning: bytes, body_bytes: int) -> None:
        """Note the first messages of each destination for the reader of the run; the event tables count all."""
        self._foreign_shown[destination] += 1
        if self._foreign_shown[destination] <= FOREIGN_SHOWN:
            words = shown(beginning, body_bytes)
            self._tally.notes.append(f"a foreign message was received from {destination} at {broker}: {words}")

    # One by one.

    def settled(self, row: SendRow, reason: str, final: bool) -> None:
        tally = self._tally
        tally.settled += final
        if row.attempt == 1:
            tally.lag[bucket_of(max(0, row.sent_ns - row.ready_ns))] += 1
            if row.settled_ns is not None:
                tally.live.note(SETTLED, row.settled_ns, row.settled_ns - row.sent_ns)
        self._note_outcome(row)
        if row.outcome == Outcome.FAILED and row.broker:  # otherwise its producer reports why
            self.on_rejected(row.destination, row.broker, reason)
        error = None if row.outcome in GOOD else DriverError(row.outcome)
        ended_ns = row.sent_ns if row.settled_ns is None else row.settled_ns
        self._fire("SEND", row.destination, ended_ns - row.sent_ns, row.body_bytes, error)

    def _note_outcome(self, row: SendRow) -> None:
        if row.outcome == Outcome.ACKED and row.settled_ns is not None:
            self._tally.figures.acked(row.due_ns, row.sent_ns, row.settled_ns)
        elif row.outcome == Outcome.FAILED and row.attempt == 1:
            self._tally.figures.message_failed(row.due_ns)

    def received(self, row: ReceiptRow, body: bytes) -> None:
        self._tally.received += 1
        latency_ns = self._latency_ns(row.producer, row.seq, row.received_ns)
        self._tally.live.received(row.received_ns, latency_ns)
        if latency_ns is not None:
            self._tally.figures.received(row.received_ns, latency_ns)
        elif row.producer != UNKNOWN:
            self._tally.figures.wait_for_schedule((row.producer, row.seq, row.received_ns))
        if row.integrity == "foreign":
            self.foreign_received(row.destination, row.broker, first_bytes(body), len(body))
        self._fire("RECEIVE", row.destination, latency_ns, len(body), None)

    def _fire(
        self, kind: str, destination: str, latency_ns: int | None, body_bytes: int, error: Exception | None
    ) -> None:
        """Fire a request event in milliseconds, or without a time if this process cannot know the latency."""
        if self._environment is None:
            return
        self._environment.events.request.fire(
            request_type=kind,
            name=self._names.get(destination, destination),
            response_time=None if latency_ns is None else latency_ns / NS_PER_MS,
            response_length=body_bytes,
            exception=error,
            context={},
        )

    # In batches; texts in the rows are numbers of the recorder.

    def sends_recorded(self, rows: Any) -> None:
        first_attempts = rows[rows["attempt"] == 1]
        self._tally.lag.update(count_buckets(np.maximum(0, first_attempts["sent_ns"] - first_attempts["ready_ns"])))
        if self._tally.live.counting:
            self._note_settled(first_attempts)
        self._note_outcomes(rows)
        for destination, name in self._shown.items():
            sends = rows[rows["destination"] == destination]
            if len(sends):
                settled_ns = np.where(sends["settled_ns"] == NULL_INT64, sends["sent_ns"], sends["settled_ns"])
                failures = int((~np.isin(sends["outcome"], self._good)).sum())
                times_ms = (settled_ns - sends["sent_ns"]) / NS_PER_MS
                self._log("SEND", name, times_ms, 0, int(sends["body_bytes"][0]), failures)

    def _note_settled(self, first_attempts: Any) -> None:
        confirmed = first_attempts[first_attempts["settled_ns"] != NULL_INT64]
        self._tally.live.note_many(SETTLED, confirmed["settled_ns"], confirmed["settled_ns"] - confirmed["sent_ns"])

    def _note_outcomes(self, rows: Any) -> None:
        if self._tally.figures.counting:
            self._tally.figures.settled_many(
                rows["due_ns"],
                rows["sent_ns"],
                rows["settled_ns"],
                acked=(rows["outcome"] == self._acked) & (rows["settled_ns"] != NULL_INT64),
                failed=(rows["outcome"] == self._failed) & (rows["attempt"] == 1),
            )

    def receipts_recorded(self, rows: Any) -> None:
        self._tally.received += len(rows)
        for destination, name in self._shown.items():
            receipts = rows[rows["destination"] == destination]
            taken_ns = [
                self._latency_ns(*receipt)
                for receipt in zip(
                    receipts["producer"].tolist(),
                    receipts["seq"].tolist(),
                    receipts["received_ns"].tolist(),
                    strict=True,
                )
            ]
            if self._tally.live.counting or self._tally.figures.counting:
                self._note_received(receipts, taken_ns)
            times_ms = [latency_ns / NS_PER_MS for latency_ns in taken_ns if latency_ns is not None]
            self._log("RECEIVE", name, times_ms, len(taken_ns) - len(times_ms), 0, 0)

    def _note_received(self, receipts: Any, taken_ns: Sequence[int | None]) -> None:
        at_ns = receipts["received_ns"]
        timed = np.array([latency_ns is not None for latency_ns in taken_ns], bool)
        latencies_ns = np.array([latency_ns or 0 for latency_ns in taken_ns], "int64")
        self._tally.live.received_many(at_ns[timed], latencies_ns[timed])
        self._tally.live.note_many(UNTIMED, at_ns[~timed], latencies_ns[~timed])
        self._tally.figures.received_many(at_ns[timed], latencies_ns[timed])
        for receipt in receipts[~timed & (receipts["producer"] != UNKNOWN)]:
            self._tally.figures.wait_for_schedule(
                (int(receipt["producer"]), int(receipt["seq"]), int(receipt["received_ns"]))
            )

    def _log(self, kind: str, name: str, times_ms: Any, unknown: int, body_bytes: int, failures: int) -> None:
        if self._environment is not None:
            log_many(self._environment.stats, kind, name, times_ms, unknown, body_bytes, failures)


def log_many(
    stats: RequestStats, kind: str, name: str, times_ms: Sequence[float], unknown: int, body_bytes: int, failures: int
) -> None:
    """Log one request per time in ``times_ms``, plus ``unknown`` without a time; ``failures`` of them failed. All of
    one size."""
    times = np.asarray(times_ms, float)
    for entry in (stats.total, stats.entries[(name, kind)]):
        _log(entry, times, unknown, body_bytes)
    for _ in range(failures):
        stats.log_error(kind, name, "not confirmed")


def _log(entry: Any, times: Any, unknown: int, body_bytes: int) -> None:
    count = len(times) + unknown
    if not count:
        return
    entry.log(float(times[0]) if len(times) else None, body_bytes)
    other_times, still_unknown = (times[1:], unknown) if len(times) else (times, unknown - 1)
    entry.num_requests += count - 1
    entry.num_none_requests += still_unknown
    entry.num_reqs_per_sec[int(time.time())] += count - 1
    entry.total_content_length += body_bytes * (count - 1)
    if not len(other_times):
        return
    entry.total_response_time += float(other_times.sum())
    entry.min_response_time = min(entry.min_response_time or 0.0, float(other_times.min()))
    entry.max_response_time = max(entry.max_response_time, float(other_times.max()))
    for value, times_seen in zip(*np.unique(np.round(other_times), return_counts=True), strict=True):
        entry.response_times[bucket_response_time(float(value))] += int(times_seen)
