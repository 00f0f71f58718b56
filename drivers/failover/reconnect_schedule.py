"""Decides which broker to try next, and when: the reconnect schedule of a `failover:` URI, as pure transitions.

A state carries the next action; its result leads to the next state:

    begin ─► Attempt ─┬─ attempt_failed ─► Attempt (the rest of the pass) | Sleep | GiveUp
                      ├─ redirected ─────► Attempt (the broker that it was redirected to)
                      └─ connected ──────► Hold | Poll (a priority broker would be better)
    Sleep ── slept ──► Attempt (the first of a new pass)
    Hold, Poll ── lost ──► Sleep | Attempt | GiveUp          Poll ── poll_failed ──► Poll, later

The schedule copies the Java client (FailoverTransport of ActiveMQ Classic), with its peculiarities:

- A full pass over the list is one attempt. Each pass has a new order, and the broker that was lost last comes at its
  end. With ``nested.*`` options the lost broker stays in its place: Java compares the bare URI with the extended one.
- ``randomize`` swaps each place with a random one out of ``int(random * 100) % n``, as Java does. This is biased.
  Without ``randomize`` every pass begins at the top of the list: there is no round robin.
- The back-off delay follows each failed pass. It is multiplied, truncated to a whole number and capped. After the loss
  of a working connection the client sleeps for the initial delay before the first pass. This is the first step of the
  back-off.
- A delay that has grown to exactly 10 ms, the default, starts over. With an initial delay of 7 ms and an exponent of
  1.5 it never grows, because 7 * 1.5 is truncated to 10.
- A client that polls for a better broker always completes its pause between two polls. It moves to a broker that
  answered during the pause only when the pause is over. A connection lost during the pause also waits for its end, and
  then for the next step of that back-off.
- Servers from ``updateURIsURL`` come before the listed ones, and stay there when they are lost.

One difference: a Java client with ``priorityBackup`` keeps idle connections to the other brokers that are not better
than its own. It falls back on one of them without a delay. Clients of other protocols keep no idle connections: they
attempt those brokers first.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from drivers.failover.uri import NO_LIMIT, FailoverOptions, FailoverUri, ServerUri

JAVA_DEFAULT_DELAY_MS = 10


@dataclass(frozen=True)
class Attempt:
    """Try this server once."""

    server: ServerUri


@dataclass(frozen=True)
class Sleep:
    ms: int


@dataclass(frozen=True)
class StayConnected:
    """Connected: nothing to do until the connection is lost."""


@dataclass(frozen=True)
class Poll:
    """Connected to a broker without priority: after ``ms`` try these in order, and move to the first that answers."""

    ms: int
    servers: tuple[ServerUri, ...]


@dataclass(frozen=True)
class GiveUp:
    reason: str


Action = Attempt | Sleep | StayConnected | Poll | GiveUp


@dataclass(frozen=True)
class State:
    """A client's position in its schedule. ``remaining``: servers not yet tried in this pass, except for ``action``."""

    action: Action
    remaining: tuple[ServerUri, ...] = ()
    failed_passes: int = 0
    delay_ms: int = JAVA_DEFAULT_DELAY_MS  # the next sleep
    ever_connected: bool = False
    current: ServerUri | None = None
    lost: ServerUri | None = None
    followed: frozenset[ServerUri] = frozenset()  # redirects that this client followed in this pass
    fall_back: bool = False  # the next pass begins with the brokers that are neither better nor the lost one


def begin(uri: FailoverUri, rng: Random) -> State:
    """Start the first pass of a client that was never connected, at once."""
    options = uri.options
    state = State(StayConnected(), delay_ms=_restarted(options, options.reconnect_delay_ms))
    return _new_pass(uri, state, rng)


def after_sleep(uri: FailoverUri, state: State, rng: Random) -> State:
    """Start a new pass, in a new order, after a sleep."""
    return _new_pass(uri, state, rng)


def attempt_failed(uri: FailoverUri, state: State, reason: str) -> State:
    """Continue the pass; after a full pass sleep, or give up if that was the last one allowed."""
    if state.remaining:
        return replace(state, action=Attempt(state.remaining[0]), remaining=state.remaining[1:])
    passes = state.failed_passes + 1
    name, limit = _limit(uri.options, state.ever_connected)
    if limit != NO_LIMIT and passes >= limit:
        return replace(state, action=GiveUp(_exhausted(uri, passes, name, limit, reason)), failed_passes=passes)
    after = _sleeping(uri.options, state)
    return replace(after, failed_passes=passes, delay_ms=_restarted(uri.options, after.delay_ms))


def redirected(state: State, server: ServerUri) -> State | None:
    """Try ``server``, which a broker redirected the client to, then the rest of the pass. None: do not follow.

    A redirect is not followed if no attempt is left, or if this pass was redirected there before: brokers can send a
    client in circles.
    """
    if server in state.followed or isinstance(state.action, GiveUp):
        return None
    remaining = tuple(untried for untried in state.remaining if untried != server)
    return replace(state, action=Attempt(server), remaining=remaining, followed=state.followed | {server})


def connected(uri: FailoverUri, state: State, server: ServerUri) -> State:
    """Reset back-off and attempts after connecting to ``server``. Poll at once if a better broker may be available."""
    fresh = State(StayConnected(), delay_ms=uri.options.initial_reconnect_delay_ms, ever_connected=True, current=server)
    fresh = replace(fresh, lost=state.lost)
    if not uri.options.priority_backup or _is_priority(uri, server):
        return fresh
    return replace(fresh, action=Poll(0, priority_servers(uri)))


