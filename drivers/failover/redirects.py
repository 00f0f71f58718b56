"""Collects the brokers that a client learns of after its failover URI was written: from a file, or from a broker.

These brokers come before the URI's brokers, the latest first. A broker names another one by an address of its own
network. If the failover URI also has that broker, the client uses the URI's address.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from drivers.contract import Connection, NamesOthers
from drivers.failover.updated_uris import UpdatedUris
from drivers.failover.uri import FailoverUri, ServerUri

log = logging.getLogger(__name__)


class Redirects:
    """Those of one client. ``name`` begins its warnings, ``brokers`` names the broker behind each ``host:port``."""

    def __init__(self, name: str, uri: FailoverUri, brokers: Mapping[str, str]) -> None:
        self._name, self._uri, self._brokers = name, uri, brokers
        self._file = UpdatedUris(name, brokers)
        self._filed: tuple[ServerUri, ...] = ()
        self._named: tuple[ServerUri, ...] = ()
        self._told: set[str] = set()

    def hear(self, connection: Connection) -> None:
        """Take the other brokers that the broker of a new connection names. If it names none, the list stays."""
        if isinstance(connection, NamesOthers) and self._uri.options.update_uris_supported:
            named = tuple(server for each in connection.successors if (server := self.server(each)))
            self._named = named or self._named

    def refresh(self, uri: FailoverUri) -> FailoverUri:
        """The URI with all that came later; reads the file, if it has one. Asked before every pass."""
        self._filed = self._file.refresh(replace(uri, updated=self._filed)).updated
        return replace(uri, updated=tuple(dict.fromkeys((*self._named, *self._filed))))

    def server(self, address: str) -> ServerUri | None:
        """How to reach the broker that another one named; None, with a warning, for no broker of this run."""
        name = self._brokers.get(address)
        if name is None:
            self._warn(f"a broker names {address}, which is no broker of this run; it is left out")
            return None
        own = next((each for each in self._uri.servers if self._brokers.get(each.address) == name), None)
        if own is not None:
            return own
        host, _, port = address.rpartition(":")
        return replace(self._uri.servers[0], host=host.strip("[]"), port=int(port))

    def _warn(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            log.warning("%s: %s", self._name, what)
