"""Which protocols can clients speak? One table: the name on the command line, and what opens its connections."""

from collections.abc import Callable, Mapping

from drivers.contract import Connector
from drivers.stomp import StompConnector

PROTOCOLS: tuple[str, ...] = ("stomp", "memory")

_CONNECTORS: Mapping[str, Callable[[], Connector]] = {"stomp": StompConnector}


def connector_of(protocol: str) -> Connector:
    """A connector for a protocol that crosses a network. ``memory`` has none: its runtime holds the brokers."""
    return _CONNECTORS[protocol]()
