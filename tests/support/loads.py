"""How does a test drive the clients of a load on real brokers, by any protocol? As users do, without Locust."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drivers.client import Client
from drivers.contract import Destination, Subscription
from drivers.habits import ONE, Seat
from drivers.jvm import vm
from drivers.pacing import Schedule
from drivers.protocols import Spoken, connectors_of
from drivers.session import Network, Session
from records.reader import read_events, seal
from records.rundir import RunDirectory
from records.writer import Recorder
from scenarios.java_parts import find_java_parts
from topologies.endpoints import Credentials
from topologies.runtimes.contract import Runtime
from topologies.trust import Trust

RUN = 0xBEEF
NO_TRUST = Trust()
TABLES = ("sends", "receipts", "connections", "subscriptions")
vm.use(find_java_parts)


def address_of(runtime: Runtime, broker: str, protocol: str) -> str:
    """``stomp://HOST:PORT``, without options."""
    return runtime.endpoint(broker, protocol).uri.partition("?")[0]


class Load:
    """Seats of one session; the failover URI leads to ``enter_at``, the broker names are those of all ``brokers``."""

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
        self._seats: list[Seat] = []

    def seat(self, role: str, habit: str = ONE, pool_size: int = 1) -> Seat:
        """An open one."""
        seat = self.session.seat(role, f"{role}s", habit, pool_size)
        self._seats.append(seat)
        seat.open()
        return seat

    def consume(self, seat: Seat, place: Destination) -> None:
        if isinstance(seat.client, Client):
            seat.client.consumer(Subscription(place), number=seat.number, run=RUN, on_receipt=self._received)
        else:
            seat.client.consumer(Subscription(place), number=seat.number, run=RUN)

    def produce(
        self, seat: Seat, place: Destination, messages: int, body_bytes: int = 64, *, durable: bool = True
    ) -> threading.Thread:
        """A thread that sends a thousand messages a second, as far as the broker takes them."""
        args = (seat, place, messages, body_bytes)
        sending = threading.Thread(target=self.send, args=args, kwargs={"durable": durable}, daemon=True)
        sending.start()
        return sending

    def send(
        self, seat: Seat, place: Destination, messages: int, body_bytes: int = 64, *, durable: bool = True
    ) -> None:
        """The same, here. Raises DriverError."""
        schedule = Schedule(time.perf_counter_ns(), 1_000.0, 0, messages)
        if not isinstance(seat.client, Client):
            own = seat.client.producer(place, number=seat.number, durable=durable, run=RUN)
            own.keep(schedule, body_bytes, messages, self.session)
            return
        producer = seat.client.producer(place, number=seat.number, durable=durable, run=RUN, on_settled=self._settled)
        for seq in range(messages):
            due_ns = schedule.due_ns(seq) or 0
            time.sleep(max(0, due_ns - time.perf_counter_ns()) / 1e9)
            producer.send(seq, body_bytes, due_ns)

    def _settled(self, settled: Any) -> None:
        self.tally.settled += settled.final

    def _received(self, _: Any) -> None:
        self.tally.received += 1

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Every row by table, once everyone has left."""
        for seat in self._seats:
            seat.close()
        self.recorder.close()
        assert self.recorder.problem is None
        seal(self.directory)
        return {name: read_events(self.directory, name).to_pylist() for name in TABLES}
