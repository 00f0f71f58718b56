"""Reconnects a client by its failover URI: one worker follows the reconnect schedule and executes it.

The worker is a thread, or a greenlet under gevent. It attempts, sleeps and prepares each new connection: the client
subscribes again, and resends the messages in doubt. Only then may new sends use the connection. Code that needs a
connection waits in `usable`. Code that finds it broken calls `broken`.

If a broker refuses a client that was never connected, the client ends at once: trying again will not help. After a
first connection the credentials are known to be good. Then a refusal is a failed attempt like any other, and the URI's
limits decide, because a starting broker refuses only for a while. But if every broker of the list presents a
certificate that is not trusted, the client ends.

When a client closes a connection, it waits a limited time for the broker's confirmation. Every connection ends with one
row: lost, or closed.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Protocol

from drivers.broker_errors import cause_of_loss, is_frame_too_large
from drivers.contract import Connection, DriverError, OnLost, Redirected, Refused, TurnedAway, Untrusted
from drivers.failover import reconnect_schedule as reconnect
from drivers.failover.client_connection import ClientConnection
from drivers.failover.updated_uris import UpdatedUris
from drivers.failover.uri import FailoverOptions, FailoverUri, ServerUri
from records.tables.connection_events import Cause, ConnectionEvent
from records.units import MS_PER_S

PRIORITY_BACK = "a priority broker is back"
_Step = tuple[reconnect.State, ClientConnection | None]  # the next step, and the connection in use
log = logging.getLogger(__name__)


class ReconnectedClient(Protocol):
    """The part of `drivers.client.client.Client` that its reconnector uses. ``name`` begins errors."""

    name: str
    clock: Callable[[], int]

    def broker_of(self, server: ServerUri) -> str:
        """Return the broker's name."""

    def connect(self, server: ServerUri, on_lost: OnLost) -> Connection:
        """Make one attempt. Raises DriverError or OSError."""

    def restore(self, connection: ClientConnection) -> None:
        """Subscribe and send again. Raises DriverError or OSError."""

    def dropped(self, connection: ClientConnection) -> None:
        """Put the open sends on that connection in doubt."""

    def on_give_up(self) -> None:
        """Handle that there will be no further connection."""

    def record(self, event: ConnectionEvent) -> None:
        """Record a change of the client's connection."""


