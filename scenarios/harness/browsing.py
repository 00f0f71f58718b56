"""Who shows what lies on a queue? The clients' protocol, or the broker's management where that has no word for it."""

import time
from contextlib import closing
from typing import Protocol

from drivers.contract import Browsed, DriverError
from topologies.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.management.artemis import browse
from topologies.management.jolokia import Jolokia, ManagementFailed

NS_PER_MS = 1_000_000


class Browser(Protocol):
    """What is needed of a connector (drivers.contract.Connector)."""

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Every message on a queue, without taking it away. Raises `DriverError`."""


class Managed(Protocol):
    """What is needed of a runtime (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint: ...


class ManagementBrowser:
    """By Jolokia, of Artemis: for STOMP, which cannot browse there. Bodies are cut off behind their beginnings."""

    def __init__(self, runtime: Managed) -> None:
        self._runtime = runtime

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        try:
            with closing(Jolokia(self._runtime.management(endpoint.broker), timeout_s)) as agent:
                lying = browse(agent, queue)
        except ManagementFailed as error:
            raise DriverError(str(error)) from error
        now_ms = time.time_ns() // NS_PER_MS
        return [Browsed(each.body, (now_ms - each.sent_ms) * NS_PER_MS if each.sent_ms else None) for each in lying]
