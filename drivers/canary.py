"""Proves that messages reach their destinations: one canary over every path, before any user starts.

A bridge's MBean exists before the bridge carries anything, so the only sound proof is a message. For each broker where
consumers enter there is a canary queue with one consumer. From each broker where producers enter, one durable message
goes to that queue. All of them have to arrive. Links that carry only certain destinations may stop every canary. Their
paths cannot be proven in this way; this is known beforehand, and the run says so.

The canaries' clients are the clients of a load (`drivers.client.contract`), but each is restricted to one broker.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Protocol

from drivers.broker_errors import unreachable_broker
from drivers.client.contract import (
    ClientConnector,
    LoadClient,
    NoStatistics,
    ProducerSettings,
    ScheduledSend,
)
from drivers.contract import Destination, DriverError, Outcome, Subscription
from drivers.failover.uri import FailoverUri
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.tables.schemas import CANARY_PREFIX, ReceiptRow, SendRow
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.paths import Path
from topologies.model.topology import Topology

CONNECT_TIMEOUT_S = 10.0
SETTINGS = ProducerSettings(body_bytes=64)
# A Classic broker may hang up on a login that it refuses. On another login it gives its reason.
ONE_BROKER = "maxReconnectAttempts=3&updateURIsSupported=false"


class PathsUnproven(Exception):
    """Some canaries did not arrive. The message names the paths and the next step."""


@dataclass(frozen=True)
class Side:
    """How the clients at one end of the paths connect: their protocol, and its endpoint at each broker (by name)."""

    connector: ClientConnector
    endpoint: Callable[[str], Endpoint]


class CanaryRuntime(Protocol):
    """The part of a runtime that canaries need (topologies.runtimes.contract.Runtime)."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint: ...


def sides(
    runtime: CanaryRuntime, connectors: Mapping[str, ClientConnector], producers: str, consumers: str
) -> tuple[Side, Side]:
    """Return how producers and consumers of these protocols connect directly to the brokers. ``connectors``: by
    protocol."""

    def side(protocol: str) -> Side:
        return Side(connectors[protocol], lambda broker: runtime.endpoint(broker, protocol))

    return side(producers), side(consumers)


def provable_paths(topology: Topology, paths: Iterable[Path]) -> list[Path]:
    """Return the paths that a canary can take, according to the links' own settings. Pure."""
    every = list(paths)
    stopped = {
        path
        for end in {path.end for path in every}
        for path in topology.stopped([path for path in every if path.end == end], str(_queue(end)))
    }
    return [path for path in every if path not in stopped]


def describe(paths: Sequence[Path], proven_paths: Sequence[Path], by: str = "") -> str:
    """Return a line with the proven paths, and the paths that no canary could prove. ``by``: the protocols."""
    proven = set(proven_paths)
    unproven = [f"{path.begin} → {path.end}" for path in paths if path not in proven]
    without = f"; not proven, as their links let no canary pass: {', '.join(unproven)}" if unproven else ""
    return f"paths proven by a canary each{by}: {len(proven_paths)}{without}"


def prove(
    paths: Iterable[Path], producers: Side, consumers: Side, credentials: Credentials, *, timeout_s: float
) -> None:
    """Send a canary over every path and wait for all. Raises PathsUnproven, naming the paths without an arrival."""
    wanted = sorted({(path.begin, path.end) for path in paths})
    flock = _Flock(wanted, producers, consumers, credentials)
    try:
        flock.release()
        missing = flock.wait(timeout_s)
    except DriverError as error:
        raise PathsUnproven(f"canary: {error}") from error
    finally:
        flock.close()
    if missing:
        silent = ", ".join(f"{producer} → {consumer}" for producer, consumer in missing)
        raise PathsUnproven(
            f"no message arrived within {timeout_s:g} s: {silent}. Look for these brokers' network connectors in"
            " the brokers' logs"
        )


class _LossRecorder(Recorder):
    """Keeps no rows, but reports lost connections, by broker and reason."""

    def __init__(self, on_lost: Callable[[str, str], None]) -> None:
        super().__init__(lambda _table, _rows: None, "canary")
        self._on_lost = on_lost

    def connection(self, client: int, group: str, protocol: str, change: ConnectionEvent) -> None:
        if change.event == "lost":
            self._on_lost(str(change.broker), change.reason)