class Reconnector:
    """Keeps one client connected. ``updated_uris`` has its failover URI plus the brokers that it has learned of
    since."""

    def __init__(
        self, client: ReconnectedClient, updated_uris: UpdatedUris, rng: Random, close_timeout_s: float
    ) -> None:
        self._client = client
        self._name, self._clock = client.name, client.clock
        self._updated_uris = updated_uris
        self._uri = updated_uris.uri
        self._rng = rng
        self._close_timeout_s = close_timeout_s
        self._changed = threading.Condition()
        self._connection: ClientConnection | None = None  # the connection in use; None while disconnected
        self._fitted: ClientConnection | None = None  # the connection that is being prepared
        self._over = ""  # why there will never be a connection again
        self._wake = threading.Event()  # the connection was lost, or the client should close
        self._closing = threading.Event()
        self._last: ClientConnection | None = None  # the last connection that came into use
        self._attempts = ConnectionAttempts(client, self._end_connection)
        self._ender = ConnectionEnder(client, self._changed, close_timeout_s)
        self._worker = threading.Thread(target=self._follow, name=client.name, daemon=True)

    @property
    def broker(self) -> str | None:
        connection = self._connection
        return connection.broker if connection else None

    @property
    def over(self) -> str:
        """Why there will be no connection again; empty while there may be."""
        return self._over

    def start(self) -> None:
        self._worker.start()

    def usable(self, timeout_s: float | None = None) -> ClientConnection:
        """Return the connection to use now; wait until there is one. Raises DriverError: timed out, given up or
        closed."""
        connection = self._connection
        if connection is not None:
            return connection
        with self._changed:
            self._changed.wait_for(lambda: self._connection or self._over, timeout_s)
            if self._connection:
                return self._connection
            if self._over:
                raise DriverError(self._over)
        raise DriverError(
            f"{self._name} was disconnected for {timeout_s} s, the timeout of {self._uri}: raise timeout (ms), or "
            "remove it to wait longer"
        )

    def broken(self, connection: ClientConnection, reason: str, cause: Cause | None = None) -> None:
        """Handle the loss of a connection. Only the first call for it counts, and none while its client is closing."""
        if not connection.leaving:
            self._broke(connection, reason, cause)

    def _broke(self, connection: ClientConnection, reason: str, cause: Cause | None = None) -> None:
        with self._changed:
            if not connection.alive:
                return
            connection.reason, connection.lost_ns, connection.alive = reason, self._clock(), False
            connection.cause = cause or cause_of_loss(reason)
            self._connection = None if self._connection is connection else self._connection
            self._fitted = None if self._fitted is connection else self._fitted
        self._wake.set()

    def close(self, close_users: Callable[[], int]) -> None:
        """Close, and wait a limited time for the answers. Then call ``close_users`` and record the end. Idempotent.

        A connection that is still being prepared is closed in the same way: it may be resending a transaction.
        ``close_users`` closes producers and consumers, and returns how many messages were in doubt by then.
        """
        with self._changed:
            if self._closing.is_set():
                return
            self._closing.set()
            connection, self._connection, self._fitted = self._connection or self._fitted, None, None
            if connection:
                connection.leaving = True
            self._over = self._over or f"{self._name} is closed"
            self._changed.notify_all()
        self._wake.set()
        problem = self._ender.leave(connection) if connection else ""
        in_doubt = close_users()
        if connection:
            self._ender.ended(connection, close_reason(problem, in_doubt))
        if self._worker.is_alive():
            self._worker.join(self._close_timeout_s)

    # The worker: one transition of the schedule after the other.

    def _follow(self) -> None:
        connection: ClientConnection | None = None
        try:
            self._uri = self._updated_uris.refresh()
            state = reconnect.begin(self._uri, self._rng)
            while not self._closing.is_set() and not isinstance(state.action, reconnect.GiveUp):
                state, connection = self._step(state, connection)
            if isinstance(state.action, reconnect.GiveUp):
                self._end(f"{self._name}: {state.action.reason}")
        except RetryIsUselessError as unwelcome:
            self._end(str(unwelcome))
        finally:
            self._end(f"{self._name} stopped following its failover URI because of an error in its driver: see the log")
            if connection and not connection.alive:
                self._ender.ended(connection)

    def _step(self, state: reconnect.State, connection: ClientConnection | None) -> _Step:
        match state.action:
            case reconnect.Attempt(server):
                return self._attempt(state, server)
            case reconnect.Sleep(ms):
                self._sleep(ms)
                self._uri = self._updated_uris.refresh()
                return reconnect.after_sleep(self._uri, state, self._rng), None
            case reconnect.Poll(ms, servers) if connection:
                return self._pause_and_poll(state, connection, ms, servers)
            case _:
                return self._hold(state, connection)

    def _hold(self, state: reconnect.State, connection: ClientConnection | None) -> _Step:
        """Wait for the loss of the connection; then everything open on it is in doubt."""
        if connection is None or not self._lost_within(connection, None):
            return state, connection
        return self._lose(state, connection), None

    def _lose(self, state: reconnect.State, connection: ClientConnection, pause_ms: int = 0) -> reconnect.State:
        self._ender.drop(connection)
        self._attempts.refuse_to_repeat(connection)
        self._uri = self._updated_uris.refresh()
        after = reconnect.lost(self._uri, state, self._rng, connection.reason, pause_ms)
        return self._sent_on(after, connection.redirected_to) or after

    def _attempt(self, state: reconnect.State, server: ServerUri) -> _Step:
        connection, failure = self._attempts.make(server, ever_connected=state.ever_connected)
        reason = failure.reason
        if connection is not None:
            reason = self._put_to_use(connection)
            if not reason:
                return reconnect.connected(self._uri, state, server), connection
        if sent_on := self._sent_on(state, failure.redirected_to):
            return sent_on, None
        self._attempts.require_trust(self._uri)
        after = reconnect.attempt_failed(self._uri, state, reason)
        if passes := warning_pass_count(self._uri.options, state.failed_passes, after.failed_passes):
            log.warning("%s: %s over its brokers failed; the last error: %s", self._name, passes, reason)
        return after, None

    def _sent_on(self, state: reconnect.State, address: str) -> reconnect.State | None:
        """Return the state of a client that its broker redirected; None without a redirect or for an unknown broker."""
        server = self._updated_uris.server(address) if address else None
        return reconnect.redirected(state, server) if server else None

    def _pause_and_poll(
        self, state: reconnect.State, connection: ClientConnection, ms: int, servers: tuple[ServerUri, ...]
    ) -> _Step:
        polls_s = time.monotonic() + ms / MS_PER_S
        if self._lost_within(connection, ms / MS_PER_S):
            return self._lose(state, connection, max(0, round((polls_s - time.monotonic()) * MS_PER_S))), None
        return self._poll(state, connection, servers)

    def _poll(self, state: reconnect.State, current: ClientConnection, servers: tuple[ServerUri, ...]) -> _Step:
        """Try the priority brokers. If one answers, move to it, but not before the next poll."""
        for server in servers if not self._closing.is_set() else ():
            connection, _ = self._attempts.make(server, ever_connected=True)
            if connection is None:
                continue
            self._sleep(state.delay_ms)
            if self._closing.is_set():
                self._ender.leave(connection)
                return state, current
            self._part_from(current)
            reason = self._put_to_use(connection)
            if not reason:
                return reconnect.connected(self._uri, state, server), connection
            return reconnect.lost(self._uri, state, self._rng, reason), None
        return reconnect.poll_failed(self._uri, state), current

    def _end_connection(self, connection: ClientConnection, reason: str) -> None:
        connection.gone = True
        self._broke(connection, reason)

    def _put_to_use(self, connection: ClientConnection) -> str:
        """Restore the client's subscriptions and sends, then let new sends through.

        Return the reason of a failure, or an empty string.
        """
        self._record("connected", connection, self._clock())
        try:
            if self._fit(connection):
                self._client.restore(connection)
            if self._install(connection):
                return ""
        except (DriverError, OSError) as error:
            self.broken(connection, str(error), Cause.REFUSED if isinstance(error, Refused) else None)
        if connection.leaving:
            return "closed"  # the code that closed the client records it
        if connection.alive:  # the client was closed first
            self._ender.ended(connection, self._ender.leave(connection))
        else:
            self._ender.drop(connection)
            self._attempts.refuse_to_repeat(connection)
        return connection.reason or "closed"

    def _fit(self, connection: ClientConnection) -> bool:
        """Return whether to prepare the connection: not if the client has been closed."""
        with self._changed:
            self._fitted = None if self._closing.is_set() else connection
            return self._fitted is not None

    def _install(self, connection: ClientConnection) -> bool:
        with self._changed:
            self._fitted = None
            if not connection.alive or self._closing.is_set():
                return False
            last = self._last
            if last and last.broker != connection.broker:
                self._record("moved", connection, self._clock(), f"from {last.broker}")
            connection.ready_ns = self._clock()
            if last:  # else there was nothing to restore
                self._record("ready", connection, connection.ready_ns)
            self._connection = self._last = connection
            self._changed.notify_all()
            return True

    def _record(self, event: str, connection: ClientConnection, at_ns: int, reason: str = "") -> None:
        """Record a change after which the client is on ``connection``, with the previous broker and why it left
        that."""
        from_broker, cause = (self._last.broker, self._last.cause) if self._last else (None, None)
        self._client.record(ConnectionEvent(connection.broker, event, at_ns, reason, from_broker, cause))

    def _part_from(self, connection: ClientConnection) -> None:
        """Close ``connection`` in order to move to a better broker. Sends without an answer are repeated there."""
        with self._changed:
            self._connection, connection.leaving = None, connection.alive
        problem = self._ender.leave(connection) if connection.alive else ""
        self._ender.drop(connection, "; ".join(filter(None, (PRIORITY_BACK, problem))), Cause.PRIORITY)

    def _lost_within(self, connection: ClientConnection, timeout_s: float | None) -> bool:
        """Wait until ``connection`` is lost; return False after the timeout or if the client should close."""
        if connection.alive:
            self._wake.wait(timeout_s)
        self._wake.clear()
        return not connection.alive and not self._closing.is_set()

    def _sleep(self, ms: int) -> None:
        if ms > 0:
            self._closing.wait(ms / MS_PER_S)
        else:
            time.sleep(0)  # no delay requested: still let others run

    def _end(self, reason: str) -> None:
        """End for good: there will be no further connection. The first reason is kept."""
        with self._changed:
            if self._over:
                return
            self._over = reason
            self._changed.notify_all()
        self._client.on_give_up()


