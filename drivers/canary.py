"""Can a message really go where the clients will send theirs? One canary over every path, before any user starts.

An MBean of a bridge is there before the bridge carries anything, so the last proof is a message: for each broker where
consumers enter, a canary queue with one consumer there, and one durable message into it from each broker where
producers enter. All have to arrive. Links that carry certain destinations only may let no canary pass: their paths
cannot be proven so, which is known beforehand and told.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from drivers.contract import Connection, Connector, Delivery, Destination, DriverError, Outcome, Outgoing, Subscription
from drivers.logins import answered
from drivers.protocols import Spoken
from records.schemas import CANARY_PREFIX
from topologies.endpoints import Credentials, Endpoint
from topologies.model import Path, Topology

CONNECT_TIMEOUT_S = 10.0


class PathsUnproven(Exception):
    """Some canaries did not arrive: names the paths and the next step."""


@dataclass(frozen=True)
class Side:
    """How the clients of one end of the paths connect: their protocol, and where each broker (by name) has it."""

    connector: Connector
    endpoint: Callable[[str], Endpoint]


class Reached(Protocol):
    """What is needed of a runtime (topologies.runtimes.contract.Runtime)."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint: ...


def sides(runtime: Reached, connectors: Mapping[str, Connector], spoken: Spoken) -> tuple[Side, Side]:
    """How producers and consumers connect straight to the brokers. ``connectors``: by protocol."""

    def side(protocol: str) -> Side:
        return Side(connectors[protocol], lambda broker: runtime.endpoint(broker, protocol))

    return side(spoken.producers), side(spoken.consumers)


def askable(topology: Topology, paths: Iterable[Path]) -> list[Path]:
    """The paths that a canary can take, as far as the links' own settings say. Pure."""
    every = list(paths)
    of_end = {path.end: [each for each in every if each.end == path.end] for path in every}
    stopped = {path for end, its in of_end.items() for path in topology.stopped(its, str(_queue(end)))}
    return [path for path in every if path not in stopped]


def told(paths: Sequence[Path], asked: Sequence[Path]) -> str:
    """One line of what was proven, and of what could not be."""
    proven = set(asked)
    left = [f"{path.begin} → {path.end}" for path in paths if path not in proven]
    without = f"; not proven so, as their links let no canary pass: {', '.join(left)}" if left else ""
    return f"paths proven by a canary each: {len(asked)}{without}"


def prove(
    paths: Iterable[Path], producers: Side, consumers: Side, credentials: Credentials, *, timeout_s: float
) -> None:
    """Send a canary over every path and wait for all. Raises PathsUnproven, naming the paths that stayed silent."""
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
            f"no message came through within {timeout_s:g} s: {silent}. "
            "Look for these brokers' network connectors in the brokers' logs"
        )


class _Flock:
    def __init__(
        self,
        paths: list[tuple[str, str]],
        producers: Side,
        consumers: Side,
        credentials: Credentials,
    ) -> None:
        self._paths = paths
        self._producers = producers
        self._consumers = consumers
        self._credentials = credentials
        self._connections: dict[tuple[str, str], Connection] = {}
        self._silent = set(paths)
        self._refused: list[str] = []
        self._changed = threading.Event()

    def release(self) -> None:
        for consumer in sorted({consumer for _, consumer in self._paths}):
            subscription = Subscription(_queue(consumer))
            connection = self._connection(self._consumers, consumer)
            connection.subscribe(subscription, partial(self._arrived, connection))
        for producer, consumer in self._paths:
            body = f"{producer}>{consumer}".encode()
            self._connection(self._producers, producer).send(
                Outgoing(_queue(consumer), body, True, f"{producer} → {consumer}")
            )

    def wait(self, timeout_s: float) -> list[tuple[str, str]]:
        """The paths whose canary has not arrived in time."""
        deadline_s = time.monotonic() + timeout_s
        while self._silent and not self._refused and (left_s := deadline_s - time.monotonic()) > 0:
            self._changed.wait(left_s)
            self._changed.clear()
        if self._refused:
            raise DriverError("; ".join(self._refused))
        return sorted(self._silent)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _connection(self, side: Side, broker: str) -> Connection:
        protocol = side.connector.protocol
        if (protocol, broker) not in self._connections:
            log_in = partial(
                side.connector.connect,
                side.endpoint(broker),
                self._credentials,
                client_id=f"canary-{protocol}-{broker}",
                on_settled=self._settled,
                on_lost=lambda reason: self._fail(f"connection to {broker} lost: {reason}"),
            )
            self._connections[protocol, broker] = answered(log_in, CONNECT_TIMEOUT_S)
        return self._connections[protocol, broker]

    def _arrived(self, connection: Connection, delivery: Delivery) -> None:
        producer, _, consumer = delivery.body.decode(errors="replace").partition(">")
        connection.settle(delivery)
        self._silent.discard((producer, consumer))
        self._changed.set()

    def _settled(self, token: object, outcome: Outcome, _settled_ns: int, reason: str) -> None:
        if outcome is Outcome.FAILED:
            self._fail(f"{token}: the broker refused the message: {reason}")

    def _fail(self, reason: str) -> None:
        self._refused.append(reason)
        self._changed.set()


def _queue(consumer: str) -> Destination:
    return Destination("queue", f"{CANARY_PREFIX}{consumer}")
