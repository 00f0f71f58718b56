"""Which options of a failover URI can clients of a protocol honour? The others are refused by name."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote_plus

from drivers.amqp import messages as amqp_messages
from drivers.contract import DriverError
from drivers.failover import OPTION_FIELDS, FailoverUri, written
from drivers.jvm.core_options import REFUSED
from drivers.jvm.core_uri import refusals as core_refusals
from drivers.stomp import frames as stomp_frames

_READ: Mapping[str, Callable[[str], object]] = {
    "stomp": partial(stomp_frames.read_address, heartbeat_ms=0),
    "amqp": partial(amqp_messages.read_address, idle_timeout_ms=0),
}
"""Who reads the URI of one broker, and what is nested in it: of Java clients the library (drivers/jvm/options.py)."""


def unsupported(uri: FailoverUri, protocol: str) -> tuple[str, ...]:
    """The options that ask for something which this protocol cannot do, as sentences; empty when all can be honoured.

    Only what the user wrote counts, and only if it asks for the behaviour: ``trackMessages=false`` is fine anywhere.
    """
    of_core = core_refusals(uri) if protocol == "core" else _core_only(uri, protocol)
    return (*(() if protocol == "openwire" else _openwire_only(uri, protocol)), *of_core, *_nested(uri, protocol))


def refuse_unusable(uri: FailoverUri, brokers: Mapping[str, str], protocol: str) -> None:
    """Raise DriverError for a URI that this protocol or this topology cannot honour."""
    problems = list(unsupported(uri, protocol))
    known = ", ".join(sorted(brokers)) or "none"
    for server in (*uri.servers, *uri.options.priority_uris):
        if server.address not in brokers:
            problems.append(f"failover URI {uri}: {server.address} is no broker of this run; known are {known}")
    if problems:
        raise DriverError("; ".join(problems))


def _core_only(uri: FailoverUri, protocol: str) -> tuple[str, ...]:
    return tuple(
        f"option {name} is not supported by {protocol.upper()}: it is Core's own; remove it"
        + ("" if name in REFUSED else ", or use core")
        for name, _ in uri.core
    )


def _nested(uri: FailoverUri, protocol: str) -> Iterator[str]:
    for name, value in uri.nested if protocol in _READ else ():
        server = f"{protocol}://broker:1"
        try:
            _READ[protocol](f"{server}?{quote_plus(name)}={quote_plus(value)}")
        except ValueError as error:
            yield f"failover option nested.{name}={value}: {str(error).partition(': ')[2]}"


def _openwire_only(uri: FailoverUri, protocol: str) -> tuple[str, ...]:
    return tuple(
        f"failover option {name}={written(getattr(uri.options, own.name))} is not supported by {protocol.upper()}: "
        "only OpenWire clients can honour it; remove it or use OpenWire"
        for name, own in OPTION_FIELDS.items()
        if own.metadata["openwire_only"] and name in uri.explicit and _asks(getattr(uri.options, own.name), own.default)
    )


def _asks(value: Any, default: Any) -> bool:
    return value if isinstance(value, bool) else bool(value != default)
