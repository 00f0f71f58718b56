"""Describes how the protocols of Java clients differ, seen from Python: by their names and their URIs."""

from collections.abc import Callable
from dataclasses import dataclass

from drivers.failover.uri import FailoverUri


@dataclass(frozen=True)
class JavaProtocol:
    """``display_name``: the protocol's name for people.

    ``load_uri``: a failover URI as the library's own failover follows it; ``connection_uri``: the URI of one broker as
    the library connects to it, once.
    """

    name: str
    display_name: str
    schemes: tuple[str, ...]
    load_uri: Callable[[FailoverUri], str]
    connection_uri: Callable[[str], str]
