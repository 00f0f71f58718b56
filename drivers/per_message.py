"""What of a producer that connects for each message, as functions in a cloud do?

For each message it connects, sends, waits for the broker's answer and leaves; the next message does not wait for that.
What it sends counts as sent when it begins to connect: connecting is part of the sending, not a late generator.

A connection has the lowest number that no other one of its producer has at that moment, as functions have instances:
its connection events are those of a client that comes and goes. The producer's own number stands in the messages.
"""

import heapq
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from drivers.client import Client
from drivers.contract import Destination, DriverError, Outcome
from drivers.own_clients import NoSenderError, OwnClient
from drivers.sends import Settled, Slot
from records.writer import Recorder

CLOSE_TIMEOUT_S = 5.0  # for what is under way when the producer ends
log = logging.getLogger("brokerbench")


class MakesConnections(Protocol):
    """Where the clients come from, and the numbers: `drivers.session.Session`."""

    recorder: Recorder
    run_number: int
    clock: Callable[[], int]

    def next_number(self) -> int: ...
    def client(self, role: str, group: str, *, number: int | None = None) -> Client | OwnClient: ...
    def forget(self, client: Client | OwnClient) -> None: ...


class Numbers:
    """Numbers for what comes and goes: the lowest that is free, or else a new one."""

    def __init__(self, make: Callable[[], int]) -> None:
        self._make = make
        self._free: list[int] = []

    def take(self) -> int:
        return heapq.heappop(self._free) if self._free else self._make()

    def give_back(self, number: int) -> None:
        heapq.heappush(self._free, number)


class PerMessage:
    """Stands where a `drivers.producer.Producer` stands: each message gets a client of its own.

    ``on_settled`` hears of every outcome, but of those that a client of its own kind (`drivers.own_clients`) records by
    itself; ``on_free`` whenever a message is done with.
    """

    def __init__(
        self,
        source: MakesConnections,
        group: str,
        destination: Destination,
        *,
        durable: bool,
        resend_in_doubt: bool,
        on_settled: Callable[[Settled], None],
        on_free: Callable[[], None],
    ) -> None:
        self.number = source.next_number()
        self._source, self._group, self._destination = source, group, destination
        self._durable, self._resend = durable, resend_in_doubt
        self._on_settled, self._on_free = on_settled, on_free
        self._numbers = Numbers(source.next_number)
        self._changed = threading.Condition()
        self._under_way: dict[int, Client | OwnClient] = {}  # by seq
        self._closed = self._warned = False

    @property
    def outstanding(self) -> int:
        """Messages that are not done with: connecting, unanswered, or leaving."""
        return len(self._under_way)

    def send_batch(self, slots: Sequence[Slot], body_bytes: int) -> None:
        """Begin to send messages that are due, each by itself. Returns at once."""
        for slot in slots:
            with self._changed:
                if self._closed:
                    return
                number = self._numbers.take()
                client = self._source.client("producer", self._group, number=number)
                self._under_way[slot.seq] = client
            begun = slot._replace(begun_ns=self._source.clock())
            threading.Thread(target=self._do, args=(client, number, begun, body_bytes), daemon=True).start()

    def close(self) -> None:
        """Begin nothing more; what is under way has some seconds, and is then recorded as it stands. Idempotent."""
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

    def _do(self, client: Client | OwnClient, number: int, slot: Slot, body_bytes: int) -> None:
        try:
            self._connect_and_send(client, slot, body_bytes)
        finally:
            client.close()
            self._source.forget(client)
            with self._changed:
                del self._under_way[slot.seq]
                self._numbers.give_back(number)
                self._changed.notify_all()
            self._on_free()

    def _connect_and_send(self, client: Client | OwnClient, slot: Slot, body_bytes: int) -> None:
        try:
            client.open()
        except DriverError as error:
            self._never_written(slot, body_bytes, str(error))
            return
        try:
            self._send(client, slot, body_bytes)
        except NoSenderError as error:
            self._never_written(slot, body_bytes, str(error))
        except DriverError as error:
            self._warn(str(error))  # its outcome is recorded

    def _send(self, client: Client | OwnClient, slot: Slot, body_bytes: int) -> None:
        """Returns once the outcome is known. Raises DriverError."""
        run = self._source.run_number
        if isinstance(client, Client):
            producer = client.producer(
                self._destination,
                number=self.number,
                durable=self._durable,
                run=run,
                resend_in_doubt=self._resend,
                on_settled=self._on_settled,
            )
            producer.send_batch((slot,), body_bytes)
            producer.wait_settled(None)
        else:
            own = client.producer(
                self._destination,
                number=self.number,
                durable=self._durable,
                run=run,
                resend_in_doubt=self._resend,
            )
            own.send_one(slot, body_bytes)

    def _never_written(self, slot: Slot, body_bytes: int, reason: str) -> None:
        """There was nothing to send it by: it failed, as any call of a function that cannot connect."""
        self._warn(reason)
        ended_ns, failed = self._source.clock(), Outcome.FAILED
        seq, due_ns, blocked, begun_ns = slot
        self._source.recorder.send(
            self.number,
            seq,
            1,
            str(self._destination),
            "",
            due_ns,
            begun_ns,
            ended_ns,
            str(failed),
            body_bytes,
            blocked,
        )
        self._on_settled(
            Settled(self.number, seq, 1, failed, "", due_ns, begun_ns, ended_ns, body_bytes, reason, final=True)
        )

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning("a message of producer %s could not be sent: %s (told once)", self.number, reason)
