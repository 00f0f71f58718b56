"""Explains why a broker did not start: what its log tells, as sentences. Pure: lines in, text out."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from topologies.runtimes.contract import LOG_TAIL_LINES

LINE_LIMIT = 600
NOISE = re.compile(
    r"^\s*(at |\.\.\. \d+ (more|common frames)|$)|JVM args: |Extensions classpath:|^\s+\[/|^ACTIVEMQ_\w+: "
)
BIND_FAILED = re.compile(
    r"Failed to bind to server socket: \S*?:(\d+)(?:[/?]\S*)? due to"
    r"|Failed to bind acceptor \S+ to \S*?:(\d+)"
    r"|Listener error on \S*?:(\d+): "
)
AGENT_FAILED = re.compile(r"Could not start Jolokia agent: (.*)")
MANAGEMENT = "management"  # the agent's port, among the ports of a broker by protocol


def telling(lines: Iterable[str]) -> list[str]:
    """The last lines with information: no stack frames, no list of JVM arguments, none longer than LINE_LIMIT."""
    kept = [line.rstrip()[:LINE_LIMIT] for line in lines if not NOISE.search(line)]
    return kept[-LOG_TAIL_LINES:]


def agent_failure(lines: Iterable[str]) -> str:
    """The Jolokia agent's message about its own failure ('' if it did not fail): the broker runs on without it."""
    return next((found.group(1) for line in lines if (found := AGENT_FAILED.search(line))), "")


def refused_ports(lines: Sequence[str], ports: Mapping[str, int]) -> list[int]:
    """Ports that could not be bound. The agent's own message does not name its port, so ``ports`` is needed too."""
    named = [int(port) for line in lines if (found := BIND_FAILED.search(line)) for port in found.groups() if port]
    if "BindException" in agent_failure(lines) and MANAGEMENT in ports:
        named.append(ports[MANAGEMENT])
    return list(dict.fromkeys(named))


def explain(
    broker: str, happened: str, lines: Sequence[str], ports: Mapping[str, int], taken: Callable[[int], str]
) -> str:
    """The message of a RuntimeFailed: the broker, what happened, ports refused, next step, and what its log says.

    ``taken``: a sentence about who holds a port.
    """
    refused = refused_ports(lines, ports)
    reasons = "".join(f"; {taken(port)}" for port in refused)
    step = ". End that process or choose other ports" if refused else ""
    told = telling(lines)
    log = "\n".join(f"    {line}" for line in told) if told else "    (it logged nothing)"
    return f"broker {broker!r} {happened}{reasons}{step}. Its log ends:\n{log}"
