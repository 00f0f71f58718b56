"""Does a broker serve, or wait behind one that does? It says so itself: a port alone may be anybody's."""

import socket
from collections.abc import Sequence
from contextlib import closing

from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.management.links import Managed
from topologies.management.views import serving, view_of
from topologies.model import Topology
from topologies.runtimes import artemis_router

ASK_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
SERVES, STANDS_BY = "serves", "stands by"


def state(runtime: Managed, topology: Topology, broker: str, log: Sequence[str]) -> str:
    """SERVES, STANDS_BY, or '' while it does neither. ``log``: its lines of this start, where a router says it.

    One that starts looks like one that waits, so waiting needs another that serves.
    """
    try:
        endpoint = runtime.management(broker)
    except ManagementFailed:
        return SERVES if artemis_router.listens(log) else ""
    view = view_of(topology, broker)
    with closing(Jolokia(endpoint, ASK_TIMEOUT_S)) as agent:
        try:
            if view.stands_by(agent):
                return STANDS_BY if serving(runtime, topology, broker, ASK_TIMEOUT_S) else ""
            return SERVES if view.serves(agent) else ""
        except ManagementFailed:
            return ""


def accepts(address: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.create_connection((address, port), CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False
