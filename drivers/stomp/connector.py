"""Connects to one broker over STOMP 1.2, on stomp.py.

A connection is opened once and never reopened: the client fails over, resubscribes and resends
(`drivers.client.client`).
"""

import threading
import time
from functools import partial

from drivers.broker_errors import ignore_outcome, retry_login
from drivers.client.client import MakesPythonClients
from drivers.contract import (
    EXPIRED_CAUSE,
    Browsed,
    Destination,
    DriverError,
    OnLost,
    OnSettled,
    Refused,
)
from drivers.failover.supported_options import SupportedOptions
from drivers.stomp.connection import StompConnection
from drivers.stomp.frames import destination_header, read_address
from drivers.stomp.stream import RawFrame
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.trust import Trust

STOMP_OPTIONS = SupportedOptions("stomp", read_server_uri=partial(read_address, heartbeat_ms=0))


HEARTBEAT_MS = 10_000
BROWSE_PREFETCH = 1_000


class StompConnector(MakesPythonClients):
    """Opens STOMP connections; see `drivers.contract.Connector`. ``heartbeat_ms`` may be overridden in the URI.

    ``trust``: the trusted certificates for stomp+ssl.
    """

    protocol = "stomp"
    supported_options = STOMP_OPTIONS

    def __init__(self, heartbeat_ms: int = HEARTBEAT_MS, trust: Trust | None = None):
        self._heartbeat_ms, self._trust = heartbeat_ms, trust or Trust()

    def connect(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        client_id: str,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> StompConnection:
        """Make one attempt, all of it within ``timeout_s``. Raises `ConnectFailed` or `Refused`."""
        try:
            address = read_address(endpoint.uri, self._heartbeat_ms)
            connection = StompConnection(endpoint.broker, address, timeout_s, on_settled, on_lost, self._trust)
            connection.open(credentials, client_id)
        except ValueError as error:
            raise Refused(f"broker {endpoint.broker}: {error}") from error
        return connection

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Return every message on a queue without removing it; ages are by the wall clocks of the sender and of this
        host."""
        messages: list[Browsed] = []
        ended = threading.Event()
        trouble: list[str] = []
        deadline_s = time.monotonic() + timeout_s

        def on_message(frame: RawFrame, _received_ns: int) -> None:
            if frame.header("browser") == "end":
                ended.set()
            else:
                cause = frame.header("dlqDeliveryFailureCause") or ""
                age_ns = _age_ns(frame.header("timestamp"), time.time_ns())
                messages.append(Browsed(frame.body, age_ns, EXPIRED_CAUSE in cause))

        def on_lost(reason: str) -> None:
            trouble.append(reason)
            ended.set()

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
            _require_browsing(connection)
            connection.consume(_browse_headers(queue), on_message)
            if not ended.wait(max(0.0, deadline_s - time.monotonic())):
                trouble.append(f"no end after {timeout_s:g} s")
        except ConnectionError as error:
            trouble.append(str(error))
        finally:
            connection.close()
        if trouble:
            raise DriverError(
                f"browsing queue {queue} of broker {endpoint.broker}: {trouble[0]}, after {len(messages)} "
                "messages; is the broker alive, and the timeout long enough for the queue?"
            )
        return messages


def _require_browsing(connection: StompConnection) -> None:
    """Raise DriverError on Artemis, which has no STOMP ``browser``: it would treat a browser as a consumer."""
    if connection.is_artemis:
        raise DriverError(
            f"broker {connection.broker}: STOMP cannot browse a queue of Artemis, but would take its messages away; "
            "browse it by another protocol, or by the broker's management"
        )


def _browse_headers(queue: str) -> dict[str, str]:
    """Return headers with automatic acknowledgment: a browser that acknowledged itself would stop at its prefetch."""
    return {
        "destination": destination_header(Destination("queue", queue)),
        "id": "browse",
        "ack": "auto",
        "browser": "true",
        "activemq.prefetchSize": str(BROWSE_PREFETCH),
    }


def _age_ns(timestamp_ms: str | None, now_ns: int) -> int | None:
    return now_ns - int(timestamp_ms) * 1_000_000 if timestamp_ms and int(timestamp_ms) > 0 else None
