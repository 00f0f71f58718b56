"""What became of each send? A producer stamps, writes, and records every attempt exactly once.

A durable send is *open* from before its first byte is written until its outcome is known:

    send ─► open (attempt 1) ── answered ──────────► acked | failed
                │
                └─ connection lost ─► in_doubt ─► open again (attempt 2, same producer and seq), first in line on the
                                                  next connection, in order of seq; or, unless resending, the end

A send that is not durable has no answer: once written it is *unconfirmed*. Only when the write itself broke is it
in_doubt and tried again, as the Java client does.
"""

import threading
from collections.abc import Callable, Sequence

from drivers.contract import Destination, DriverError, Outcome, Outgoing
from drivers.link import Access, Link
from drivers.patience import Patience
from drivers.sends import UNCONFIRMED, Answer, SendAttempt, Settled, Slot
from records.identity import Identity, stamp

Send = Callable[[Sequence[Outgoing]], int]


class Producer:
    """Sends the messages of one client to one destination. Made by `drivers.client.Client.producer`."""

    def __init__(
        self,
        access: Access,
        destination: Destination,
        *,
        number: int,
        durable: bool,
        run: int,
        timeout_s: float | None,
        resend_in_doubt: bool,
        on_settled: Callable[[Settled], None],
    ) -> None:
        self.destination = destination
        self.number = number
        self._access = access
        self._name = str(destination)
        self._durable = durable
        self._run = run
        self._timeout_s = timeout_s
        self._resend = resend_in_doubt
        self._on_settled = on_settled
        self._lock = threading.Lock()
        self._all_settled = threading.Condition(self._lock)
        self._open: dict[int, SendAttempt] = {}
        self._closed = False
        self._patience = Patience(self._blocked)

    def send(self, seq: int, body_bytes: int, due_ns: int, *, blocked: bool = False) -> None:
        """Write one message; returns once it is written, its outcome comes by callback.

        Blocks while the client is disconnected, at most the failover URI's ``timeout``. A message that could not be
        written at all is recorded as failed, and DriverError raised.
        """
        self.send_batch((Slot(seq, due_ns, blocked),), body_bytes)

    def send_batch(self, slots: Sequence[Slot], body_bytes: int) -> None:
        """Write messages that are all due by now, in one write where the connection can; otherwise as `send`.

        They share the time of that write, and if it breaks, the doubt.
        """
        attempts = [
            SendAttempt(self, slot.seq, 1, slot.due_ns, body_bytes, slot.blocked, slot.begun_ns) for slot in slots
        ]
        try:
            while attempts:
                link = self._usable(attempts[0].seq)
                attempts = attempts[self._send_some(attempts, link) :]
        except DriverError as error:
            self._never_written(attempts, str(error))
            raise

    @property
    def outstanding(self) -> int:
        """Durable sends whose final outcome is not known yet."""
        return len(self._open)

    def wait_settled(self, timeout_s: float | None) -> bool:
        """Wait until nothing is outstanding; False when that takes longer."""
        with self._all_settled:
            return self._all_settled.wait_for(lambda: not self._open, timeout_s)

    def close(self) -> int:
        """Record what is still unanswered as in doubt, and forget it; how many messages that is. Idempotent."""
        with self._lock:
            self._closed = True
        return self.give_up()

    # What the client asks of its producers, from its own thread.

    def give_up(self) -> int:
        """Nothing will be sent again: what is unanswered stays in doubt; how many messages that is."""
        return self._sweep(None, resend=False)

    def link_lost(self, link: Link) -> None:
        """Everything written to ``link`` and unanswered is in doubt, and waits to be sent again."""
        self._sweep(link, resend=self._resend and not self._closed)

    def send_again(self, link: Link) -> None:
        """Write all that waits, in order of seq, before any new send. Raises ConnectionError."""
        for attempt in self._waiting():
            if self._claim([attempt], link):
                self._write([attempt], link.send, [self._outgoing(attempt)])

    def answered(self, attempt: SendAttempt, answer: Answer) -> None:
        """The broker's answer; ignored when the attempt was given up as in doubt before it came."""
        with self._lock:
            if self._open.get(attempt.seq) is not attempt:
                return
            if not attempt.written:
                attempt.answer = answer
                return
            self._forget(attempt)
            self._patience_ends_with(answer)
        self._record(attempt, answer)

    def _waiting(self) -> list[SendAttempt]:
        """What is to be sent again, in order."""
        with self._lock:
            return sorted((a for a in self._open.values() if a.link is None), key=lambda a: a.seq)

    def _send_some(self, attempts: list[SendAttempt], link: Link) -> int:
        """Send as many as go together; how many that is, 0 when they are to be tried again."""
        together = link.together(len(attempts))
        send = self._send_durable if self._durable else self._send_one_way
        return together if send(attempts[:together], link) else 0

    def _send_durable(self, attempts: list[SendAttempt], link: Link) -> bool:
        """Open the attempts and write them; False when ``link`` was lost before."""
        messages = [self._outgoing(attempt) for attempt in attempts]
        if not self._claim(attempts, link):
            return False
        try:
            self._write(attempts, link.send, messages)
        except ConnectionError as error:
            self._access.broken(link, str(error))  # in doubt from now on; the client sends it again
        return True

    def _send_one_way(self, attempts: list[SendAttempt], link: Link) -> bool:
        """Write the attempts; False when that broke and they are to be tried again."""
        self._on_link(attempts, link)
        began_ns = attempts[0].sent_ns
        try:
            sent_ns = link.send([self._outgoing(attempt) for attempt in attempts])
        except ConnectionError as error:
            self._access.broken(link, str(error))
            for attempt in attempts:
                self._record(attempt, Answer(Outcome.IN_DOUBT, None, str(error)), final=not self._resend)
                attempt.number, attempt.begun_ns = attempt.number + 1, 0
            return not self._resend
        finally:  # also when its user was stopped meanwhile
            self._patience.wrote(link.broker, began_ns, self._access.clock())
        for attempt in attempts:
            attempt.sent_ns = sent_ns
            self._record(attempt, UNCONFIRMED)
        return True

    def _usable(self, seq: int) -> Link:
        if self._closed:
            raise DriverError(f"producer {self.number} of {self._name} was closed before message {seq} went")
        return self._access.usable(self._timeout_s)

    def _never_written(self, attempts: list[SendAttempt], reason: str) -> None:
        for attempt in attempts:
            attempt.sent_ns = self._access.clock()
            self._record(attempt, Answer(Outcome.FAILED, attempt.sent_ns, reason))

    def _on_link(self, attempts: list[SendAttempt], link: Link) -> None:
        now_ns = self._access.clock()
        for attempt in attempts:
            attempt.link, attempt.sent_ns = link, now_ns

    def _claim(self, attempts: list[SendAttempt], link: Link) -> bool:
        """Make the attempts open on ``link``, unless that was lost meanwhile or the producer closed: all or none."""
        with self._lock:
            if self._closed or not link.alive:
                return False
            if any(each.number > 1 and self._open.get(each.seq) is not each for each in attempts):
                return False
            self._on_link(attempts, link)
            self._open.update((attempt.seq, attempt) for attempt in attempts)
            self._await_answers(attempts, link)
            return True

    def _await_answers(self, attempts: list[SendAttempt], link: Link) -> None:
        """From now on each of these attempts should be answered soon."""
        self._patience.awaits(link.broker, attempts[0].sent_ns)

    def _patience_ends_with(self, answer: Answer) -> None:
        at_ns = self._access.clock() if answer.settled_ns is None else answer.settled_ns
        self._patience.heard(at_ns, more=bool(self._open))

    def _blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        self._access.blocked(broker, began_ns, ended_ns, f"producer {self.number}: {reason}")

    def _write(self, attempts: list[SendAttempt], send: Send, messages: list[Outgoing]) -> None:
        """Write open attempts. No lock is held: the write may wait for a reader that delivers an answer here."""
        refusal: Answer | None = None
        sent_ns = attempts[0].sent_ns
        try:
            sent_ns = send(messages)
        except DriverError as error:
            refusal = Answer(Outcome.FAILED, self._access.clock(), str(error))
        with self._lock:
            answered = [each for each in attempts if self._now_written(each, sent_ns, refusal)]
        for attempt in answered:
            if attempt.answer is not None:
                self._record(attempt, attempt.answer)

    def _now_written(self, attempt: SendAttempt, sent_ns: int, refusal: Answer | None) -> bool:
        """Whether its answer is there already; then it is open no more."""
        if self._open.get(attempt.seq) is not attempt:
            return False  # given up as in doubt while it was being written
        attempt.sent_ns, attempt.written = sent_ns, True
        attempt.answer = refusal or attempt.answer
        if attempt.answer is None:
            return False
        self._forget(attempt)
        self._patience_ends_with(attempt.answer)
        return True

    def _outgoing(self, attempt: SendAttempt) -> Outgoing:
        identity = Identity(self._run, self.number, attempt.seq, attempt.number)
        return Outgoing(self.destination, stamp(identity, attempt.body_bytes), self._durable, attempt)

    def _sweep(self, link: Link | None, *, resend: bool) -> int:
        """Take the open attempts on ``link`` (None: all) as in doubt, so many; with ``resend`` their next ones wait.

        Of a write that is still under way some may have been answered: these are not in doubt, and never sent again.
        """
        with self._lock:
            swept = [a for a in self._open.values() if link is None or a.link is link]
            for attempt in swept:
                if resend and attempt.answer is None:
                    self._open[attempt.seq] = self._next(attempt)
                else:
                    self._forget(attempt)
            self._patience.ends(link.lost_ns if link and link.lost_ns else self._access.clock())
        for attempt in swept:
            if attempt.link is not None:
                answer = attempt.answer or Answer(Outcome.IN_DOUBT, None, attempt.link.reason)
                self._record(attempt, answer, final=not resend or attempt.answer is not None)
        return sum(attempt.answer is None for attempt in swept)

    def _next(self, attempt: SendAttempt) -> SendAttempt:
        return SendAttempt(self, attempt.seq, attempt.number + 1, attempt.due_ns, attempt.body_bytes, attempt.blocked)

    def _forget(self, attempt: SendAttempt) -> None:
        del self._open[attempt.seq]
        if not self._open:
            self._all_settled.notify_all()

    def _record(self, attempt: SendAttempt, answer: Answer, *, final: bool = True) -> None:
        number, broker = self.number, attempt.link.broker if attempt.link else ""
        outcome, settled_ns, reason = answer
        a, sent_ns = attempt, attempt.begun_ns or attempt.sent_ns
        self._access.recorder.send(
            number,
            a.seq,
            a.number,
            self._name,
            broker,
            a.due_ns,
            sent_ns,
            settled_ns,
            str(outcome),
            a.body_bytes,
            a.blocked,
        )
        self._on_settled(
            Settled(
                number, a.seq, a.number, outcome, broker, a.due_ns, sent_ns, settled_ns, a.body_bytes, reason, final
            )
        )
