"""Holds the objects that the users of one process share during one run: connections, the start signal, and counts.

The lifecycle creates a `Session` once the brokers are proven and removes it when the run is over. From it users get
their connections; they report to it when they are ready, wait for the start, and count their work. In a distributed
run each worker process has its own session, created from the master's messages.
"""

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from drivers.client.connection_modes import POOLED, ClientPool, PooledClient, SharedClient
from drivers.client.contract import ClientConnector, LoadClient, SpokenProtocols
from drivers.client.loop_waits import due_timer
from drivers.client.pacing import LEAD_NS
from drivers.failover.uri import FailoverUri
from drivers.users.connection_losses import ConnectionLosses
from drivers.users.live_figures import LiveFigures
from drivers.users.live_latency import LiveLatency
from drivers.users.locust_stats import LocustStatistics
from drivers.users.other_schedules import DescribedSchedule, described, schedule_of
from records.loads.rate_steps import RateStep
from records.loads.send_schedule import Schedule, SteppedSchedule
from records.store.writer import Recorder
from records.tables.schemas import CLIENTS_PER_PROCESS
from records.units import NS_PER_S
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust

STOP_NS = NS_PER_S // 4


@dataclass(frozen=True)
class Network:
    """How clients reach the brokers: a failover URI by protocol and client group, and the name behind each address.

    ``broker_names``: by ``host:port``, for every protocol. ``not_alone``: brokers that no client gets as its only
    broker, because it could not connect there: standbys, and brokers that join later.
    """

    spoken: SpokenProtocols
    credentials: Credentials
    failover_uris: Mapping[str, Mapping[str, str]]
    broker_names: Mapping[str, str]
    trust: Trust = field(default_factory=Trust)
    not_alone: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Window:
    """When the run's phases begin and end, in nanoseconds of the monotonic clock; no end if it runs by count.

    ``is_open``: the warm-up ends once latency has settled. Until then the given times are the latest times of the
    load's begin and end.
    """

    warm_up_began_ns: int
    load_began_ns: int
    load_ends_ns: int | None
    is_open: bool = False

    def shifted(self, offset_ns: int) -> "Window":
        """Return the same moments on a clock that is ahead by ``offset_ns``."""
        ends_ns = None if self.load_ends_ns is None else self.load_ends_ns + offset_ns
        return Window(self.warm_up_began_ns + offset_ns, self.load_began_ns + offset_ns, ends_ns, self.is_open)


@dataclass(frozen=True)
class Go:
    """The start signal. ``producers``: number in the whole run; ``first_index``: index of this process's first
    producer.

    ``live_s``: the number of past seconds with receptions by second during the load (`LiveLatency`).
    ``by_due``: also by due second. ``figures``: whether `LiveFigures` are counted, of
    the load or ``with_warm_up``. ``has_others``: whether other processes have producers too.
    """

    window: Window
    messages: int | None = None
    producers: Mapping[str, int] = field(default_factory=dict)
    first_index: Mapping[str, int] = field(default_factory=dict)
    live_s: int = 0
    by_due: bool = False
    figures: bool = False
    with_warm_up: bool = False
    has_others: bool = False


@dataclass(frozen=True)
class RateChange:
    """A change of each producer's rate, from a time of the monotonic clock on; the last step's rate continues.

    ``live_s``: as in `Go`, from now on.
    """

    from_ns: int
    steps: tuple[RateStep, ...]
    live_s: int

    def shifted(self, offset_ns: int) -> "RateChange":
        """Return the same moment on a clock that is ahead by ``offset_ns``."""
        return replace(self, from_ns=self.from_ns + offset_ns)


