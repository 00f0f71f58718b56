"""Which connection does a client have now? One worker follows the schedule of `drivers.reconnect` and acts on it.

The worker (a thread, under gevent a greenlet) attempts, sleeps, puts each new connection to use (the client subscribes
again and sends again what is in doubt), and only then lets new sends through. Whoever needs a connection waits for it
in `usable`; whoever sees it break says so by `broken`.

What a refusal means: a broker that says no before this client was ever connected ends the client at once, since trying
again will not help. Later the same credentials were good, so a refusal is a failed attempt like any other and the
schedule's limits decide: a broker that is coming up refuses only for a while. But once each broker of the list shows a
certificate that is not to be believed, there is nobody left to wait for.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from drivers import reconnect
from drivers.broker_words import too_large
from drivers.contract import Connection, DriverError, OnLost, Redirected, Refused, Untrusted
from drivers.failover import FailoverUri, ServerUri
from drivers.link import Link

MS_PER_S = 1_000
log = logging.getLogger(__name__)


class _UnwelcomeError(Exception):
    """What no further attempt will change: a refusal before the first connection, or of what would be sent again."""


@dataclass(frozen=True)
class _Failure:
    """Why an attempt gave no connection; ``redirected_to``: the host:port that the broker named instead of itself."""

    reason: str = ""
    redirected_to: str = ""


@dataclass(frozen=True)
class Duties:
    """What the follower has its client do."""

    connect: Callable[[ServerUri, OnLost], Connection]  # one attempt; raises DriverError or OSError
    restore: Callable[[Link], None]  # subscribe and send again; raises DriverError or OSError
    dropped: Callable[[Link], None]  # what is open on that link is in doubt
    gave_up: Callable[[], None]  # there will be no further connection
    record: Callable[[str, str, int, str], None]  # event, broker, at_ns, reason
    refresh: Callable[[FailoverUri], FailoverUri]  # with the servers that came since; asked before every pass
    server_of: Callable[[str], ServerUri | None]  # of the host:port that a broker sends its clients to


class Follower:
    """Keeps one client connected. ``name`` begins its errors, ``brokers`` is asked for the broker of an address."""

    def __init__(
        self,
        name: str,
        uri: FailoverUri,
        broker_of: Callable[[ServerUri], str],
        duties: Duties,
        rng: Random,
        clock: Callable[[], int],
        close_timeout_s: float,
    ) -> None:
        self._name = name
        self._uri = uri
        self._broker_of = broker_of
        self._duties = duties
        self._rng = rng
        self._clock = clock
        self._close_timeout_s = close_timeout_s
        self._changed = threading.Condition()
        self._link: Link | None = None  # the one in use; None while disconnected
        self._fitted: Link | None = None  # the one that is being put to use
        self._over = ""  # why there will never be one again
        self._wake = threading.Event()  # the connection was lost, or the client is to close
        self._closing = threading.Event()
        self._doubted: dict[str, str] = {}  # by address: why its certificate was not believed when it was last tried
        self._last_broker = ""
        self._worker = threading.Thread(target=self._follow, name=name, daemon=True)

    @property
    def broker(self) -> str | None:
        link = self._link
        return link.broker if link else None

    @property
    def over(self) -> str:
        """Why there will be no connection again; '' while there may be."""
        return self._over

    def start(self) -> None:
        self._worker.start()

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
            f"{self._name} was disconnected for {timeout_s} s, the timeout of {self._uri}: raise timeout (ms), or "
            "remove it to wait longer"
        )

    def broken(self, link: Link, reason: str) -> None:
        """The connection of ``link`` is gone. Only the first call for a link counts, and none of one that we leave."""
        if not link.leaving:
            self._broke(link, reason)

    def _broke(self, link: Link, reason: str) -> None:
        with self._changed:
            if not link.alive:
                return
            link.reason, link.lost_ns, link.alive = reason, self._clock(), False
            self._link = None if self._link is link else self._link
            self._fitted = None if self._fitted is link else self._fitted
        self._wake.set()

    def close(self, before_it_is_told: Callable[[], int]) -> None:
        """Say goodbye, wait a bounded time for the answers; then ``before_it_is_told``, then record it. Idempotent.

        A connection that is still being put to use is left in the same way: a transaction may be on its way again.
        ``before_it_is_told``: how many messages were in doubt by then.
        """
        with self._changed:
            if self._closing.is_set():
                return
            self._closing.set()
            link, self._link, self._fitted = self._link or self._fitted, None, None
            if link:
                link.leaving = True
            self._over = self._over or f"{self._name} is closed"
            self._changed.notify_all()
        self._wake.set()
        reason = self._leave(link) if link else ""
        in_doubt = before_it_is_told()
        if link:
            self._ended(link, "; ".join(filter(None, (reason, _told(in_doubt)))))
        if self._worker.is_alive():
            self._worker.join(self._close_timeout_s)

    # The worker: one transition of the schedule after the other.

    def _follow(self) -> None:
        link: Link | None = None
        try:
            self._refresh()
            state = reconnect.begin(self._uri, self._rng)
            while not self._closing.is_set() and not isinstance(state.action, reconnect.GiveUp):
                state, link = self._step(state, link)
            if isinstance(state.action, reconnect.GiveUp):
                self._end(f"{self._name}: {state.action.reason}")
        except _UnwelcomeError as unwelcome:
            self._end(str(unwelcome))
        finally:
            self._end(f"{self._name} stopped following its failover URI because of an error in its driver: see the log")
            if link and not link.alive:
                self._ended(link)

    def _step(self, state: reconnect.State, link: Link | None) -> tuple[reconnect.State, Link | None]:
        match state.action:
            case reconnect.Attempt(server):
                return self._attempt(state, server)
            case reconnect.Sleep(ms):
                self._sleep(ms)
                self._refresh()
                return reconnect.slept(self._uri, state, self._rng), None
            case reconnect.Poll(ms, servers) if link:
                return self._pause_and_poll(state, link, ms, servers)
            case _:
                return self._hold(state, link)

    def _hold(self, state: reconnect.State, link: Link | None) -> tuple[reconnect.State, Link | None]:
        """Wait for the loss of the connection; then everything open on it is in doubt."""
        if link is None or not self._lost_within(link, None):
            return state, link
        return self._lose(state, link), None

    def _lose(self, state: reconnect.State, link: Link, pause_ms: int = 0) -> reconnect.State:
        self._drop(link)
        self._refuse_to_repeat(link)
        self._refresh()
        after = reconnect.lost(self._uri, state, self._rng, link.reason, pause_ms)
        return self._sent_on(after, link.redirected_to) or after

    def _attempt(self, state: reconnect.State, server: ServerUri) -> tuple[reconnect.State, Link | None]:
        link, failure = self._connect(server, ever_connected=state.ever_connected)
        reason = failure.reason
        if link is not None:
            reason = self._put_to_use(link)
            if not reason:
                return reconnect.connected(self._uri, state, server), link
        if sent_on := self._sent_on(state, failure.redirected_to):
            return sent_on, None
        self._require_trust()
        after = reconnect.attempt_failed(self._uri, state, reason)
        self._warn(state.failed_passes, after.failed_passes, reason)
        return after, None

    def _require_trust(self) -> None:
        doubts = [self._doubted.get(server.address, "") for server in reconnect.listed(self._uri)]
        if all(doubts):
            raise _UnwelcomeError(f"{self._name}: no broker of {self._uri} is to be trusted any more: {doubts[0]}")

    def _sent_on(self, state: reconnect.State, address: str) -> reconnect.State | None:
        """The state of a client whose broker sent it to another one, if it did and that is one to go to."""
        server = self._duties.server_of(address) if address else None
        return reconnect.redirected(state, server) if server else None

    def _pause_and_poll(
        self, state: reconnect.State, link: Link, ms: int, servers: tuple[ServerUri, ...]
    ) -> tuple[reconnect.State, Link | None]:
        polls_s = time.monotonic() + ms / MS_PER_S
        if self._lost_within(link, ms / MS_PER_S):
            return self._lose(state, link, max(0, round((polls_s - time.monotonic()) * MS_PER_S))), None
        return self._poll(state, link, servers)

    def _poll(
        self, state: reconnect.State, old: Link, servers: tuple[ServerUri, ...]
    ) -> tuple[reconnect.State, Link | None]:
        """Try the brokers of priority; when one answers, leave the present one for it, but not before the next poll."""
        for server in servers if not self._closing.is_set() else ():
            link, _ = self._connect(server, ever_connected=True)
            if link is None:
                continue
            self._sleep(state.delay_ms)
            if self._closing.is_set():
                self._leave(link)
                return state, old
            self._part_from(old)
            reason = self._put_to_use(link)
            if not reason:
                return reconnect.connected(self._uri, state, server), link
            return reconnect.lost(self._uri, state, self._rng, reason), None
        return reconnect.poll_failed(self._uri, state), old

    def _connect(self, server: ServerUri, *, ever_connected: bool) -> tuple[Link | None, _Failure]:
        """One attempt: a link, or None and why not."""
        link, began_ns, failure = Link(self._broker_of(server)), self._clock(), _Failure()
        self._doubted.pop(server.address, None)
        try:
            link.carry(self._duties.connect(server, partial(self._went, link)))
            return link, failure
        except Untrusted as error:
            failure = _Failure(str(error))
            self._doubted[server.address] = failure.reason
            if not ever_connected:
                raise _UnwelcomeError(f"{self._name}: {failure.reason}") from error
        except Refused as error:
            failure = _Failure(str(error))
            if not ever_connected:
                raise _UnwelcomeError(failure.reason) from error
        except Redirected as error:
            failure = _Failure(str(error), error.address)
        except (DriverError, OSError) as error:
            failure = _Failure(str(error) or type(error).__name__)
        finally:
            self._duties.record("attempt", link.broker, began_ns, failure.reason)
        return None, failure

    def _went(self, link: Link, reason: str) -> None:
        link.gone = True
        self._broke(link, reason)

    def _put_to_use(self, link: Link) -> str:
        """Restore what the client had, then let new sends through; the reason why that failed, or ''."""
        self._duties.record("connected", link.broker, self._clock(), "")
        try:
            if self._fit(link):
                self._duties.restore(link)
            if self._install(link):
                return ""
        except (DriverError, OSError) as error:
            self.broken(link, str(error))
        if link.leaving:
            return "closed"  # and told by who closed the client
        if link.alive:  # the client was closed before
            self._ended(link, self._leave(link))
        else:
            self._drop(link)
            self._refuse_to_repeat(link)
        return link.reason or "closed"

    def _refuse_to_repeat(self, link: Link) -> None:
        """A message that was too large for one connection would end each one that it is sent again by."""
        if too_large(link.reason):
            raise _UnwelcomeError(
                f"{self._name}: broker {link.broker} ended the connection, as a message was larger than it takes in a "
                f"frame: {link.reason}; send smaller bodies (--body-bytes), or raise the broker's maxFrameSize"
            )

    def _fit(self, link: Link) -> bool:
        """Whether it is to be put to use: not if the client was closed meanwhile."""
        with self._changed:
            self._fitted = None if self._closing.is_set() else link
            return self._fitted is not None

    def _install(self, link: Link) -> bool:
        with self._changed:
            self._fitted = None
            if not link.alive or self._closing.is_set():
                return False
            if self._last_broker not in ("", link.broker):
                self._duties.record("moved", link.broker, self._clock(), f"from {self._last_broker}")
            self._link, self._last_broker = link, link.broker
            self._changed.notify_all()
            return True

    def _part_from(self, old: Link) -> None:
        """Leave ``old`` politely for a better broker; what it leaves unanswered goes to that one."""
        with self._changed:
            self._link, old.leaving = None, old.alive
        problem = self._leave(old) if old.alive else ""
        self._drop(old, problem or "a broker of priority is back")

    def _drop(self, link: Link, reason: str = "") -> None:
        """``link`` is no more."""
        self._ended(link, reason)
        if not link.gone:  # we noticed first: let go of the connection, without waiting for a goodbye
            threading.Thread(target=_close, args=(link, []), daemon=True).start()
        self._duties.dropped(link)

    def _ended(self, link: Link, reason: str = "") -> None:
        """Record the end of a connection, once: as lost, or as closed by us."""
        with self._changed:
            if link.ended:
                return
            link.ended = True
            closed, link.alive = link.alive, False
        if closed:
            link.gone = True
            link.reason = reason or "closed before the answer came"
            self._duties.record("closed", link.broker, self._clock(), reason)
        else:
            self._duties.record("lost", link.broker, link.lost_ns, link.reason)

    def _leave(self, link: Link) -> str:
        """Close the connection politely, but do not wait for ever; what went wrong, or ''."""
        problems: list[str] = []
        goodbye = threading.Thread(target=_close, args=(link, problems), daemon=True)
        goodbye.start()
        goodbye.join(self._close_timeout_s)
        if goodbye.is_alive():
            return f"no answer to the goodbye within {self._close_timeout_s} s"
        return problems[0] if problems else ""

    def _lost_within(self, link: Link, timeout_s: float | None) -> bool:
        """Wait until ``link`` is lost; False after the timeout or when the client is to close."""
        if link.alive:
            self._wake.wait(timeout_s)
        self._wake.clear()
        return not link.alive and not self._closing.is_set()

    def _refresh(self) -> None:
        self._uri = self._duties.refresh(self._uri)

    def _sleep(self, ms: int) -> None:
        if ms > 0:
            self._closing.wait(ms / MS_PER_S)
        else:
            time.sleep(0)  # no delay asked for: still let others run

    def _warn(self, passes_before: int, passes: int, reason: str) -> None:
        interval = self._uri.options.warn_after_reconnect_attempts
        if passes > passes_before and interval > 0 and (passes == 1 or passes % interval == 0):
            told = "1 pass" if passes == 1 else f"{passes} passes"
            log.warning("%s: %s over its brokers failed; the last said: %s", self._name, told, reason)

    def _end(self, reason: str) -> None:
        """There will be no further connection. The first reason counts."""
        with self._changed:
            if self._over:
                return
            self._over = reason
            self._changed.notify_all()
        self._duties.gave_up()


def _told(in_doubt: int) -> str:
    messages = "1 message is" if in_doubt == 1 else f"{in_doubt} messages are"
    return f"{messages} in doubt" if in_doubt else ""


def _close(link: Link, problems: list[str]) -> None:
    try:
        link.connection.close()
    except (DriverError, OSError) as error:
        problems.append(str(error))
