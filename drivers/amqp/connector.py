"""Connects to one broker over AMQP 1.0, on the engine of python-qpid-proton.

A connection is opened once and never reopened: the client fails over, resubscribes and resends
(`drivers.client.client`).
"""

import ssl
import threading
import time
from functools import partial
from uuid import uuid4

from drivers.amqp.addresses import AMQP_OPTIONS, read_address
from drivers.amqp.connection import AmqpConnection
from drivers.amqp.messages import Incoming
from drivers.amqp.receiving import Receiving
from drivers.broker_errors import ignore_outcome, retry_login
from drivers.client.client import MakesPythonClients
from drivers.contract import Browsed, Destination, DriverError, OnLost, OnSettled, Refused
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.trust import Trust

IDLE_TIMEOUT_MS = 20_000
MOST_BROWSED = 1_000_000  # messages requested at once
QUIET_S, FIRST_QUIET_S = 0.25, 1.0


class AmqpConnector(MakesPythonClients):
    """Opens AMQP 1.0 connections; see `drivers.contract.Connector`. ``idle_timeout_ms`` may be overridden in the URI.

    ``trust``: the trusted certificates for ``amqps://``.
    """

    protocol = "amqp"
    supported_options = AMQP_OPTIONS

    def __init__(self, idle_timeout_ms: int = IDLE_TIMEOUT_MS, trust: Trust | None = None):
        self._idle_timeout_ms, self._trust = idle_timeout_ms, trust or Trust()
        self._context: ssl.SSLContext | None = (
            None  # read once, as reading the authorities takes longer than a handshake
        )

    def connect(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        client_id: str,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> AmqpConnection:
        """Make one attempt, all of it within ``timeout_s``. Raises `ConnectFailed` or `Refused`."""
        try:
            address = read_address(endpoint.uri, self._idle_timeout_ms)
        except ValueError as error:
            raise Refused(f"broker {endpoint.broker}: {error}") from error
        if address.tls and self._context is None:
            self._context = self._trust.context()
        connection = AmqpConnection(endpoint.broker, address, timeout_s, on_settled, on_lost)
        connection.open(credentials, client_id or str(uuid4()), self._context if address.tls else None)
        return connection

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Return every message on a queue without removing it; ages are by the wall clocks of the sender and of this
        host."""
        trouble: list[str] = []
        browser = QueueBrowser(Destination("queue", queue))

        def on_lost(reason: str) -> None:
            trouble.append(reason)
            browser.stop()

        deadline_s = time.monotonic() + timeout_s
        log_in = partial(
            self.connect,
            endpoint,
            credentials,
            client_id="",
            on_settled=ignore_outcome,
            on_lost=on_lost,
        )
        connection = retry_login(log_in, timeout_s)
        try:
            if not browser.run(connection.receiving, deadline_s):
                trouble.append(f"no end after {timeout_s:g} s")
        except ConnectionError as error:
            trouble.append(str(error))
        finally:
            connection.close()
        if trouble:
            raise DriverError(
                f"browsing queue {queue} of broker {endpoint.broker}: {trouble[0]}, after "
                f"{len(browser.messages)} messages; is the broker alive, and the timeout long enough for the queue?"
            )
        return browser.messages


class QueueBrowser:
    """One look at one queue. ``messages``: the messages seen so far, in order.

    A broker sends its browser the messages that it has in memory, and fetches more in the meantime. Draining only shows
    that no message is in memory. A Classic broker may still be fetching then. So the browser waits until no message has
    arrived for a while, and drains. If the broker sends more after that, the browser continues.
    """

    def __init__(self, queue: Destination) -> None:
        self.messages: list[Browsed] = []
        self._queue = queue
        self._drained = threading.Event()
        self._stopped = False

    def run(self, receiving: Receiving, deadline_s: float) -> bool:
        """Browse to the end; False if that takes too long. Raises `Refused` and ConnectionError."""
        name = receiving.browse(self._queue, MOST_BROWSED, self._take, self._drained.set)
        while True:
            if not self._wait_until_quiet(deadline_s):
                return False
            count = len(self.messages)
            self._drained.clear()
            receiving.drain(name)
            if not self._drained.wait(max(0.0, deadline_s - time.monotonic())):
                return False
            if self._stopped or len(self.messages) == count:
                return True
            receiving.grant_credit(name, MOST_BROWSED)

    def stop(self) -> None:
        """Stop: no further messages will arrive."""
        self._stopped = True
        self._drained.set()

    def _wait_until_quiet(self, deadline_s: float) -> bool:
        while time.monotonic() < deadline_s and not self._stopped:
            count = len(self.messages)
            time.sleep(min(QUIET_S if count else FIRST_QUIET_S, max(0.0, deadline_s - time.monotonic())))
            if len(self.messages) == count:
                return True
        return self._stopped

    def _take(self, message: Incoming, _received_ns: int, _number: int) -> None:
        age_ns = None if not message.created_ms else time.time_ns() - message.created_ms * 1_000_000
        self.messages.append(Browsed(message.body, age_ns, message.expired))