@dataclass
class Tally:
    """Counts of the users of this process so far.

    ``settled``: sends with a final outcome; ``lag``: first attempts by the lateness that we caused, as a
    bucket of `records.figures.buckets`. ``failed``: users with `may_fail` that failed, by class. ``unsent``: messages
    that they should have sent before producing stops; no event records these. ``failed_producers``: numbers of the
    producers among them, whose schedules ended then. ``first_errors``: the first error of each of these classes.
    ``live``: latencies of the warm-up, if it ends once they have settled, and of a load that searches for its highest
    rate or is watched. ``figures``: of the whole load so far, if ``--abort-on`` needs them. ``losses``: losses of
    clients' connections.
    """

    sent: int = 0
    settled: int = 0
    received: int = 0
    missed: int = 0  # slots that were due and never sent, although the brokers accepted messages
    withheld: int = 0  # slots that were due and never sent, because the brokers kept their producer waiting
    finished_producers: int = 0
    ready: Counter[str] = field(default_factory=Counter)
    lag: Counter[int] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unsent: Counter[str] = field(default_factory=Counter)
    failed_producers: list[int] = field(default_factory=list)
    first_errors: dict[str, str] = field(default_factory=dict)
    live: LiveLatency = field(default_factory=LiveLatency)
    figures: LiveFigures = field(default_factory=LiveFigures)
    losses: ConnectionLosses = field(default_factory=ConnectionLosses)
    notes: list[str] = field(default_factory=list)  # for the reader of the run


def tag_of(run_number: int) -> str:
    """Return the prefix of the ids of a run's clients, with characters that brokers keep in every name."""
    return f"brokerbench-{run_number:08x}-"


