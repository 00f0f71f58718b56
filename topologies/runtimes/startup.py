"""Determines whether a broker accepts clients or waits as a standby, and explains failed starts.

The broker itself must report that it serves, because its port may belong to another process. The reason for a failed
start is in its log.
"""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence

from topologies.management.contract import ManagedBrokers, agent_at, queries_of, serving
from topologies.model.launch import ProductLaunch
from topologies.model.management import ManagementFailed
from topologies.model.topology import Topology
from topologies.runtimes.contract import LOG_TAIL_LINES

ASK_TIMEOUT_S = 2.0
CONNECT_TIMEOUT_S = 1.0
SERVES, STANDS_BY = "serves", "stands by"


def state(runtime: ManagedBrokers, topology: Topology, broker: str, log: Sequence[str]) -> str:
    """Return SERVES or STANDS_BY; '' while the broker does neither.

    ``log``: its lines since this start, which show whether a broker without an agent serves. A starting broker looks
    like a waiting one, so it waits only if another broker serves.
    """
    try:
        endpoint = runtime.management(broker)
    except ManagementFailed:
        return SERVES if topology.product.launch.says_it_listens(log) else ""
    queries = queries_of(topology, broker)
    with agent_at(topology, endpoint, ASK_TIMEOUT_S) as agent:
        try:
            if queries.stands_by(agent):
                return STANDS_BY if serving(runtime, topology, broker, ASK_TIMEOUT_S) else ""
            return SERVES if queries.serves(agent) else ""
        except ManagementFailed:
            return ""


def accepts(address: str, port: int) -> bool:
    """Return whether a process listens there."""
    try:
        with socket.create_connection((address, port), CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False


LINE_LIMIT = 600
MANAGEMENT = "management"  # the management interface's port, among the ports of a broker by protocol


def informative_lines(launch: ProductLaunch, lines: Iterable[str]) -> list[str]:
    """Return the last informative lines, without `ProductLaunch.noise`, cut to LINE_LIMIT."""
    informative = [line.rstrip()[:LINE_LIMIT] for line in lines if not launch.noise.search(line)]
    return informative[-LOG_TAIL_LINES:]


def refused_ports(launch: ProductLaunch, lines: Sequence[str], ports: Mapping[str, int]) -> list[int]:
    """Return ports that could not be bound, from the lines of a broker's log. ``ports``: all ports of the broker."""
    failures = [match for line in lines if launch.bind_failed and (match := launch.bind_failed.search(line))]
    named = [int(port) for failure in failures for port in failure.groups() if port]
    if launch.management_port_taken(lines) and MANAGEMENT in ports:
        named.append(ports[MANAGEMENT])
    return list(dict.fromkeys(named))


def explain(
    launch: ProductLaunch,
    broker: str,
    happened: str,
    lines: Sequence[str],
    ports: Mapping[str, int],
    taken: Callable[[int], str],
) -> str:
    """Return the message of a RuntimeFailed.

    It has the broker, the event, rejected ports, the next step and the end of the log. ``taken``: returns the sentence
    about the process that holds a port.
    """
    refused = refused_ports(launch, lines, ports)
    reasons = "".join(f"; {taken(port)}" for port in refused)
    step = ". End that process or choose other ports" if refused else ""
    informative = informative_lines(launch, lines)
    log = "\n".join(f"    {line}" for line in informative) if informative else "    (it logged nothing)"
    return f"broker {broker!r} {happened}{reasons}{step}. Its log ends:\n{log}"
