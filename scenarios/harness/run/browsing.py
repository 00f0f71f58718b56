"""Browses a queue: by the clients' protocol, or where that cannot, by the broker's management or another protocol."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Protocol, runtime_checkable

from drivers.contract import Browsed, DriverError
from records.units import NS_PER_MS
from topologies.management.contract import LyingMessage
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint


@runtime_checkable
class Browser(Protocol):
    """The part of a connector that browsing needs (drivers.contract.Connector)."""

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Every message on a queue, without taking it away. Raises `DriverError`."""


class Managed(Protocol):
    """The part of a runtime that browsing needs (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint: ...


class Reached(Protocol):
    """The part of a runtime that browsing by another protocol needs (the same contract)."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        """Raises KeyError, which names the broker's protocols, if there is none."""


class OtherProtocolBrowser:
    """Browse by another protocol than the clients'."""

    def __init__(self, runtime: Reached, connector: Browser, protocol: str) -> None:
        """``protocol``: the connector's."""
        self._runtime, self._connector, self._protocol = runtime, connector, protocol

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        try:
            there = self._runtime.endpoint(endpoint.broker, self._protocol)
        except KeyError as error:
            raise DriverError(
                f"queues of {endpoint.protocol} consumers are browsed by {self._protocol}, but {error.args[0]}"
            ) from error
        return self._connector.browse(there, credentials, queue, timeout_s=timeout_s)


class ManagementBrowser:
    """Browse by Jolokia, for a protocol that cannot browse there. Bodies are cut off behind their beginnings."""

    def __init__(self, runtime: Managed, browse: Callable[[Jolokia, str], list[LyingMessage]]) -> None:
        """``browse``: how the brokers' product shows the messages on a queue."""
        self._runtime, self._browse = runtime, browse

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        try:
            with closing(Jolokia(self._runtime.management(endpoint.broker), timeout_s)) as agent:
                lying = self._browse(agent, queue)
        except ManagementFailed as error:
            raise DriverError(str(error)) from error
        now_ms = time.time_ns() // NS_PER_MS
        return [Browsed(each.body, (now_ms - each.sent_ms) * NS_PER_MS if each.sent_ms else None) for each in lying]
