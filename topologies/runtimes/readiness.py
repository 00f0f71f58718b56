"""Finds whether a broker serves, or waits behind one that does.

It says so itself: a port alone may belong to another process.
"""

import socket
from collections.abc import Sequence
from contextlib import closing

from topologies.management.broker_queries import queries_of, serving
from topologies.management.contract import ManagedBrokers
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model.topology import Topology

ASK_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
SERVES, STANDS_BY = "serves", "stands by"


def state(runtime: ManagedBrokers, topology: Topology, broker: str, log: Sequence[str]) -> str:
    """SERVES, STANDS_BY, or '' while it does neither. ``log``: its lines of this start, by which one without an agent
    is known to serve.

    One that starts looks like one that waits, so waiting needs another that serves.
    """
    try:
        endpoint = runtime.management(broker)
    except ManagementFailed:
        return SERVES if topology.product.launch.says_it_listens(log) else ""
    queries = queries_of(topology, broker)
    with closing(Jolokia(endpoint, ASK_TIMEOUT_S)) as agent:
        try:
            if queries.stands_by(agent):
                return STANDS_BY if serving(runtime, topology, broker, ASK_TIMEOUT_S) else ""
            return SERVES if queries.serves(agent) else ""
        except ManagementFailed:
            return ""


def accepts(address: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.create_connection((address, port), CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False