def poll_failed(uri: FailoverUri, state: State) -> State:
    """Poll again after the back-off, because no priority broker answered."""
    return replace(
        state, action=Poll(state.delay_ms, priority_servers(uri)), delay_ms=_grown(uri.options, state.delay_ms)
    )


def lost(uri: FailoverUri, state: State, rng: Random, reason: str, pause_ms: int = 0) -> State:
    """Handle the loss of a working connection. Sleep the initial delay first; give up at once if no attempt is allowed.

    ``pause_ms``: the rest of the pause between two polls.
    """
    after = replace(state, lost=state.current, current=None, remaining=(), failed_passes=0)
    after = replace(after, delay_ms=uri.options.initial_reconnect_delay_ms)
    if uri.options.max_reconnect_attempts == 0:
        broker = state.current.address if state.current else "the broker"
        return replace(
            after, action=GiveUp(f"the connection to {broker} was lost ({reason}) and maxReconnectAttempts=0")
        )
    if isinstance(state.action, Poll):
        return _lost_while_polling(uri, state, after, rng, pause_ms)
    if uri.options.initial_reconnect_delay_ms <= 0:
        return _new_pass(uri, after, rng)
    return _sleeping(uri.options, after)


def _lost_while_polling(uri: FailoverUri, polling: State, after: State, rng: Random, pause_ms: int) -> State:
    """Complete the pause first. Then its back-off continues, unless Java would have kept a connection to another
    broker."""
    after = replace(after, delay_ms=_restarted(uri.options, polling.delay_ms))
    if fallbacks(uri, polling.current):
        return replace(after, action=Sleep(pause_ms), fall_back=True)
    if uri.options.initial_reconnect_delay_ms <= 0:
        return replace(after, action=Sleep(pause_ms))
    slept_first = _sleeping(uri.options, after)
    return replace(slept_first, action=Sleep(pause_ms + max(0, after.delay_ms)))


def fallbacks(uri: FailoverUri, current: ServerUri | None) -> tuple[ServerUri, ...]:
    """Return the brokers that are not better than ``current`` for a client on it."""
    elsewhere = (server for server in listed(uri) if server != current)
    return tuple(server for server in elsewhere if not _is_priority(uri, server))


def pass_order(uri: FailoverUri, last_lost: ServerUri | None, rng: Random) -> tuple[ServerUri, ...]:
    """Return the servers in the order of one pass: each address once, the last lost one at the end."""
    servers = list(dict.fromkeys((*uri.updated, *distinct(uri.servers))))
    moved = last_lost in servers and not uri.nested and last_lost not in uri.updated
    if moved and last_lost is not None:
        servers.remove(last_lost)
    if uri.options.randomize:
        _java_shuffle(servers, rng)
    return (*servers, last_lost) if moved and last_lost is not None else tuple(servers)


def listed(uri: FailoverUri) -> tuple[ServerUri, ...]:
    """Return the servers that each pass tries."""
    return distinct((*uri.updated, *uri.servers))


def distinct(servers: Iterable[ServerUri]) -> tuple[ServerUri, ...]:
    """Return the servers without repeated hosts and ports. Java compares resolved addresses; this compares the text."""
    by_address: dict[str, ServerUri] = {}
    for server in servers:
        by_address.setdefault(server.address.lower(), server)
    return tuple(by_address.values())


def priority_servers(uri: FailoverUri) -> tuple[ServerUri, ...]:
    """Return the servers that a client with ``priorityBackup`` prefers, best first."""
    return distinct(uri.options.priority_uris) or uri.servers[:1]


def _is_priority(uri: FailoverUri, server: ServerUri) -> bool:
    return any(server.address.lower() == better.address.lower() for better in priority_servers(uri))


def _java_shuffle(servers: list[ServerUri], rng: Random) -> None:
    for here in range(len(servers)):
        there = int(rng.random() * 100) % len(servers)
        servers[here], servers[there] = servers[there], servers[here]


def _new_pass(uri: FailoverUri, state: State, rng: Random) -> State:
    order = pass_order(uri, state.lost, rng)
    if state.fall_back:
        order = tuple(sorted(order, key=lambda server: _is_priority(uri, server) or server == state.lost))
    fresh = replace(state, followed=frozenset(), fall_back=False)
    return replace(fresh, action=Attempt(order[0]), remaining=order[1:])


def _sleeping(options: FailoverOptions, state: State) -> State:
    return replace(state, action=Sleep(max(0, state.delay_ms)), delay_ms=_grown(options, state.delay_ms))


def _restarted(options: FailoverOptions, delay_ms: int) -> int:
    """Return the delay as each round of Java's worker sees it: a delay of 10 ms counts as "not grown yet"."""
    fresh = not options.use_exponential_back_off or delay_ms == JAVA_DEFAULT_DELAY_MS
    return options.initial_reconnect_delay_ms if fresh else delay_ms


def _grown(options: FailoverOptions, delay_ms: int) -> int:
    if not options.use_exponential_back_off:
        return delay_ms
    return int(min(delay_ms * options.reconnect_delay_exponent, options.max_reconnect_delay_ms))


def _limit(options: FailoverOptions, ever_connected: bool) -> tuple[str, int]:
    if not ever_connected and options.startup_max_reconnect_attempts != NO_LIMIT:
        return "startupMaxReconnectAttempts", options.startup_max_reconnect_attempts
    return "maxReconnectAttempts", options.max_reconnect_attempts


def _exhausted(uri: FailoverUri, passes: int, name: str, limit: int, reason: str) -> str:
    tried = ", ".join(server.address for server in listed(uri))
    times = "one pass" if passes == 1 else f"{passes} passes"
    return (
        f"no broker of {tried} could be connected to in {times} over the list ({name}={limit}); the last "
        f"error: {reason}"
    )
