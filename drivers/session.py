"""What do the users of one process share during one run?

The lifecycle makes a `Session` once the brokers are proven and takes it away when the run is over. Users ask it where
to connect, report when they are ready, wait for the start, and count what they did. In a distributed run each worker
process has a session of its own, made from the master's messages.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict
from weakref import WeakKeyDictionary

from drivers.clerk import TallyClerk
from drivers.client import Client
from drivers.contract import Connector
from drivers.failover import FailoverUri
from drivers.habits import POOLED, Pool, Seat, Shared
from drivers.own_clients import MakesClients, OwnClient
from drivers.pacing import Schedule
from drivers.protocols import Spoken
from drivers.refusals import Refusals
from records.schemas import CLIENTS_PER_PROCESS
from records.writer import Recorder
from topologies.endpoints import Credentials
from topologies.trust import Trust

MOST_UNDER_WAY = 100_000  # messages whose due time is kept until their first receipt; others go without


@dataclass(frozen=True)
class Network:
    """How clients reach the brokers: a failover URI by protocol and client group, and the name behind each address.

    ``broker_names``: by ``host:port``, of every protocol.
    """

    spoken: Spoken
    credentials: Credentials
    failover_uris: Mapping[str, Mapping[str, str]]
    broker_names: Mapping[str, str]
    trust: Trust = field(default_factory=Trust)


@dataclass(frozen=True)
class Window:
    """When the run's phases begin and end, in nanoseconds of the monotonic clock; no end when it runs by count."""

    warm_up_began_ns: int
    load_began_ns: int
    load_ends_ns: int | None

    def shifted(self, offset_ns: int) -> "Window":
        """The same moments on a clock that is ahead by ``offset_ns``."""
        ends_ns = None if self.load_ends_ns is None else self.load_ends_ns + offset_ns
        return Window(self.warm_up_began_ns + offset_ns, self.load_began_ns + offset_ns, ends_ns)


@dataclass(frozen=True)
class Go:
    """The start signal. ``producers``: how many in the whole run; ``first_index``: that of this process's first one."""

    window: Window
    messages: int | None = None
    producers: Mapping[str, int] = field(default_factory=dict)
    first_index: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Tally:
    """What the users of this process have done so far.

    ``settled``: sends whose outcome is final; ``lag``: first attempts by how late they were written, as a bucket of
    `records.buckets`. ``failed``: users that failed and may (`drivers.broker_user`), by class; ``unsent``: what was
    theirs to send until producing stops, and is on no record; ``first_errors``: of each such class.
    """

    sent: int = 0
    settled: int = 0
    received: int = 0
    missed: int = 0  # slots that were due and never sent
    finished_producers: int = 0
    ready: Counter[str] = field(default_factory=Counter)
    lag: Counter[int] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unsent: Counter[str] = field(default_factory=Counter)
    first_errors: dict[str, str] = field(default_factory=dict)


class _Who(TypedDict):
    number: int
    group: str
    uri: FailoverUri
    brokers: Mapping[str, str]
    credentials: Credentials
    recorder: Recorder
    client_id: str


