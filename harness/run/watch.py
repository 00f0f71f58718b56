"""Reads queue depths, subscriptions and samples of the brokers during a run.

It reads them through management or, for in-memory brokers, directly. Queues are browsed with the clients' protocol. If
it cannot browse, they are browsed through management or with another protocol.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from typing import Any, Protocol, TypeVar, runtime_checkable

from drivers.client.contract import ClientConnector
from drivers.contract import Browsed, DriverError
from drivers.protocols import connector_of
from harness.memory_runtime import MemoryRuntime
from records.store.writer import Recorder
from records.units import NS_PER_MS
from topologies.management.contract import agent_at, management_of, queries_by_broker, serving
from topologies.management.sampling import CounterReadings, Sampler, Series
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.model.management import DurableSubscription, ManagementFailed
from topologies.model.topology import ProductManagement, Topology
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

Answer = TypeVar("Answer")


@runtime_checkable
class BrowsingConnector(Protocol):
    """The part of a connector that browsing needs (drivers.contract.Connector)."""

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Return every message on a queue, without consuming it. Raises `DriverError`."""


class Managed(Protocol):
    """The part of a runtime that browsing needs (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint: ...


class BrowsedRuntime(Protocol):
    """The part of a runtime that browsing by another protocol needs (the same contract)."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        """Return the broker's endpoint for a protocol. Raises KeyError, which names its protocols, if there is none."""


class OtherProtocolBrowser:
    """Browses with another protocol than the clients'."""

    def __init__(self, runtime: BrowsedRuntime, connector: BrowsingConnector, protocol: str) -> None:
        """``protocol``: the protocol of ``connector``."""
        self._runtime, self._connector, self._protocol = runtime, connector, protocol

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        try:
            there = self._runtime.endpoint(endpoint.broker, self._protocol)
        except KeyError as error:
            raise DriverError(
                f"queues of {endpoint.protocol} consumers are browsed by {self._protocol}, but {error.args[0]}"
            ) from error
        return self._connector.browse(there, credentials, queue, timeout_s=timeout_s)


def _ask(
    runtime: Managed,
    management: ProductManagement[Any],
    broker: str,
    timeout_s: float,
    query: Callable[[Any, str], Answer],
    queue: str,
) -> Answer:
    """Query the broker's management about a queue. Raises DriverError, as browsing by a protocol does."""
    try:
        with closing(management.connect(runtime.management(broker), timeout_s)) as agent:
            return query(agent, queue)
    except ManagementFailed as error:
        raise DriverError(str(error)) from error


class QualifyingBrowser:
    """Browses with the clients' protocol, by the names that management reports for a queue."""

    def __init__(self, runtime: Managed, management: ProductManagement[Any], connector: BrowsingConnector) -> None:
        """``management``: of a product whose clients browse a queue by another name than its own."""
        assert management.browse_names is not None, "this product's clients browse a queue by its own name"
        self._runtime, self._management, self._names = runtime, management, management.browse_names
        self._connector = connector

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Browse a queue; [] if the broker has no such queue."""
        names = _ask(self._runtime, self._management, endpoint.broker, timeout_s, self._names, queue)
        return [
            message
            for name in names
            for message in self._connector.browse(endpoint, credentials, name, timeout_s=timeout_s)
        ]


class ManagementBrowser:
    """Browses by management, for protocols that cannot browse on this broker. Bodies are truncated."""

    def __init__(self, runtime: Managed, management: ProductManagement[Any]) -> None:
        """``management``: of a product whose management returns the messages on a queue."""
        assert management.browse is not None, "this product is browsed by a protocol"
        self._runtime, self._management, self._browse = runtime, management, management.browse

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        lying = _ask(self._runtime, self._management, endpoint.broker, timeout_s, self._browse, queue)
        now_ms = time.time_ns() // NS_PER_MS
        return [
            Browsed(message.body, (now_ms - message.sent_ms) * NS_PER_MS if message.sent_ms else None)
            for message in lying
        ]


ASK_TIMEOUT_S = 3.0


class Watch(Protocol):
    """The broker data that a run needs. Calls raise ManagementFailed if a broker does not report them."""

    def begin(self) -> None:
        """Start sampling every broker once per second."""

    def depths(self, broker: str) -> dict[str, int]:
        """Return the messages on each queue of one broker, including messages that a consumer has not acknowledged."""

    def browser(self, connector: ClientConnector, trust: Trust) -> BrowsingConnector:
        """Return a browser for queues, which uses the clients' protocol if possible."""

    def durable_subscriptions(self, broker: str) -> list[DurableSubscription]:
        """Return the durable subscriptions on one broker, except subscriptions that are queues with known depths."""

    def latest(self) -> Mapping[Series, CounterReadings]:
        """Return the latest samples without sending a request."""

    def standbys(self) -> Collection[str]:
        """Return the brokers that stand by, by their last answers. Sends no request."""

    def end(self) -> None: ...


