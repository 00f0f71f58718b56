"""Which connection does a client have now? One worker follows the schedule of `drivers.reconnect` and acts on it.

The worker (a thread, under gevent a greenlet) attempts, sleeps, puts each new connection to use (the client subscribes
again and sends again what is in doubt), and only then lets new sends through. Whoever needs a connection waits for it
in `usable`; whoever sees it break says so by `broken`. What one attempt means is told by `drivers.attempts`, and how a
connection ends by `drivers.parting`.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from drivers import reconnect
from drivers.attempts import Attempts, UnwelcomeError, passes_to_tell
from drivers.contract import Connection, DriverError, OnLost
from drivers.failover import FailoverUri, ServerUri
from drivers.link import Link
from drivers.parting import Parting, last_words

MS_PER_S = 1_000
log = logging.getLogger(__name__)


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
        self._last_broker = ""
        self._attempts = Attempts(name, broker_of, duties.connect, duties.record, self._went, clock)
        self._parting = Parting(self._changed, duties.record, duties.dropped, clock, close_timeout_s)
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
        problem = self._parting.leave(link) if link else ""
        in_doubt = before_it_is_told()
        if link:
            self._parting.ended(link, last_words(problem, in_doubt))
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
        except UnwelcomeError as unwelcome:
            self._end(str(unwelcome))
        finally:
            self._end(f"{self._name} stopped following its failover URI because of an error in its driver: see the log")
            if link and not link.alive:
                self._parting.ended(link)

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
        self._parting.drop(link)
        self._attempts.refuse_to_repeat(link)
        self._refresh()
        after = reconnect.lost(self._uri, state, self._rng, link.reason, pause_ms)
        return self._sent_on(after, link.redirected_to) or after

    def _attempt(self, state: reconnect.State, server: ServerUri) -> tuple[reconnect.State, Link | None]:
        link, failure = self._attempts.make(server, ever_connected=state.ever_connected)
        reason = failure.reason
        if link is not None:
            reason = self._put_to_use(link)
            if not reason:
                return reconnect.connected(self._uri, state, server), link
        if sent_on := self._sent_on(state, failure.redirected_to):
            return sent_on, None
        self._attempts.require_trust(self._uri)
        after = reconnect.attempt_failed(self._uri, state, reason)
        if passes := passes_to_tell(self._uri.options, state.failed_passes, after.failed_passes):
            log.warning("%s: %s over its brokers failed; the last said: %s", self._name, passes, reason)
        return after, None

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
            link, _ = self._attempts.make(server, ever_connected=True)
            if link is None:
                continue
            self._sleep(state.delay_ms)
            if self._closing.is_set():
                self._parting.leave(link)
                return state, old
            self._part_from(old)
            reason = self._put_to_use(link)
            if not reason:
                return reconnect.connected(self._uri, state, server), link
            return reconnect.lost(self._uri, state, self._rng, reason), None
        return reconnect.poll_failed(self._uri, state), old

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
            self._parting.ended(link, self._parting.leave(link))
        else:
            self._parting.drop(link)
            self._attempts.refuse_to_repeat(link)
        return link.reason or "closed"

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
        problem = self._parting.leave(old) if old.alive else ""
        self._parting.drop(old, problem or "a broker of priority is back")

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

    def _end(self, reason: str) -> None:
        """There will be no further connection. The first reason counts."""
        with self._changed:
            if self._over:
                return
            self._over = reason
            self._changed.notify_all()
        self._duties.gave_up()
