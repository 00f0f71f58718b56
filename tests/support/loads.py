"""Drives the clients of a load on real brokers, by any protocol, as users do but without Locust."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drivers.client.connection_modes import ONE, PooledClient
from drivers.client.contract import ProducerSettings
from drivers.contract import Destination, Subscription
from drivers.jvm import vm
from drivers.protocols import Spoken, connectors_of
from drivers.users.session import Network, Session
from harness.java_parts import find_java_parts
from records.loads.send_schedule import Schedule
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

RUN = 0xBEEF
NO_TRUST = Trust()
TABLES = ("sends", "receipts", "connections", "subscriptions")
vm.use(find_java_parts)


def address_of(runtime: Runtime, broker: str, protocol: str) -> str:
    """Return ``stomp://HOST:PORT``, without options."""
    return runtime.endpoint(broker, protocol).uri.partition("?")[0]


class UserLoad:
    """Clients of one session; the failover URI has ``enter_at``, and the broker names include all ``brokers``."""

    def __init__(
        self,
        folder: Path,
        runtime: Runtime,
        protocol: str,
        brokers: Sequence[str],
        *,
        enter_at: Sequence[str] = (),
        options: str = "",
        addresses: dict[str, str] | None = None,
        credentials: Credentials | None = None,
        trust: Trust = NO_TRUST,
    ) -> None:
        addresses = addresses or {broker: address_of(runtime, broker, protocol) for broker in brokers}
        names = {address.partition("://")[2]: broker for broker, address in addresses.items()}
        uri = f"failover:({','.join(addresses[broker] for broker in enter_at or brokers)}){options}"
        spoken = Spoken.parse(protocol)
        self.directory = RunDirectory.create(folder, "run")
        self.recorder = Recorder(self.directory, "main")
        self.session = Session(
            network=Network(
                spoken, credentials or runtime.credentials(), {protocol: {"producers": uri, "consumers": uri}}, names
            ),
            connectors=connectors_of(spoken, trust),
            recorder=self.recorder,
            run_number=RUN,
            seed=1,
            process_index=0,
            clock=time.perf_counter_ns,
        )
        self.tally = self.session.tally
        self._clients: list[PooledClient] = []

    def client(self, role: str, mode: str = ONE, pool_size: int = 1) -> PooledClient:
        """Return an open client."""
        client = self.session.pooled_client(role, f"{role}s", mode, pool_size)
        self._clients.append(client)
        client.open()
        return client

    def consume(self, client: PooledClient, place: Destination) -> None:
        client.client.consumer(Subscription(place), number=client.number, run=RUN)

    def produce(
        self, client: PooledClient, place: Destination, messages: int, body_bytes: int = 64, *, durable: bool = True
    ) -> threading.Thread:
        """Start a thread that sends a thousand messages per second, as far as the broker accepts them."""
        args = (client, place, messages, body_bytes)
        sending = threading.Thread(target=self.send, args=args, kwargs={"durable": durable}, daemon=True)
        sending.start()
        return sending

    def send(
        self, client: PooledClient, place: Destination, messages: int, body_bytes: int = 64, *, durable: bool = True
    ) -> None:
        """Send the messages in this thread. Raises DriverError."""
        schedule = Schedule(time.perf_counter_ns(), 1_000.0, 0, messages)
        producer = client.client.producer(
            place,
            ProducerSettings(body_bytes=body_bytes, in_flight=messages, durable=durable),
            number=client.number,
            run=RUN,
        )
        producer.run(schedule, self.session)

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return all rows by table, after all clients have disconnected."""
        for client in self._clients:
            client.close()
        self.recorder.close()
        assert self.recorder.problem is None
        seal(self.directory)
        return {name: read_events(self.directory, name).to_pylist() for name in TABLES}