class RetryIsUselessError(Exception):
    """Further attempts will not help: a refusal before the first connection, or of the messages to resend."""


@dataclass(frozen=True)
class Failure:
    """Why an attempt gave no connection; ``redirected_to``: the host:port that the broker redirected to."""

    reason: str = ""
    redirected_to: str = ""
    cause: Cause | None = None


class ConnectionAttempts:
    """The connection attempts of one client. One thread makes all of them.

    The protocol's connection calls ``went`` once it is lost, with the reason.
    """

    def __init__(self, client: ReconnectedClient, went: Callable[[ClientConnection, str], None]) -> None:
        self._client, self._name, self._clock = client, client.name, client.clock
        self._end_connection = went
        self._doubted: dict[str, str] = {}  # by address: why its certificate was not trusted at the last attempt

    def make(self, server: ServerUri, *, ever_connected: bool) -> tuple[ClientConnection | None, Failure]:
        """Make one attempt; return a connection, or None and the failure. Raises `RetryIsUselessError`."""
        connection, began_ns, failure = ClientConnection(self._client.broker_of(server)), self._clock(), Failure()
        self._doubted.pop(server.address, None)
        try:
            connection.carry(self._client.connect(server, partial(self._end_connection, connection)))
            return connection, failure
        except Untrusted as error:
            failure = Failure(str(error), cause=Cause.UNTRUSTED)
            self._doubted[server.address] = failure.reason
            if not ever_connected:
                raise RetryIsUselessError(f"{self._name}: {failure.reason}") from error
        except Refused as error:
            failure = Failure(str(error), cause=Cause.REFUSED)
            if not ever_connected:
                raise RetryIsUselessError(failure.reason) from error
        except Redirected as error:
            failure = Failure(str(error), error.address, Cause.REDIRECT)
        except (DriverError, OSError) as error:
            cause = Cause.REFUSED if isinstance(error, TurnedAway) else Cause.UNREACHABLE
            failure = Failure(str(error) or type(error).__name__, cause=cause)
        finally:
            event = ConnectionEvent(connection.broker, "attempt", began_ns, failure.reason, cause=failure.cause)
            self._client.record(event._replace(ended_ns=self._clock()))
        return None, failure

    def require_trust(self, uri: FailoverUri) -> None:
        """Raise `RetryIsUselessError` if no broker of the list was trusted at its last attempt."""
        doubts = [self._doubted.get(server.address, "") for server in reconnect.listed(uri)]
        if all(doubts):
            raise RetryIsUselessError(f"{self._name}: no broker of {uri} is trusted any longer: {doubts[0]}")

    def refuse_to_repeat(self, lost: ClientConnection) -> None:
        """Raise `RetryIsUselessError` for a message that is too large: it would end every connection that resends
        it."""
        if is_frame_too_large(lost.reason):
            raise RetryIsUselessError(
                f"{self._name}: broker {lost.broker} ended the connection, as a message exceeded its frame size:"
                f" {lost.reason}; send smaller bodies (--body-bytes), or raise the broker's maxFrameSize"
            )