class _Flock(NoStatistics):
    """The canaries of one proof. The producer's number in a canary is the path's number."""

    def __init__(
        self, paths: list[tuple[str, str]], producers: Side, consumers: Side, credentials: Credentials
    ) -> None:
        self._paths = paths
        self._producers, self._consumers, self._credentials = producers, consumers, credentials
        self._run = secrets.randbits(32)  # canaries of an earlier proof prove nothing
        ends = [(producers, begin) for begin, _ in paths] + [(consumers, end) for _, end in paths]
        self._brokers = {_address(side.endpoint(broker)): broker for side, broker in ends}
        self._recorder = _LossRecorder(lambda broker, why: self._fail(f"connection to {broker} lost: {why}"))
        self._clients: dict[tuple[str, str], LoadClient] = {}
        self._silent = set(paths)
        self._troubles: list[str] = []
        self._changed = threading.Event()

    def release(self) -> None:
        """Connect and subscribe everywhere, then send. Raises DriverError."""
        for end in sorted({end for _, end in self._paths}):
            client, subscription = self._client(self._consumers, end), Subscription(_queue(end))
            self._in_time(client, self._consumers, end, partial(client.consumer, subscription, run=self._run))
        begins = sorted({begin for begin, _ in self._paths})
        for client, begin in [(self._client(self._producers, begin), begin) for begin in begins]:
            threading.Thread(target=self._send, args=(client, begin), daemon=True).start()

    def wait(self, timeout_s: float) -> list[tuple[str, str]]:
        """Return the paths with a canary that did not arrive in time. Raises DriverError for earlier failures."""
        deadline_s = time.monotonic() + timeout_s
        while self._silent and not self._troubles and (left_s := deadline_s - time.monotonic()) > 0:
            self._changed.wait(left_s)
            self._changed.clear()
        if self._troubles:
            raise DriverError("; ".join(self._troubles))
        return sorted(self._silent)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def _client(self, side: Side, broker: str) -> LoadClient:
        key = side.connector.protocol, broker
        if key not in self._clients:
            client = self._clients[key] = side.connector.client(
                number=len(self._clients),
                group=f"canary-{broker}",
                uri=FailoverUri.parse(f"failover:({side.endpoint(broker).uri})?{ONE_BROKER}"),
                brokers=self._brokers,
                credentials=self._credentials,
                recorder=self._recorder,
                statistics=self,
                rng=Random(0),
                clock=time.perf_counter_ns,
            )
            self._in_time(client, side, broker, client.open)
        return self._clients[key]

    def _in_time(self, client: LoadClient, side: Side, broker: str, ask: Callable[[], object]) -> None:
        """Call ``ask``, but close the client if the broker does not answer: a client of a load would wait forever."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            client.close()

        timer = threading.Timer(CONNECT_TIMEOUT_S, give_up)
        timer.start()
        try:
            ask()
        except DriverError as error:
            if not late.is_set():
                raise
            at = f"{broker} at {_address(side.endpoint(broker))}"
            problem = f"did not answer within {CONNECT_TIMEOUT_S:g} s"
            raise unreachable_broker(at, problem, f"{side.connector.protocol} port") from error
        finally:
            timer.cancel()

    def _send(self, client: LoadClient, begin: str) -> None:
        """Send one canary over each path that begins there, one after the other."""
        for number, path in enumerate(self._paths):
            if path[0] == begin:
                self._send_over(client, number, path)

    def _send_over(self, client: LoadClient, number: int, path: tuple[str, str]) -> None:
        now_ns = time.perf_counter_ns()
        try:
            producer = client.producer(_queue(path[1]), SETTINGS, number=number, run=self._run)
            producer.send_one(ScheduledSend(0, now_ns, begun_ns=now_ns))
        except DriverError as error:
            self._fail(f"{' → '.join(path)}: {error}")

    def _fail(self, reason: str) -> None:
        self._troubles.append(reason)
        self._changed.set()

    # Called by the clients (drivers.client.contract.LoadStatistics).

    def received(self, row: ReceiptRow, body: bytes) -> None:
        self._arrived(row.producer)

    def receipts_recorded(self, rows: Any) -> None:
        for number in rows["producer"].tolist():
            self._arrived(number)

    def _arrived(self, number: int) -> None:
        if 0 <= number < len(self._paths):  # otherwise it does not belong to this proof
            self._silent.discard(self._paths[number])
            self._changed.set()

    def settled(self, row: SendRow, reason: str, final: bool) -> None:
        if row.outcome == Outcome.FAILED:
            self.on_rejected(row.destination, row.broker, reason)

    def on_rejected(self, destination: str, broker: str, reason: str) -> None:
        self._fail(f"broker {broker} refused the message to {destination}: {reason}")


def _address(endpoint: Endpoint) -> str:
    """Return ``host:port``."""
    return endpoint.uri.partition("://")[2].partition("?")[0]


def _queue(consumer: str) -> Destination:
    return Destination("queue", f"{CANARY_PREFIX}{consumer}")
