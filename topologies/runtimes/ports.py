"""Chooses the ports for a topology on this machine's addresses.

It chooses all ports at once, and holds each open until the last is chosen, so no two brokers get the same port. Free
ports are taken from *below* the kernel's range for outgoing connections: otherwise a client's connection could take the
port of a broker that is down, and the broker could not restart.

Brokers listen at one address, not at a host name or all addresses: they announce it to clients, who must reach it.
"""

import random
import socket
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

import psutil

from records.errors import UserError
from topologies.model.launch import LOOPBACK

LOWEST, USUAL_FIRST_EPHEMERAL, HIGHEST = 10_000, 32_768, 65_535
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
ATTEMPTS_A_PORT = 200

Key = TypeVar("Key", bound=Hashable)


def choose_ports(
    wanted: Sequence[Key], base_port: int | None = None, addresses: Sequence[str] = (LOOPBACK,)
) -> dict[Key, int]:
    """Choose a port for each key of ``wanted``: ``base_port``, ``base_port + 1``, … in that order, or any free ports.

    Each port is free on all ``addresses``. Raises UserError.
    """
    if base_port is not None and not 1024 <= base_port <= HIGHEST - len(wanted) + 1:
        raise UserError(
            f"base port {base_port}: {len(wanted)} consecutive ports are needed, all between 1024 and {HIGHEST}"
        )
    with ExitStack() as held:
        if base_port is not None:
            return {key: _hold_fixed(held, base_port + n, addresses) for n, key in enumerate(wanted)}
        candidates = _candidates(ATTEMPTS_A_PORT * len(wanted))
        return {key: _hold_any(held, candidates, addresses) for key in wanted}


def holder_of(port: int) -> str:
    """Return ``pid 123 (java)`` if the system shows it; otherwise empty."""
    try:
        listening = [c for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port and c.pid]
        listening.sort(key=lambda c: c.status != psutil.CONN_LISTEN)
        return f"pid {listening[0].pid} ({psutil.Process(listening[0].pid).name()})" if listening else ""
    except (psutil.Error, OSError):  # not visible to this user
        return ""


def port_in_use(port: int, address: str = LOOPBACK) -> str:
    """Return a sentence about a port that another process holds."""
    holder = holder_of(port)
    return f"port {port} of {address} is already in use" + (f" by {holder}" if holder else "")


def first_ephemeral_port() -> int:
    """Return the lowest port that the kernel uses for outgoing connections."""
    try:
        return int(EPHEMERAL_RANGE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return USUAL_FIRST_EPHEMERAL


def _candidates(attempts: int) -> Iterator[int]:
    first_ephemeral = first_ephemeral_port()
    lowest, highest = (LOWEST, first_ephemeral - 1) if first_ephemeral > LOWEST + 1_000 else (LOWEST, HIGHEST)
    for _ in range(attempts):
        yield random.randint(lowest, highest)


def _hold_any(held: ExitStack, candidates: Iterator[int], addresses: Sequence[str]) -> int:
    for port in candidates:
        if all(_hold(held, port, address) for address in addresses):
            return port
    raise UserError(
        f"no free port found on {' and '.join(addresses)}: end processes that hold ports (ss -ltn), or set a base port"
    )


def _hold_fixed(held: ExitStack, port: int, addresses: Sequence[str]) -> int:
    for address in addresses:
        if not _hold(held, port, address):
            raise UserError(
                f"{port_in_use(port, address)}: end that process, or choose another base port (or none, for free ports)"
            )
    return port


def _hold(held: ExitStack, port: int, address: str) -> bool:
    """Bind and listen with SO_REUSEADDR, as the brokers do (Java sets it): a port in TIME_WAIT is free."""
    holder = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind((address, port))
        holder.listen(1)  # with SO_REUSEADDR only this shows whether no other process uses the port
    except OSError:
        return False
    return True


ALL = ("0.0.0.0", "::", "*")


def addresses_here() -> list[str]:
    """Return the current IPv4 addresses of this machine's interfaces; loopback first."""
    interfaces = psutil.net_if_addrs().values()
    present = {address.address for addresses in interfaces for address in addresses if address.family == socket.AF_INET}
    return sorted(present, key=lambda address: (not IPv4Address(address).is_loopback, IPv4Address(address)))


def why_not_bindable(host: str, here: Sequence[str]) -> str:
    """Return why brokers cannot be bound to ``host``, and the next step; '' if they can. Pure."""
    if host in here:
        return ""
    problem = (
        "all addresses at once, so clients would get none" if host in ALL else "not an IPv4 address of this machine"
    )
    return f"{problem}; write one of {', '.join(here)}"
