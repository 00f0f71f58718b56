"""How does a client stay connected? It follows its failover URI's schedule, and puts everything back after a loss.

One worker thread (a greenlet under gevent) owns the schedule: it attempts, sleeps, subscribes again, sends again what
is in doubt, and only then lets new sends through. Producers wait for it, consumers need not.

What a refusal means: a broker that says no (credentials, client id) before this client was ever connected ends the
client at once, since trying again will not help. Later the same credentials were good, so a refusal is a failed
attempt like any other and the schedule's limits decide: a broker that is coming up, or still holds the client's old
connection, refuses only for a while.
"""

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from uuid import uuid4

from drivers import reconnect
from drivers.consumer import Consumer, Received
from drivers.contract import Connector, Destination, DriverError, Outcome, Refused, Subscription
from drivers.failover import FailoverUri, ServerUri, unsupported
from drivers.link import Link
from drivers.producer import Answer, Producer, SendAttempt, Settled
from records.writer import Recorder
from topologies.endpoints import Credentials, Endpoint

MS_PER_S = 1_000


class _UnwelcomeError(Exception):
    """A refusal before the first connection: the client has failed."""


class Client:
    """One connected client of a group: at most one connection at a time, to one of its URI's brokers.

    ``number`` is the client's number in the run (records.schemas), ``brokers`` names the broker behind each
    ``host:port``. A ``client_id`` is needed for durable subscriptions alone; without, each connection has one of its
    own, so that a broker which has not noticed a loss yet does not refuse the next connection.
    """

    def __init__(
        self,
        *,
        number: int,
        group: str,
        uri: FailoverUri,
        brokers: Mapping[str, str],
        connector: Connector,
        credentials: Credentials,
        recorder: Recorder,
        rng: Random,
        clock: Callable[[], int] = time.perf_counter_ns,
        client_id: str = "",
        connect_timeout_s: float = 10.0,
        close_timeout_s: float = 5.0,
    ) -> None:
        _refuse_unusable(uri, brokers, connector.protocol)
        self.number = number
        self.group = group
        self.recorder = recorder
        self.clock = clock
        self._uri = uri
        self._brokers = brokers
        self._connector = connector
        self._credentials = credentials
        self._rng = rng
        self._client_id = client_id
        self._unique = f"{group}-{number}-{uuid4().hex[:8]}"
        self._connections = 0
        self._connect_timeout_s = connect_timeout_s
        self._close_timeout_s = close_timeout_s
        self._changed = threading.Condition()
        self._link: Link | None = None  # the one in use; None while disconnected
        self._over: str = ""  # why this client will never be connected again
        self._wake = threading.Event()  # the connection was lost, or the client is to close
        self._closing = threading.Event()
        self._last_broker: str | None = None
        self._producers: list[Producer] = []
        self._consumers: list[Consumer] = []
        self._worker = threading.Thread(target=self._follow, name=f"client-{group}-{number}", daemon=True)

    def __repr__(self) -> str:
        where = f"on {self.broker}" if self.broker else self._over or "disconnected"
        return f"Client({self.group} {self.number}, {where})"

    @property
    def broker(self) -> str | None:
        """The name of the broker it is connected to."""
        link = self._link
        return link.broker if link else None

    def open(self) -> None:
        """Connect as the URI says; blocks until connected. Raises DriverError: refused, or the schedule exhausted."""
        self._worker.start()
        self.usable()

    def producer(
        self,
        destination: Destination,
        *,
        durable: bool,
        run: int,
        resend_in_doubt: bool = True,
        on_settled: Callable[[Settled], None],
    ) -> Producer:
        """A producer of this client's number: give each seq once. ``run`` is the number stamped into the bodies."""
        timeout_ms = self._uri.options.timeout_ms
        producer = Producer(
            self,
            destination,
            durable=durable,
            run=run,
            timeout_s=timeout_ms / MS_PER_S if timeout_ms > 0 else None,
            resend_in_doubt=resend_in_doubt,
            on_settled=on_settled,
        )
        self._producers.append(producer)
        return producer

    def consumer(self, subscription: Subscription, *, run: int, on_receipt: Callable[[Received], None]) -> Consumer:
        """Subscribe, now and after every failover; returns once the broker has confirmed. Raises DriverError."""
        if subscription.durable_name and not self._client_id:
            raise DriverError(
                f"client {self.number} asks for the durable subscription {subscription.durable_name!r} without a client "
                "id: give Client a client_id that stays the same"
            )
        consumer = Consumer(self, subscription, run=run, on_receipt=on_receipt)
        self._consumers.append(consumer)
        while True:
            link = self.usable()
            try:
                consumer.attach(link)
                return consumer
            except ConnectionError as error:
                self.broken(link, str(error))
            except Refused as error:
                self._consumers.remove(consumer)
                raise self._refusal(link.broker, error) from error

    def close(self) -> None:
        """Leave: waits a bounded time for the broker's goodbye; what is unanswered then is in doubt. Idempotent."""
        with self._changed:
            if self._closing.is_set():
                return
            self._closing.set()
            link, self._link = self._link, None
            self._over = self._over or f"{self.group} client {self.number} is closed"
            self._changed.notify_all()
        self._wake.set()
        reason = self._leave(link) if link else ""
        for producer in self._producers:
            producer.close()
        for consumer in self._consumers:
            consumer.close()
        if link:
            self._ended(link, reason)
        if self._worker.is_alive():
            self._worker.join(self._close_timeout_s)

    # For producers and consumers (drivers.link.Access).

    def usable(self, timeout_s: float | None = None) -> Link:
        """The link to use now; waits while there is none. Raises DriverError: timed out, given up or closed."""
        link = self._link
        if link is not None:
            return link
        with self._changed:
            self._changed.wait_for(lambda: self._link or self._over, timeout_s)
            if self._link:
                return self._link
            if self._over:
                raise DriverError(self._over)
        raise DriverError(
            f"{self.group} client {self.number} was disconnected for {timeout_s} s, the timeout of {self._uri}: raise "
            "timeout (ms) or remove it to wait longer"
        )

    def broken(self, link: Link, reason: str) -> None:
        """The connection of ``link`` is gone. Only the first call for a link counts."""
        with self._changed:
            if not link.alive:
                return
            link.reason, link.lost_ns, link.alive = reason, self.clock(), False
            if self._link is link:
                self._link = None
        self._wake.set()

    def _went(self, link: Link, reason: str) -> None:
        link.gone = True
        self.broken(link, reason)

    # The worker: one transition of the schedule after the other.

    def _follow(self) -> None:
        state = reconnect.begin(self._uri, self._rng)
        link: Link | None = None
        try:
            while not self._closing.is_set() and not isinstance(state.action, reconnect.GiveUp):
                state, link = self._step(state, link)
        except _UnwelcomeError as unwelcome:
            self._end(str(unwelcome))
        if isinstance(state.action, reconnect.GiveUp):
            self._end(f"{self.group} client {self.number}: {state.action.reason}")
        if link and not link.alive:
            self._ended(link)

    def _step(self, state: reconnect.State, link: Link | None) -> tuple[reconnect.State, Link | None]:
        match state.action:
            case reconnect.Attempt(server):
                return self._attempt(state, server)
            case reconnect.Sleep(ms):
                self._sleep(ms)
                return reconnect.slept(self._uri, state, self._rng), None
            case reconnect.Poll(ms, servers) if link and not self._lost_within(link, ms / MS_PER_S):
                return self._poll(state, link, servers)
            case _:
                return self._hold(state, link)

    def _hold(self, state: reconnect.State, link: Link | None) -> tuple[reconnect.State, Link | None]:
        """Wait for the loss of the connection; then everything open on it is in doubt."""
        if link is None or not self._lost_within(link, None):
            return state, link
        self._drop(link)
        return reconnect.lost(self._uri, state, self._rng, link.reason), None

    def _attempt(self, state: reconnect.State, server: ServerUri) -> tuple[reconnect.State, Link | None]:
        link, reason = self._connect(server, ever_connected=state.ever_connected)
        if link is not None:
            reason = self._put_to_use(link)
            if not reason:
                return reconnect.connected(self._uri, state, server), link
        return reconnect.attempt_failed(self._uri, state, reason), None

    def _poll(
        self, state: reconnect.State, old: Link, servers: tuple[ServerUri, ...]
    ) -> tuple[reconnect.State, Link | None]:
        """Try the brokers of priority; when one answers, leave the present one for it."""
        for server in servers if not self._closing.is_set() else ():
            link, _ = self._connect(server, ever_connected=True)
            if link is None:
                continue
            self._part_from(old)
            reason = self._put_to_use(link)
            if not reason:
                return reconnect.connected(self._uri, state, server), link
            return reconnect.lost(self._uri, state, self._rng, reason), None
        return reconnect.poll_failed(self._uri, state), old

    def _connect(self, server: ServerUri, *, ever_connected: bool) -> tuple[Link | None, str]:
        """One attempt: a link, or None and the reason why not."""
        broker = self._brokers[server.address]
        link, began_ns, reason = Link(broker), self.clock(), ""
        self._connections += 1
        try:
            link.carry(
                self._connector.connect(
                    Endpoint(broker, self._connector.protocol, str(self._uri.effective(server))),
                    self._credentials,
                    client_id=self._client_id or f"{self._unique}-{self._connections}",
                    timeout_s=self._connect_timeout_s,
                    on_settled=_settle,
                    on_lost=partial(self._went, link),
                )
            )
        except Refused as error:
            reason = str(error)
            if not ever_connected:
                self._event("attempt", broker, began_ns, reason)
                raise _UnwelcomeError(str(self._refusal(broker, error))) from error
        except (DriverError, OSError) as error:
            reason = str(error)
        self._event("attempt", broker, began_ns, reason)
        return (None if reason else link), reason

    def _put_to_use(self, link: Link) -> str:
        """Subscribe and send again, then let new sends through; the reason why that failed, or ''."""
        self._event("connected", link.broker, self.clock(), "")
        try:
            self._restore(link)
            with self._changed:
                if link.alive and not self._closing.is_set():
                    self._link = link
                    self._changed.notify_all()
                    return self._arrived(link)
        except (DriverError, OSError) as error:
            self.broken(link, str(error))
        if link.alive:  # the client was closed meanwhile
            self._ended(link, self._leave(link))
        else:
            self._drop(link)
        return link.reason or "closed"

    def _restore(self, link: Link) -> None:
        for consumer in list(self._consumers):
            if self._closing.is_set():
                return
            consumer.attach(link)
        for producer in list(self._producers):
            producer.send_again(link)

    def _arrived(self, link: Link) -> str:
        if self._last_broker not in (None, link.broker):
            self._event("moved", link.broker, self.clock(), f"from {self._last_broker}")
        self._last_broker = link.broker
        return ""

    def _part_from(self, old: Link) -> None:
        """Leave ``old`` politely for a better broker; what it leaves unanswered goes to that one."""
        with self._changed:
            self._link = None
        problem = self._leave(old) if old.alive else ""
        self._drop(old, problem or "a broker of priority is back")

    def _drop(self, link: Link, reason: str = "") -> None:
        """``link`` is no more: what is open on it is in doubt."""
        self._ended(link, reason)
        if not link.gone:  # we noticed first: let go of the connection, without waiting for a goodbye
            threading.Thread(target=_close, args=(link, []), daemon=True).start()
        for producer in list(self._producers):
            producer.link_lost(link)

    def _ended(self, link: Link, reason: str = "") -> None:
        """Record the end of a connection, once: as lost, or as closed by us."""
        with self._changed:
            if link.ended:
                return
            link.ended = True
            closed, link.alive = link.alive, False
        if closed:
            link.gone = True
            link.reason = link.reason or reason or "closed before the answer came"
            self._event("closed", link.broker, self.clock(), reason)
        else:
            self._event("lost", link.broker, link.lost_ns, link.reason)

    def _leave(self, link: Link) -> str:
        """Close the connection politely, but do not wait for ever; what went wrong, or ''."""
        problem: list[str] = []
        goodbye = threading.Thread(target=_close, args=(link, problem), daemon=True)
        goodbye.start()
        goodbye.join(self._close_timeout_s)
        if goodbye.is_alive():
            return f"no answer to the goodbye within {self._close_timeout_s} s"
        return problem[0] if problem else ""

    def _lost_within(self, link: Link, timeout_s: float | None) -> bool:
        """Wait until ``link`` is lost; False after the timeout or when the client is to close."""
        if link.alive:
            self._wake.wait(timeout_s)
        self._wake.clear()
        return not link.alive and not self._closing.is_set()

    def _sleep(self, ms: int) -> None:
        if ms > 0:
            self._closing.wait(ms / MS_PER_S)
        else:
            time.sleep(0)  # no delay asked for: still let others run

    def _end(self, reason: str) -> None:
        with self._changed:
            self._over = self._over or reason
            self._changed.notify_all()
        for producer in list(self._producers):
            producer.give_up()

    def _refusal(self, broker: str, error: Refused) -> DriverError:
        return DriverError(
            f"{self.group} client {self.number}: broker {broker} refused user {self._credentials.username!r}: {error}"
        )

    def _event(self, event: str, broker: str, at_ns: int, reason: str) -> None:
        self.recorder.connection(self.number, self.group, self._connector.protocol, broker, event, at_ns, reason)


def _settle(token: object, outcome: Outcome, settled_ns: int, reason: str) -> None:
    if isinstance(token, SendAttempt):
        token.producer.answered(token, Answer(outcome, settled_ns, reason))


def _close(link: Link, problem: list[str]) -> None:
    try:
        link.connection.close()
    except (DriverError, OSError) as error:
        problem.append(str(error))


def _refuse_unusable(uri: FailoverUri, brokers: Mapping[str, str], protocol: str) -> None:
    """Raise DriverError for a URI that this protocol or this topology cannot honour."""
    problems = list(unsupported(uri, protocol))
    known = ", ".join(sorted(brokers)) or "none"
    for server in (*uri.servers, *uri.options.priority_uris):
        if server.address not in brokers:
            problems.append(f"failover URI {uri}: {server.address} is no broker of this run; known are {known}")
    if problems:
        raise DriverError("; ".join(problems))
