"""Sends each message over a new connection, as serverless functions do.

For each message it connects, sends, waits for the broker's answer and disconnects. The next message does not wait for
that. A message counts as sent when its connection attempt begins: connecting is part of the sending, not a delay of the
generator.

Connections get the lowest number that is free in the producer at that moment. So connection events look like the
events of a client that connects again and again. The messages carry the producer's own number.
"""

import heapq
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from drivers.client.contract import (
    LoadClient,
    LoadStatistics,
    NoSenderError,
    ProducerSettings,
    ScheduledSend,
)
from drivers.client.pacing import wait_until_due
from drivers.client.schedule_loop import ScheduleLoop
from drivers.contract import Destination, DriverError, Outcome
from records.store.writer import Recorder
from records.tables.schemas import SendRow

CLOSE_TIMEOUT_S = 5.0  # for outstanding messages when the producer ends
log = logging.getLogger("brokerbench")


class MakesConnections(Protocol):
    """Source of clients and numbers: `drivers.users.session.Session`."""

    recorder: Recorder
    run_number: int
    clock: Callable[[], int]

    @property
    def statistics(self) -> LoadStatistics: ...
    def next_number(self) -> int: ...
    def client(self, role: str, group: str, *, user_class: str = "", number: int | None = None) -> LoadClient: ...
    def forget(self, client: LoadClient) -> None: ...


class Numbers:
    """Numbers for short-lived connections: the lowest free number, or else a new one."""

    def __init__(self, make: Callable[[], int]) -> None:
        self._make = make
        self._free: list[int] = []

    def take(self) -> int:
        return heapq.heappop(self._free) if self._free else self._make()

    def give_back(self, number: int) -> None:
        heapq.heappush(self._free, number)


class PerMessageProducer(ScheduleLoop):
    """Keeps a schedule with a new client for each message."""

    def __init__(
        self,
        source: MakesConnections,
        group: str,
        destination: Destination,
        settings: ProducerSettings,
        *,
        more_destinations: Sequence[Destination] = (),
        user_class: str = "",
    ) -> None:
        """``more_destinations``: it sends to ``destination`` and these alternately. ``user_class``: determines the
        protocol."""
        super().__init__(source.next_number(), settings, source.statistics, source.clock)
        self._source, self._group, self._destinations = source, group, (destination, *more_destinations)
        self._user_class = user_class
        self._numbers = Numbers(source.next_number)
        self._changed = threading.Condition()
        self._under_way: dict[int, LoadClient] = {}  # by seq
        self._closed = self._warned = False

    @property
    def outstanding(self) -> int:
        """Number of unfinished messages: connecting, unanswered, or disconnecting."""
        return len(self._under_way)

    def send_batch(self, sends: Sequence[ScheduledSend]) -> None:
        """Begin to send messages that are due, each over a new connection. Returns at once."""
        for send in sends:
            wait_until_due(send.due_ns, self._clock)
            with self._changed:
                if self._closed:
                    return
                number = self._numbers.take()
                client = self._source.client("producer", self._group, user_class=self._user_class, number=number)
                self._under_way[send.seq] = client
            ready_ns = self._readiness.ready_ns(send.due_ns)
            begun = send._replace(begun_ns=self._source.clock(), ready_ns=ready_ns)
            threading.Thread(target=self._do, args=(client, number, begun), daemon=True).start()

    def close(self) -> None:
        """Stop beginning messages.

        Outstanding messages get some seconds; then their current state is recorded. Idempotent.
        """
        with self._changed:
            self._closed = True
            if self._changed.wait_for(lambda: not self._under_way, CLOSE_TIMEOUT_S):
                return
            late = list(self._under_way.values())
        closers = [threading.Thread(target=client.close, daemon=True) for client in late]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way, CLOSE_TIMEOUT_S)

    def _do(self, client: LoadClient, number: int, send: ScheduledSend) -> None:
        try:
            self._connect_and_send(client, send)
        finally:
            client.close()
            self._source.forget(client)
            with self._changed:
                del self._under_way[send.seq]
                self._numbers.give_back(number)
                self._changed.notify_all()
            self._make_room()

    def _connect_and_send(self, client: LoadClient, send: ScheduledSend) -> None:
        try:
            client.open()
        except DriverError as error:
            self._never_written(send, str(error))
            return
        run = self._source.run_number
        producer = client.producer(self._to(send.seq), self._settings, number=self.number, run=run)
        try:
            producer.send_one(send)
        except NoSenderError as error:
            self._never_written(send, str(error))
        except DriverError as error:
            self._warn(str(error))  # its outcome is recorded

    def _never_written(self, send: ScheduledSend, reason: str) -> None:
        """Record a message without a sender as failed, like any call of a cloud function that cannot connect."""
        self._warn(reason)
        row = SendRow(
            producer=self.number,
            seq=send.seq,
            attempt=1,
            destination=str(self._to(send.seq)),
            broker="",
            due_ns=send.due_ns,
            ready_ns=send.ready_ns,
            sent_ns=send.begun_ns,
            settled_ns=self._source.clock(),
            outcome=Outcome.FAILED,
            body_bytes=self._settings.body_bytes,
            blocked=send.blocked,
        )
        self._source.recorder.send(row)
        self._statistics.settled(row, reason, final=True)

    def _to(self, seq: int) -> Destination:
        return self._destinations[seq % len(self._destinations)]

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning("a message of producer %s could not be sent: %s (reported once)", self.number, reason)
