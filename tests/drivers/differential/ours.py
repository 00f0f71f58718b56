"""Records our client's behavior for a URI: the client that a run uses, on real sockets, by STOMP or AMQP."""

import threading
import time
from random import Random
from typing import cast

from drivers.amqp.connector import AmqpConnector
from drivers.client.client import Client
from drivers.client.contract import ProducerSettings
from drivers.contract import Connector, Destination, DriverError
from drivers.failover.uri import FailoverUri
from drivers.stomp.connector import StompConnector
from records.store.writer import Recorder
from tests.drivers.differential.events import Event, of_ours
from tests.drivers.doubles import BENCH, RUN, KeepingRecorder

CONNECTORS: dict[str, Connector] = {
    "stomp": StompConnector(heartbeat_ms=0),
    "amqp": AmqpConnector(idle_timeout_ms=0),
}
"""By protocol; their silent ports are not given up before an attempt's time is."""

LOOK_EVERY_S = 0.002
NS_PER_MS = 1_000_000


class OurSide:
    """One client, its connection events, and the time that its send was blocked."""

    def __init__(self, protocol: str, uri: str, brokers: dict[str, str], connect_timeout_s: float, seed: int) -> None:
        self.blocked_ms: float | None = None
        self._recorder = KeepingRecorder()
        self._gave_up_ns: int | None = None
        self._closing = False
        self._client = Client(
            number=1,
            group="producers",
            uri=FailoverUri.parse(uri),
            brokers=brokers,
            connector=CONNECTORS[protocol],
            credentials=BENCH,
            recorder=cast(Recorder, self._recorder),
            rng=Random(seed),
            clock=time.monotonic_ns,
            connect_timeout_s=connect_timeout_s,
            close_timeout_s=0.2,
        )

    def begin(self) -> None:
        threading.Thread(target=self._live, daemon=True).start()

    def send(self, after_s: float) -> None:
        threading.Thread(target=self._send, args=(after_s,), daemon=True).start()

    def end(self) -> None:
        self._closing = True
        self._client.close()

    def events(self) -> list[Event]:
        return of_ours(self._recorder.connections, self._gave_up_ns)

    def _live(self) -> None:
        try:
            self._client.open()
            while True:
                self._client.usable()
                time.sleep(LOOK_EVERY_S)
        except DriverError:
            if not self._closing:
                self._gave_up_ns = time.monotonic_ns()

    def _send(self, after_s: float) -> None:
        producer = self._client.producer(
            Destination.parse("queue://orders"), ProducerSettings(), run=RUN, on_settled=lambda *_: None
        )
        time.sleep(after_s)
        began_ns = time.monotonic_ns()
        try:
            producer.send(0, 64, began_ns)
        except DriverError:
            if not self._closing:
                self.blocked_ms = (time.monotonic_ns() - began_ns) / NS_PER_MS
