"""Sends the messages of one producer: stamps, writes, and records every attempt exactly once.

A durable send is *open* from before its first byte is written until its outcome is known:

    send ─► open (attempt 1) ── answered ──────────► acked | failed
                │
                └─ connection lost ─► in_doubt ─► open again (attempt 2, same producer and seq), first in line on the
                                                  next connection, in order of seq; or, unless resending, the end

A send that is not durable has no answer: once written it is *unconfirmed*. If the write itself broke, the send is
in_doubt and tried again, as in the Java client.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from drivers.client.backpressure import BlockedDetector
from drivers.client.contract import NO_STATISTICS, LoadStatistics, OnOutcome, ProducerSettings, ScheduledSend
from drivers.client.pacing import wait_until_due
from drivers.client.schedule_loop import ScheduleLoop
from drivers.contract import Destination, DriverError, Outcome, Outgoing
from drivers.failover.client_connection import ClientConnection
from records.loads.identity import Identity, stamp
from records.store.writer import Recorder
from records.tables.schemas import SendRow


class ClientAccess(Protocol):
    """The part of `drivers.client.client.Client` that its producers use."""

    recorder: Recorder
    clock: Callable[[], int]

    def usable(self, timeout_s: float | None = None) -> ClientConnection:
        """Return the connection to use now; wait until there is one. Raises DriverError: timed out, given up or
        closed."""

    def broken(self, connection: ClientConnection, reason: str) -> None:
        """Handle the loss of a connection. Only the first call for a connection counts."""

    def blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        """Record that a broker accepted nothing from a producer between these times."""


class BrokerAnswer(NamedTuple):
    """The outcome of an attempt. ``settled_ns`` is None unless the broker answered."""

    outcome: Outcome
    settled_ns: int | None
    reason: str


UNCONFIRMED = BrokerAnswer(Outcome.UNCONFIRMED, None, "")


@dataclass(eq=False, slots=True)
class SendAttempt:
    """One attempt to send one message. ``connection`` is None while it waits to be sent again."""

    producer: "Producer"
    seq: int
    number: int
    due_ns: int
    body_bytes: int
    blocked: bool
    begun_ns: int = 0
    ready_ns: int = 0
    connection: ClientConnection | None = None
    sent_ns: int = 0
    written: bool = False
    answer: BrokerAnswer | None = None  # set if it came before the write returned


Send = Callable[[Sequence[Outgoing]], int]


class Producer(ScheduleLoop):
    """Sends the messages of one client to its destinations. Created by `drivers.client.client.Client.producer`."""

    def __init__(
        self,
        access: ClientAccess,
        destination: Destination,
        settings: ProducerSettings,
        *,
        number: int,
        run: int,
        timeout_s: float | None,
        on_settled: OnOutcome,
        statistics: LoadStatistics = NO_STATISTICS,
        more_destinations: Sequence[Destination] = (),
    ) -> None:
        """``on_settled`` is called for each attempt. ``statistics`` counts the messages that `run` begins.

        ``more_destinations``: it sends to ``destination`` and these alternately: message n goes to number n modulo
        their count.
        """
        super().__init__(number, settings, statistics, access.clock)
        self.destination = destination
        self._access = access
        self._destinations = (destination, *more_destinations)
        self._names = tuple(map(str, self._destinations))
        self._durable = settings.durable
        self._run = run
        self._timeout_s = timeout_s
        self._resend = settings.resend_in_doubt
        self._on_settled = on_settled
        self._messages = settings.messages
        self._lock = threading.Lock()
        self._all_settled = threading.Condition(self._lock)
        self._open: dict[int, SendAttempt] = {}
        self._closed = False
        self._blocked_detector = BlockedDetector(self._blocked)

    def send(self, seq: int, body_bytes: int, due_ns: int, *, blocked: bool = False) -> None:
        """Write one message and return once it is written. Its outcome comes by callback.

        Blocks while the client is disconnected, at most for the failover URI's ``timeout``. A message that could not be
        written at all is recorded as failed, and DriverError is raised.
        """
        self.send_batch((ScheduledSend(seq, due_ns, blocked),), body_bytes)

    def send_batch(self, sends: Sequence[ScheduledSend], body_bytes: int = 0) -> None:
        """Write messages that are all due by now: in one write if the connection can, otherwise like `send`.

        They share the time of that write. If the write breaks, all of them are in doubt. ``body_bytes``: 0: the size in
        its settings.
        """
        body_bytes = body_bytes or self._settings.body_bytes
        attempts = [
            SendAttempt(self, send.seq, 1, send.due_ns, body_bytes, send.blocked, send.begun_ns, send.ready_ns)
            for send in sends
        ]
        try:
            while attempts:
                connection = self._usable(attempts[0].seq)
                attempts = attempts[self._send_some(attempts, connection) :]
        except DriverError as error:
            self._never_written(attempts, str(error))
            raise

    def prepare(self) -> None:
        """Do nothing: nothing has to be made before the first message."""

    def send_one(self, send: ScheduledSend) -> None:
        """See `drivers.client.contract.LoadProducer`."""
        self.send_batch((send,))
        self.finish()
        self.wait_settled(None)

    @property
    def outstanding(self) -> int:
        """Number of durable sends without a final outcome."""
        return len(self._open)

    def wait_settled(self, timeout_s: float | None) -> bool:
        """Wait until nothing is outstanding; return False if that takes longer."""
        with self._all_settled:
            return self._all_settled.wait_for(lambda: not self._open, timeout_s)

    def close(self) -> int:
        """Record unanswered messages as in doubt, and forget them; return their number. Idempotent."""
        with self._lock:
            self._closed = True
        return self.give_up()

    # The client's calls to its producers, from its own thread.

    def give_up(self) -> int:
        """Leave unanswered messages in doubt, as nothing will be sent again; return their number."""
        return self._sweep(None, resend=False)

    def connection_lost(self, connection: ClientConnection) -> None:
        """Put all unanswered messages written to ``connection`` in doubt; they wait to be sent again."""
        self._sweep(connection, resend=self._resend and not self._closed)

    def send_again(self, connection: ClientConnection) -> None:
        """Write all waiting messages, in order of seq, before any new send. Raises ConnectionError."""
        for attempt in self._waiting():
            if self._claim([attempt], connection):
                self._write([attempt], connection, connection.send, [self._outgoing(attempt)])

    def answered(self, attempt: SendAttempt, answer: BrokerAnswer) -> None:
        """Handle the broker's answer; ignored if the attempt had already been given up as in doubt."""
        with self._lock:
            if self._open.get(attempt.seq) is not attempt:
                return
            if not attempt.written:
                attempt.answer = answer
                return
            self._forget(attempt)
            self._no_longer_blocked(answer)
        self._record(attempt, answer)

    def _waiting(self) -> list[SendAttempt]:
        """Return the sends to repeat, in order."""
        with self._lock:
            return sorted((a for a in self._open.values() if a.connection is None), key=lambda a: a.seq)

    def _send_some(self, attempts: list[SendAttempt], connection: ClientConnection) -> int:
        """Send as many as can go together; return their number, or 0 if they must be tried again."""
        together = connection.together(len(attempts)) if len(self._destinations) == 1 else 1
        send = self._send_durable if self._durable else self._send_one_way
        return together if send(attempts[:together], connection) else 0

    def _send_durable(self, attempts: list[SendAttempt], connection: ClientConnection) -> bool:
        """Open the attempts and write them; return False if ``connection`` was lost before."""
        messages = self._when_due(attempts)
        if not self._claim(attempts, connection):
            return False
        try:
            self._write(attempts, connection, connection.send, messages)
        except ConnectionError as error:
            self._access.broken(connection, str(error))  # in doubt from now on; the client sends it again
        return True

    def _send_one_way(self, attempts: list[SendAttempt], connection: ClientConnection) -> bool:
        """Write the attempts; return False if that broke and they must be tried again."""
        messages = self._when_due(attempts)
        self._put_on(attempts, connection)
        began_ns = attempts[0].sent_ns
        try:
            sent_ns = connection.send(messages)
        except ConnectionError as error:
            self._access.broken(connection, str(error))
            for attempt in attempts:
                self._record(attempt, BrokerAnswer(Outcome.IN_DOUBT, None, str(error)), final=not self._resend)
                attempt.number, attempt.begun_ns = attempt.number + 1, 0
            return not self._resend
        finally:  # also if its user was stopped during the write
            ended_ns = self._access.clock()
            self._blocked_detector.on_written(connection.broker, began_ns, ended_ns)
        self._wrote(attempts, connection, sent_ns, ended_ns)
        for attempt in attempts:
            attempt.sent_ns = sent_ns
            self._record(attempt, UNCONFIRMED)
        return True

    def _usable(self, seq: int) -> ClientConnection:
        if self._closed:
            raise DriverError(f"producer {self.number} of {self._names[0]} was closed before message {seq} went")
        try:
            return self._access.usable(self._timeout_s)
        except DriverError:
            self._readiness.released(self._access.clock())  # it waited for a connection until now
            raise

    def _when_due(self, attempts: list[SendAttempt]) -> list[Outgoing]:
        """Return their messages, once they are due: they are created just before."""
        messages = [self._outgoing(attempt) for attempt in attempts]
        wait_until_due(attempts[-1].due_ns, self._access.clock)
        return messages

    def _never_written(self, attempts: list[SendAttempt], reason: str) -> None:
        wait_until_due(attempts[-1].due_ns, self._access.clock)
        self._note_ready(attempts)
        for attempt in attempts:
            attempt.sent_ns = self._access.clock()
            self._record(attempt, BrokerAnswer(Outcome.FAILED, attempt.sent_ns, reason))

    def _put_on(self, attempts: list[SendAttempt], connection: ClientConnection) -> None:
        now_ns = self._access.clock()
        self._readiness.released(connection.ready_ns)
        self._note_ready(attempts)
        for attempt in attempts:
            attempt.connection, attempt.sent_ns = connection, now_ns

    def _note_ready(self, attempts: list[SendAttempt]) -> None:
        for attempt in attempts:
            if not attempt.begun_ns:  # else connecting was a part of the sending
                attempt.ready_ns = self._readiness.ready_ns(attempt.due_ns)

    def _wrote(self, attempts: list[SendAttempt], connection: ClientConnection, sent_ns: int, ended_ns: int) -> None:
        """Record whether a finished write waited for the broker, before its first byte or during the write."""
        if attempts[0].ready_ns < connection.credit_ns <= sent_ns:
            self._readiness.released(connection.credit_ns)
            self._note_ready(attempts)
        self._readiness.on_written(attempts[-1].due_ns, sent_ns, ended_ns)

    def _claim(self, attempts: list[SendAttempt], connection: ClientConnection) -> bool:
        """Make the attempts open on the connection, all or none: none if it was lost or the producer was closed."""
        with self._lock:
            if self._closed or not connection.alive:
                return False
            if any(attempt.number > 1 and self._open.get(attempt.seq) is not attempt for attempt in attempts):
                return False
            self._put_on(attempts, connection)
            self._open.update((attempt.seq, attempt) for attempt in attempts)
            self._await_answers(attempts, connection)
            return True

    def _await_answers(self, attempts: list[SendAttempt], connection: ClientConnection) -> None:
        """Expect an answer to each of these attempts from now on."""
        self._blocked_detector.on_send(connection.broker, attempts[0].sent_ns)

    def _no_longer_blocked(self, answer: BrokerAnswer) -> None:
        at_ns = self._access.clock() if answer.settled_ns is None else answer.settled_ns
        self._blocked_detector.on_answer(at_ns, awaits_more=bool(self._open))

    def _blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        self._access.blocked(broker, began_ns, ended_ns, f"producer {self.number}: {reason}")

    def _write(
        self, attempts: list[SendAttempt], connection: ClientConnection, send: Send, messages: list[Outgoing]
    ) -> None:
        """Write open attempts. No lock is held: the write may wait for a reader that delivers an answer here."""
        refusal: BrokerAnswer | None = None
        sent_ns = attempts[0].sent_ns
        try:
            sent_ns = send(messages)
            self._wrote(attempts, connection, sent_ns, self._access.clock())
        except DriverError as error:
            refusal = BrokerAnswer(Outcome.FAILED, self._access.clock(), str(error))
        with self._lock:
            answered = [attempt for attempt in attempts if self._now_written(attempt, sent_ns, refusal)]
        for attempt in answered:
            if attempt.answer is not None:
                self._record(attempt, attempt.answer)

    def _now_written(self, attempt: SendAttempt, sent_ns: int, refusal: BrokerAnswer | None) -> bool:
        """Mark as written; return whether the answer is already there, so the attempt is no longer open."""
        if self._open.get(attempt.seq) is not attempt:
            return False  # given up as in doubt while it was being written
        attempt.sent_ns, attempt.written = sent_ns, True
        attempt.answer = refusal or attempt.answer
        if attempt.answer is None:
            return False
        self._forget(attempt)
        self._no_longer_blocked(attempt.answer)
        return True

    def _outgoing(self, attempt: SendAttempt) -> Outgoing:
        identity = Identity(self._run, self.number, attempt.seq, attempt.number)
        body, headers = stamp(identity, attempt.body_bytes), self._messages.headers(attempt.seq)
        to = self._destinations[attempt.seq % len(self._destinations)]
        return Outgoing(to, body, self._durable, attempt, headers)

    def _sweep(self, connection: ClientConnection | None, *, resend: bool) -> int:
        """Mark the open attempts on a connection (None: all) as in doubt; return how many.

        With ``resend`` their next attempts wait.

        Some messages of an unfinished write may already have their answers. These are not in doubt, and never sent
        again.
        """
        with self._lock:
            swept = [a for a in self._open.values() if connection is None or a.connection is connection]
            for attempt in swept:
                if resend and attempt.answer is None:
                    self._open[attempt.seq] = self._next(attempt)
                else:
                    self._forget(attempt)
            lost_ns = connection.lost_ns if connection else 0
            self._blocked_detector.on_end(lost_ns or self._access.clock())
        self._statistics.counted(0, sum(attempt.connection is None for attempt in swept))  # their rows were not final
        for attempt in swept:
            if attempt.connection is not None:
                answer = attempt.answer or BrokerAnswer(Outcome.IN_DOUBT, None, attempt.connection.reason)
                self._record(attempt, answer, final=not resend or attempt.answer is not None)
        return sum(attempt.answer is None for attempt in swept)

    def _next(self, attempt: SendAttempt) -> SendAttempt:
        return SendAttempt(self, attempt.seq, attempt.number + 1, attempt.due_ns, attempt.body_bytes, attempt.blocked)

    def _forget(self, attempt: SendAttempt) -> None:
        del self._open[attempt.seq]
        if not self._open:
            self._all_settled.notify_all()

    def _record(self, attempt: SendAttempt, answer: BrokerAnswer, *, final: bool = True) -> None:
        outcome, settled_ns, reason = answer
        a = attempt
        row = SendRow(
            self.number,
            a.seq,
            a.number,
            self._names[a.seq % len(self._names)],
            a.connection.broker if a.connection else "",
            a.due_ns,
            a.ready_ns,
            a.begun_ns or a.sent_ns,
            settled_ns,
            outcome,
            a.body_bytes,
            a.blocked,
        )
        self._access.recorder.send(row)
        if self._room_wanted:
            self._make_room()
        self._on_settled(row, reason, final)