class Session:
    """One process's part of one run."""

    def __init__(
        self,
        *,
        network: Network,
        connectors: Mapping[str, Connector],
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
        self.refusals = Refusals()
        self.clerk = TallyClerk(self.tally, recorder, self.latency_ns, self.refusals.heard)
        self.producing = True
        self.problems: list[str] = []
        self._schedules: dict[int, Schedule] = {}
        self._due_ns: dict[tuple[int, int], int] = {}
        self._connectors = connectors
        self._first_number = process_index * CLIENTS_PER_PROCESS
        self._numbers_given = 0
        self._clients: list[Client | OwnClient] = []
        self._made: Counter[int] = Counter()
        self._pools: dict[tuple[str, str, bool, int], Pool] = {}
        self._user_indices: Counter[str] = Counter()
        self._go: Go | None = None
        self._started = threading.Event()
        self._stop_producing = threading.Event()
        self._stopped_ns = 0

    def next_number(self) -> int:
        """A client number that no other client of the run has."""
        self._numbers_given += 1
        return self._first_number + self._numbers_given - 1

    def next_index(self, user_class: str) -> int:
        """0, 1, 2 … for the users of one class in this process."""
        self._user_indices[user_class] += 1
        return self._user_indices[user_class] - 1

    def seat(self, role: str, group: str, habit: str, pool_size: int = 1, *, keeps_id: bool = False) -> Seat:
        """A user's place at a client that is still to be opened: one of its own, or one of a pool.

        A pool is that of a client group's producers, or of its consumers, in this process: a broker that is full may
        stop reading from whoever sends, and acknowledgements must still get through.
        """
        if habit != POOLED:
            client = self.client(role, group, keeps_id=keeps_id)
            return Shared(client).seat(client.number)
        key = (role, group, keeps_id, pool_size)
        if key not in self._pools:
            self._pools[key] = Pool(pool_size, lambda: self.client(role, group, keeps_id=keeps_id))
        return self._pools[key].seat(self.next_number())

    def client(self, role: str, group: str, *, number: int | None = None, keeps_id: bool = False) -> Client | OwnClient:
        """A new, still unconnected client of a client group, speaking what its role does: producer or consumer.

        ``number``: one that no connected client has; a new one by default. ``keeps_id``: its client id stays the same,
        as durable subscriptions ask for.
        """
        protocol = self.network.spoken.of(role)
        number = self.next_number() if number is None else number
        connector = self._connectors[protocol]
        who: _Who = {
            "number": number,
            "group": group,
            "uri": FailoverUri.parse(self.network.failover_uris[protocol][group]),
            "brokers": self.network.broker_names,
            "credentials": self.network.credentials,
            "recorder": self.recorder,
            "client_id": f"{group}-{number}" if keeps_id else "",
        }
        client: Client | OwnClient
        if isinstance(connector, MakesClients):
            client = connector.client(**who, clerk=self.clerk)
        else:
            rng = random.Random(f"{self.seed}:failover:{number}{self._again(number)}")
            client = Client(**who, connector=connector, rng=rng, clock=self.clock)
        self._clients.append(client)
        return client

    def _again(self, number: int) -> str:
        """'' for the first client of a number; each later one has its own luck with ``randomize``."""
        self._made[number] += 1
        return f":{self._made[number]}" if self._made[number] > 1 else ""

    def forget(self, client: Client | OwnClient) -> None:
        """It is closed, and many more will come."""
        self._clients.remove(client)

    def connected(self) -> Counter[tuple[str, str]]:
        """How many clients of each group are connected to each broker at this moment."""
        return Counter((client.group, client.broker) for client in self._clients if client.broker is not None)

    def ready(self, user_class: str) -> None:
        self.tally.ready[user_class] += 1

    def note_due(self, producer: int, seq: int, due_ns: int) -> None:
        """For Locust's live statistics only: a consumer of this process can then tell how long a message took."""
        if len(self._due_ns) < MOST_UNDER_WAY:
            self._due_ns[producer, seq] = due_ns

    def note_schedule(self, producer: int, schedule: Schedule) -> None:
        """The same of a producer that keeps its schedule by itself, slot n being message n."""
        self._schedules[producer] = schedule

    def latency_ns(self, producer: int, seq: int, received_ns: int) -> int | None:
        """From due to received, at the first receipt; None when another process sent it."""
        schedule = self._schedules.get(producer)
        due_ns = schedule.due_ns(seq) if schedule else self._due_ns.pop((producer, seq), None)
        return None if due_ns is None else received_ns - due_ns

    def report(self, problem: str) -> None:
        """A user cannot go on; the run will say so."""
        self.problems.append(problem)

    def do_without(self, user_class: str, error: str) -> None:
        """A user that may fail cannot go on; the others do."""
        self.tally.failed[user_class] += 1
        self.tally.first_errors.setdefault(user_class, error)

    def go(self, go: Go) -> None:
        self._go = go
        self._started.set()

    def wait_go(self) -> Go:
        self._started.wait()
        assert self._go is not None
        return self._go

    def stop_producing(self) -> None:
        """No producer sends a further message; consumers go on."""
        self.producing = False
        self._stopped_ns = self.clock()
        self._stop_producing.set()

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        """Sleep, but wake when producing stops; True when it has stopped."""
        return self._stop_producing.wait(timeout_s)

    def wait_stopped(self) -> int:
        """Until producing stops; when that was, in nanoseconds."""
        self._stop_producing.wait()
        return self._stopped_ns


_sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()


def attach(environment: Any, session: Session) -> None:
    """Give the users of a Locust environment their session."""
    _sessions[environment] = session


def detach(environment: Any) -> None:
    _sessions.pop(environment, None)


def session_of(environment: Any) -> Session | None:
    return _sessions.get(environment)
