"""Reads AMQP addresses from a URI, and from a broker that redirects its clients. Needs no library.

A broker redirects a client by closing the connection with ``amqp:connection:redirect``, which names the new broker. In
its Open it may list its successors, in case it disappears: ``failover-server-list``. Sources: OASIS AMQP 1.0, part
2.8.16; for the list, what Artemis 2.44.0 sends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from drivers.failover.supported_options import SupportedOptions

LEAST_IDLE_TIMEOUT_MS = 100
REDIRECT = "amqp:connection:redirect"
FAILOVER_SERVER_LIST = "failover-server-list"


@dataclass(frozen=True)
class AmqpAddress:
    """Where to connect. ``idle_timeout_ms``: silence after which the client gives the broker up; 0: never."""

    host: str
    port: int
    tls: bool
    idle_timeout_ms: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def read_address(uri: str, idle_timeout_ms: int) -> AmqpAddress:
    """Read ``amqp://HOST:PORT[?idle_timeout_ms=N]``, or ``amqps://`` for TLS. ValueError says what to write instead."""
    parts = urlsplit(uri)
    if parts.scheme not in ("amqp", "amqps", "amqp+ssl") or not parts.hostname or parts.port is None:
        raise ValueError(f"{uri}: write amqp://HOST:PORT, or amqps://HOST:PORT for TLS")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    timeout = options.pop("idle_timeout_ms", str(idle_timeout_ms))
    if options:
        raise ValueError(f"{uri}: AMQP has no option {', '.join(sorted(options))}; it supports idle_timeout_ms")
    if not (timeout.isascii() and timeout.isdigit()) or 0 < int(timeout) < LEAST_IDLE_TIMEOUT_MS:
        rule = f"write a whole number of milliseconds, {LEAST_IDLE_TIMEOUT_MS} at least, or 0 for never"
        raise ValueError(f"{uri}: idle_timeout_ms={timeout}: {rule}")
    return AmqpAddress(parts.hostname, parts.port, parts.scheme != "amqp", int(timeout))


AMQP_OPTIONS = SupportedOptions("amqp", read_server_uri=partial(read_address, idle_timeout_ms=0))


def address_of(referral: object, default_port: int) -> str:
    """Return ``host:port`` from a map with ``network-host`` and perhaps ``port``; empty if it names no host."""
    if not isinstance(referral, Mapping):
        return ""
    by_name: dict[str, Any] = {str(name): value for name, value in referral.items()}
    host, port = by_name.get("network-host"), by_name.get("port", default_port)
    if not isinstance(host, str) or not host or not isinstance(port, int):
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{int(port)}"


def successors(properties: Mapping[Any, Any], default_port: int) -> tuple[str, ...]:
    """Return the brokers that an Open lists, in order. Entries other than maps with a host are left out."""
    listed = next((value for name, value in properties.items() if str(name) == FAILOVER_SERVER_LIST), ())
    entries = listed if isinstance(listed, Iterable) and not isinstance(listed, str | bytes | Mapping) else ()
    return tuple(dict.fromkeys(address for entry in entries if (address := address_of(entry, default_port))))
