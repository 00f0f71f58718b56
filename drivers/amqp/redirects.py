"""Reads the brokers that an AMQP broker names instead of itself. Values in, values out.

A broker redirects a client by closing the connection with ``amqp:connection:redirect``, which names the new broker. In
its Open it may list who takes over when it is gone: ``failover-server-list``. Sources: OASIS AMQP 1.0, part 2.8.16; for
the list, what Artemis 2.44.0 sends.
"""

from collections.abc import Iterable, Mapping
from typing import Any

REDIRECT = "amqp:connection:redirect"
FAILOVER_SERVER_LIST = "failover-server-list"


def address_of(told: object, default_port: int) -> str:
    """``host:port`` of a map with ``network-host`` and perhaps ``port``; '' where it names no host."""
    if not isinstance(told, Mapping):
        return ""
    by_name: dict[str, Any] = {str(name): value for name, value in told.items()}
    host, port = by_name.get("network-host"), by_name.get("port", default_port)
    if not isinstance(host, str) or not host or not isinstance(port, int):
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{int(port)}"


def successors(properties: Mapping[Any, Any], default_port: int) -> tuple[str, ...]:
    """The brokers that an Open lists, in order. Entries other than maps with a host are left out."""
    listed = next((value for name, value in properties.items() if str(name) == FAILOVER_SERVER_LIST), ())
    entries = listed if isinstance(listed, Iterable) and not isinstance(listed, str | bytes | Mapping) else ()
    return tuple(dict.fromkeys(address for each in entries if (address := address_of(each, default_port))))