class ManagedWatch:
    """Brokers with management."""

    def __init__(self, topology: Topology, runtime: Runtime, recorder: Recorder, process: str) -> None:
        self._topology = topology
        self._runtime = runtime
        self._queries = queries_by_broker(topology)
        self._keeps_messages = {broker.name: broker.keeps_messages for broker in topology.brokers}
        self._sampler = Sampler(runtime, topology, recorder, process=process)

    def follow(self, topology: Topology) -> None:
        """Use a topology with changed settings from now on."""
        self._topology, self._queries = topology, queries_by_broker(topology)
        self._sampler.follow(topology)

    def begin(self) -> None:
        self._sampler.start()

    def depths(self, broker: str) -> dict[str, int]:
        if not self._keeps_messages[broker]:
            return {}
        try:
            with agent_at(self._topology, self._runtime.management(broker)) as agent:
                queues = self._queries[broker].figures(agent).queues
        except ManagementFailed:
            if serving(self._runtime, self._topology, broker, ASK_TIMEOUT_S):
                return {}  # its messages now belong to the broker that took over, which is queried separately
            raise
        return {queue: figures["depth"] for queue, figures in queues.items()}

    def browser(self, connector: ClientConnector, trust: Trust) -> BrowsingConnector:
        management = management_of(self._topology)
        if isinstance(connector, BrowsingConnector) and connector.protocol not in management.unbrowsable:
            if management.browse_names is None:
                return connector
            return QualifyingBrowser(self._runtime, management, connector)
        if management.browse:
            return ManagementBrowser(self._runtime, management)
        browser = connector_of(management.browse_by, trust)
        assert isinstance(browser, BrowsingConnector), f"{browser.protocol} browses for others, but cannot"
        return OtherProtocolBrowser(self._runtime, browser, browser.protocol)

    def durable_subscriptions(self, broker: str) -> list[DurableSubscription]:
        ask = management_of(self._topology).durable_subscriptions
        if ask is None:
            return []
        try:
            with agent_at(self._topology, self._runtime.management(broker)) as agent:
                return ask(agent)
        except ManagementFailed:
            if serving(self._runtime, self._topology, broker, ASK_TIMEOUT_S):
                return []  # as in `depths`
            raise

    def latest(self) -> Mapping[Series, CounterReadings]:
        return dict(self._sampler.latest)

    def standbys(self) -> Collection[str]:
        return frozenset(self._sampler.standbys)

    def end(self) -> None:
        self._sampler.stop()


class MemoryWatch:
    """Brokers in memory: nothing to sample."""

    def __init__(self, runtime: MemoryRuntime) -> None:
        self._runtime = runtime

    def begin(self) -> None:
        """Do nothing: there is nothing to sample."""

    def depths(self, broker: str) -> dict[str, int]:
        return self._runtime.queue_depths(broker)

    def browser(self, connector: ClientConnector, trust: Trust) -> BrowsingConnector:
        assert isinstance(connector, BrowsingConnector)  # brokers in memory have one protocol
        return connector

    def durable_subscriptions(self, broker: str) -> list[DurableSubscription]:
        return []

    def latest(self) -> Mapping[Series, CounterReadings]:
        return {}

    def standbys(self) -> Collection[str]:
        return ()

    def end(self) -> None:
        """Do nothing: nothing was begun."""
