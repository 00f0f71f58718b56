"""Operates running brokers through management: closes connections, stops links, fills a store.

It needs no runtime, only the management address of each broker.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from topologies.management.contract import ManagedBrokers, agent_at, management_of
from topologies.model.management import ManagementFailed, StoreLimit
from topologies.model.topology import Topology

DISCONNECT_TIMEOUT_S = 10.0
POLL_S = 0.1
AnAnswer = TypeVar("AnAnswer")


class ManagedOperations:
    """The operations on the brokers of one run, by a broker's or a link's name. All raise ManagementFailed."""

    def __init__(self, brokers: ManagedBrokers, topology: Topology) -> None:
        self._brokers, self._topology = brokers, topology
        self._store_limits_bytes: dict[str, int] = {}  # previous limits of brokers with a lowered limit

    def follow(self, topology: Topology) -> None:
        """Use a topology with changed settings from now on."""
        self._topology = topology

    def disconnect_clients(self, broker: str) -> int:
        """End all client connections; return their number. Raises ManagementFailed if there are none.

        Returns once the broker shows none of these connections.
        """
        queries = management_of(self._topology).queries(self._topology, broker)
        try:
            with agent_at(self._topology, self._brokers.management(broker)) as agent:
                connections = queries.connected(agent)
                queries.disconnect(agent, connections)
                end_s = time.monotonic() + DISCONNECT_TIMEOUT_S
                while not connections.isdisjoint(queries.connected(agent)):
                    if time.monotonic() >= end_s:
                        raise ManagementFailed(f"some were still there after {DISCONNECT_TIMEOUT_S:g} s")
                    time.sleep(POLL_S)
        except ManagementFailed as error:
            raise ManagementFailed(f"broker {broker!r} did not end its clients' connections: {error}") from error
        if not connections:
            raise ManagementFailed(f"broker {broker!r} has no client connection that could be closed")
        return len(connections)

    def stop_link(self, link: str) -> None:
        """Stop a link at its opener."""
        self._ask_opener(link, management_of(self._topology).stop_link)

    def start_link(self, link: str) -> None:
        """Start a link that `stop_link` stopped."""
        self._ask_opener(link, management_of(self._topology).start_link)

    def lower_store_limit(self, broker: str) -> None:
        """Lower the broker's store limit below its current content."""
        self._store_limits_bytes[broker] = self._with_store_limit(broker, lambda limit, agent: limit.lower(agent))

    def restore_store_limit(self, broker: str) -> None:
        """Restore the limit from before `lower_store_limit`."""
        limit_bytes = self._store_limits_bytes.pop(broker)
        self._with_store_limit(broker, lambda limit, agent: limit.restore(agent, limit_bytes))

    def _ask_opener(self, link_name: str, operation: Callable[[Any, str], None]) -> None:
        link = next(link for link in self._topology.links if link.name == link_name)
        try:
            with agent_at(self._topology, self._brokers.management(link.opened_by.name)) as agent:
                operation(agent, link.connector)
        except ManagementFailed as error:
            raise ManagementFailed(f"link {link_name!r}: {error}") from error

    def _with_store_limit(self, broker: str, change: Callable[[StoreLimit[Any], Any], AnAnswer]) -> AnAnswer:
        if (limit := management_of(self._topology).store_limit) is None:
            raise ManagementFailed(f"broker {broker!r} cannot change its store limit while it runs")
        try:
            with agent_at(self._topology, self._brokers.management(broker)) as agent:
                return change(limit, agent)
        except ManagementFailed as error:
            raise ManagementFailed(f"the store limit of broker {broker!r} was not changed: {error}") from error