def warning_pass_count(options: FailoverOptions, before: int, now: int) -> str:
    """Return the number of failed passes in words if a new failure warrants a warning; otherwise empty."""
    interval = options.warn_after_reconnect_attempts
    if now > before and interval > 0 and (now == 1 or now % interval == 0):
        return "1 pass" if now == 1 else f"{now} passes"
    return ""


class ConnectionEnder:
    """Ends the connections of one client. ``lock`` guards their ``alive`` and ``ended``.

    The client is called without the lock.
    """

    def __init__(self, client: ReconnectedClient, lock: threading.Condition, timeout_s: float) -> None:
        self._client, self._lock, self._timeout_s = client, lock, timeout_s

    def leave(self, connection: ClientConnection) -> str:
        """Close the connection, and wait a limited time for the broker. Return the problem, or an empty string."""
        problems: list[str] = []
        goodbye = _goodbye(connection, problems)
        goodbye.join(self._timeout_s)
        if goodbye.is_alive():
            return f"no answer to the goodbye within {self._timeout_s} s"
        return problems[0] if problems else ""

    def drop(self, connection: ClientConnection, reason: str = "", cause: Cause = Cause.CLOSED) -> None:
        """Record the end of ``connection``, and release it."""
        self.ended(connection, reason, cause)
        if not connection.gone:  # we noticed first: release the connection, without waiting for a goodbye
            _goodbye(connection, [])
        self._client.dropped(connection)

    def ended(self, connection: ClientConnection, reason: str = "", cause: Cause = Cause.CLOSED) -> None:
        """Record the end of a connection, once: as lost, or as closed by us for that ``reason`` and ``cause``."""
        with self._lock:
            if connection.ended:
                return
            connection.ended = True
            closed, connection.alive = connection.alive, False
        if closed:
            connection.gone = True
            connection.reason, connection.cause = reason or "closed before the answer came", cause
            event = ConnectionEvent(connection.broker, "closed", self._client.clock(), reason)
        else:
            if connection.redirected_to:
                connection.cause = Cause.REDIRECT
            event = ConnectionEvent(connection.broker, "lost", connection.lost_ns, connection.reason)
        self._client.record(event._replace(cause=connection.cause))


def close_reason(problem: str, in_doubt: int) -> str:
    """Return the reason in a client's last row: the problems of its close, and the number of messages in doubt."""
    messages = "1 message is" if in_doubt == 1 else f"{in_doubt} messages are"
    return "; ".join(filter(None, (problem, f"{messages} in doubt" if in_doubt else "")))


def _goodbye(connection: ClientConnection, problems: list[str]) -> threading.Thread:
    def close() -> None:
        try:
            connection.protocol_connection.close()
        except (DriverError, OSError) as error:
            problems.append(str(error))

    thread = threading.Thread(target=close, daemon=True)
    thread.start()
    return thread
