"""Finds at which address of this machine brokers may listen.

It is one address, no host name and not "all": brokers announce it to clients, and clients must reach them there.
"""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address

import psutil

ALL = ("0.0.0.0", "::", "*")


def addresses_here() -> list[str]:
    """The present IPv4 addresses of this machine's interfaces; loopback first."""
    interfaces = psutil.net_if_addrs().values()
    found = {each.address for addresses in interfaces for each in addresses if each.family == socket.AF_INET}
    return sorted(found, key=lambda address: (not IPv4Address(address).is_loopback, IPv4Address(address)))


def no_address_to_bind(host: str, here: Sequence[str]) -> str:
    """Why brokers cannot be bound to ``host``, and what to write instead; '' if they can. Pure."""
    if host in here:
        return ""
    what = "every address at once, which tells clients none" if host in ALL else "not an IPv4 address of this machine"
    return f"{what}; write one of {', '.join(here)}"