class Session:
    """One process's part of one run."""

    def __init__(
        self,
        *,
        network: Network,
        connectors: Mapping[str, ClientConnector],
        recorder: Recorder,
        run_number: int,
        seed: int,
        process_index: int,
        clock: Callable[[], int],
    ) -> None:
        self.network = network
        self.recorder = recorder
        self.run_number = run_number
        self.seed = seed
        self.clock = clock
        self.tally = Tally()
        self.statistics = LocustStatistics(self.tally, recorder, self.latency_ns)
        self.producing = True
        self.problems: list[str] = []
        self._schedules: list[Schedule] = []
        self.own_schedules: dict[int, DescribedSchedule] = {}  # by producer
        self._planned_ns: dict[int, Callable[[int], int]] = {}  # by producer: the due time of a slot
        self._connectors = connectors
        self.process_index = process_index
        self._first_number = process_index * CLIENTS_PER_PROCESS
        self._numbers_given = 0
        self._clients: list[LoadClient] = []
        self._made: Counter[int] = Counter()
        self._pools: dict[tuple[str, str, str, str | None, int, int | None, int, int | None], ClientPool] = {}
        self._user_indices: Counter[str] = Counter()
        self._go: Go | None = None
        self._started = threading.Event()
        self._load_known = threading.Event()
        self._stop_producing = threading.Event()
        self._stopped_ns = 0

    def next_number(self) -> int:
        """Return a client number that no other client of the run has."""
        self._numbers_given += 1
        return self._first_number + self._numbers_given - 1

    def next_index(self, user_class: str) -> int:
        """Return 0, 1, 2 … for the users of one class in this process."""
        self._user_indices[user_class] += 1
        return self._user_indices[user_class] - 1

    def pooled_client(
        self,
        role: str,
        group: str,
        mode: str,
        pool_size: int = 1,
        *,
        user_class: str = "",
        keeps_id: bool = False,
        place: int | None = None,
        stay: int = 0,
        only: int | None = None,
        returns: PooledClient | None = None,
    ) -> PooledClient:
        """Return a user's handle on an unopened client: its own, or one from a pool.

        ``place``, ``only``: see `client`; users that share a connection have all brokers in its URI. ``stay``: the
        user's stay that it is for; each has its own pool. In each process a client group has one pool for producers and
        another for consumers, for each protocol that they use (``user_class`` decides it), and one for the durable
        subscribers of each user class. A full broker may stop
        reading from connections that send, and acknowledgments must still get through.

        ``returns``: the user's client of its first stay, if this stay has the same client id. Users that shared that
        client share this one too.
        """
        identity = None if returns is None else returns.client.number
        make = partial(
            self.client, role, group, user_class=user_class, keeps_id=keeps_id, place=place, returns=identity
        )
        if mode != POOLED:
            client = make(only=only)
            return SharedClient(client).join(client.number)
        # Durable subscribers of two classes may be away at different times: a shared connection would hide it.
        kept_for = user_class if keeps_id else None
        key = (role, group, self.network.spoken.of(role, user_class), kept_for, pool_size, place, stay, identity)
        if key not in self._pools:
            self._pools[key] = ClientPool(pool_size if identity is None else 1, make)
        return self._pools[key].take(self.next_number())

    def client(
        self,
        role: str,
        group: str,
        *,
        user_class: str = "",
        number: int | None = None,
        keeps_id: bool = False,
        place: int | None = None,
        only: int | None = None,
        returns: int | None = None,
    ) -> LoadClient:
        """Return a new, unconnected client of a client group, with the protocol of the user class, or of the role:
        producer or consumer.

        ``number``: a number that no connected client has; a new one by default. ``keeps_id``: its client id stays the
        same, which durable subscriptions need. ``place``: the broker that it tries first, by its place in the group's
        failover URI; None: as the URI says. ``only``: the only broker in its URI; see `place_of_turn`. ``returns``: the
        number of the earlier, closed client whose client id it has.
        """
        protocol = self.network.spoken.of(role, user_class)
        number = self.next_number() if number is None else number
        uri = self._uri(protocol, group)
        if only is not None:
            uri = uri.with_only(only)
        elif place is not None:
            uri = uri.entering_at(place)
        client = self._connectors[protocol].client(
            number=number,
            group=group,
            uri=uri,
            brokers=self.network.broker_names,
            credentials=self.network.credentials,
            recorder=self.recorder,
            statistics=self.statistics,
            rng=random.Random(f"{self.seed}:failover:{number}{self._again(number)}"),
            clock=self.clock,
            client_id=f"{group}-{number if returns is None else returns}" if keeps_id else "",
            tag=tag_of(self.run_number),
        )
        self._clients.append(client)
        return client

    def place_of_turn(self, role: str, group: str, turn: int, user_class: str = "") -> int:
        """Return the place, in the group's failover URI, of a user's only broker: users take the brokers in
        rotation."""
        servers = self._uri(self.network.spoken.of(role, user_class), group).servers
        names = [self.network.broker_names[server.address] for server in servers]
        there = [place for place, name in enumerate(names) if name not in self.network.not_alone]
        return there[turn % len(there)]

    def _uri(self, protocol: str, group: str) -> FailoverUri:
        return FailoverUri.parse(self.network.failover_uris[protocol][group])

    def _again(self, number: int) -> str:
        """Return '' for the first client of a number; each later client has its own random order with ``randomize``."""
        self._made[number] += 1
        return f":{self._made[number]}" if self._made[number] > 1 else ""

    def forget(self, client: LoadClient) -> None:
        """Remove a closed client, because many more will come."""
        self._clients.remove(client)

    def connected(self) -> Counter[tuple[str, str]]:
        """Return the number of each group's clients that are connected to each broker now.

        Users that share a connection count individually.
        """
        clients: Counter[tuple[str, str]] = Counter()
        for client in self._clients:
            if (broker := client.broker) is not None:
                clients[client.group, broker] += len(self.tally.losses.users_of(client.number))
        return clients

    def ready(self, user_class: str) -> None:
        self.tally.ready[user_class] += 1

    def record_schedule(self, producer: int, schedule: Schedule) -> None:
        """Store a schedule from which this process's consumers compute latencies for Locust's live statistics only."""
        self._planned_ns[producer] = schedule.planned_ns
        self.own_schedules[producer] = described(schedule)

    def take_other_schedules(self, schedules: Mapping[int, DescribedSchedule]) -> None:
        """Add schedules of producers in other processes, on this process's clock. Time earlier receptions."""
        go = self.wait_go()
        for producer, description in schedules.items():
            schedule = schedule_of(description, self.seed, producer)
            self.announce_load_times(schedule, go.window)
            self._planned_ns[producer] = schedule.planned_ns
        figures = self.tally.figures
        for producer, seq, received_ns in figures.take_untimed():
            latency_ns = self.latency_ns(producer, seq, received_ns)
            if latency_ns is None:
                figures.wait_for_schedule((producer, seq, received_ns))
            else:
                figures.received(received_ns, latency_ns)

    def latency_ns(self, producer: int, seq: int, received_ns: int) -> int | None:
        """Return the time from due to received; None if another process sent it. Message n is slot n of its
        producer's schedule."""
        planned_ns = self._planned_ns.get(producer)
        return None if planned_ns is None else received_ns - planned_ns(seq)

    def report(self, problem: str) -> None:
        """Report that a user cannot continue; the run will report it."""
        self.problems.append(problem)

    def drop_failed_user(self, user_class: str, error: str, producer: int | None = None) -> None:
        """Continue without a failed user that may fail. ``producer``: its number, if it had begun to produce."""
        self.tally.failed[user_class] += 1
        if producer is not None:
            self.tally.failed_producers.append(producer)
        self.tally.first_errors.setdefault(user_class, error)

    def go(self, go: Go) -> None:
        self._go = go
        if go.figures and go.with_warm_up:
            self.tally.figures.begin(go.window.warm_up_began_ns, has_others=go.has_others)
        if go.window.is_open:
            self.tally.live.begin(go.window.warm_up_began_ns)
        else:
            self._count_in_load(go)
        self._started.set()

    def _count_in_load(self, go: Go) -> None:
        self._load_known.set()
        self.tally.live.end()
        if go.live_s:
            self.tally.live.begin(go.window.load_began_ns, go.live_s, by_due=go.by_due)
        if go.figures and not go.with_warm_up:
            self.tally.figures.begin(go.window.load_began_ns, has_others=go.has_others)

    def announce_load_times(self, schedule: Schedule, window: Window) -> None:
        """Set a schedule's begin and end of the load, once they are known: now, or in `settle`."""
        self._schedules.append(schedule)
        if not window.is_open:
            schedule.set_load_times(window.load_began_ns, window.load_ends_ns)

    def settle(self, window: Window) -> None:
        """End the warm-up: these are the run's phases now."""
        assert self._go is not None
        self._go = replace(self._go, window=window)
        self._count_in_load(self._go)
        for schedule in self._schedules:
            schedule.set_load_times(window.load_began_ns, window.load_ends_ns)

    def change_rate(self, change: RateChange) -> None:
        """Change the rate of the load. Raises ValueError if it was declared constant."""
        for schedule in self._schedules:
            if not isinstance(schedule, SteppedSchedule):
                raise ValueError("the rate of this load is constant, so it cannot be changed")
            schedule.change(change.from_ns, change.steps)
        self.tally.live.keep(change.live_s)

    def wait_go(self) -> Go:
        self._started.wait()
        assert self._go is not None
        return self._go

    def wait_load_known(self) -> None:
        """Wait until the begin of the load is known: with the start signal, or once the warm-up is over."""
        self._load_known.wait()

    def load_s(self) -> float:
        """Return the seconds since the load began; negative before that, also while its begin is not known."""
        if self._go is None or self._go.window.is_open:
            return -math.inf
        return (self.clock() - self._go.window.load_began_ns) / NS_PER_S

    def stop_producing(self) -> None:
        """Stop producers from sending further messages; consumers continue."""
        self.producing = False
        self._stopped_ns = self.clock()
        self._stop_producing.set()
        if timer := due_timer():
            timer.wake_all()

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        """See `drivers.client.contract.LoadControl`."""
        timer = due_timer()
        if timer is None:
            return self._stop_producing.wait(timeout_s)
        until_ns = time.monotonic_ns() + int(timeout_s * NS_PER_S)
        while self.producing and time.monotonic_ns() < until_ns - LEAD_NS:
            timer.wait_until(until_ns)
        return not self.producing

    def due_until_ns(self) -> int:
        """Return until when messages should have been sent: now, or a moment before producing stopped, if it was early.

        Messages due in that moment may have been about to be sent.
        """
        return self._stopped_ns - STOP_NS if self._stop_producing.is_set() else self.clock()

    def wait_stopped(self) -> int:
        """Wait until producing stops; return that time in nanoseconds."""
        self._stop_producing.wait()
        return self._stopped_ns


_sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()


def attach(environment: Any, session: Session) -> None:
    """Give the users of a Locust environment their session."""
    _sessions[environment] = session


def detach(environment: Any) -> None:
    _sessions.pop(environment, None)


def report_to_all(problem: str) -> None:
    """Report a problem to the run of this process, if no user or environment is known."""
    for session in list(_sessions.values()):
        session.report(problem)


def session_of(environment: Any) -> Session | None:
    return _sessions.get(environment)
