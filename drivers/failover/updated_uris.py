"""Collects the brokers that a client learns of after its failover URI was written: from a file, or from a broker.

The client tries brokers that another broker named first, then brokers from the file, then the brokers of the URI.

The file behind ``updateURIsURL`` (a URL, or a path) is read before every pass, as in the Java client. It contains URIs
separated by commas; line ends are ignored. An unreadable file leaves the list unchanged. An entry that is not a URI, or
not a broker of this run, is ignored. Each problem causes one warning.

A broker names another broker by an address in its own network. If the failover URI also has that broker, the client
uses the URI's address.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from drivers.contract import Connection, RedirectSupport
from drivers.failover.uri import BadFailoverUriError, FailoverUri, ServerUri

READ_TIMEOUT_S = 5.0
log = logging.getLogger(__name__)


class UpdatedUris:
    """The updated URIs of one client. ``name`` begins its warnings, ``brokers`` names the broker behind each
    ``host:port``."""

    def __init__(self, name: str, uri: FailoverUri, brokers: Mapping[str, str]) -> None:
        self._name, self.uri, self._brokers = name, uri, brokers
        self._by_file: tuple[ServerUri, ...] = ()
        self._by_broker: tuple[ServerUri, ...] = ()
        self._warned_of: set[str] = set()

    def refresh(self) -> FailoverUri:
        """Return the URI with all brokers learned later; reads the file, if it has one. Called before every pass."""
        if self.uri.options.update_uris_url and self.uri.options.update_uris_supported:
            self._by_file = self._read_file(self.uri.options.update_uris_url) or self._by_file
        return replace(self.uri, updated=tuple(dict.fromkeys((*self._by_broker, *self._by_file))))

    def learn_from(self, connection: Connection) -> None:
        """Store the other brokers that the broker of a new connection names. If it names none, the list stays."""
        if isinstance(connection, RedirectSupport) and self.uri.options.update_uris_supported:
            successors = map(self.server, connection.successors)
            self._by_broker = tuple(server for server in successors if server) or self._by_broker

    def server(self, address: str) -> ServerUri | None:
        """Return how to reach a broker that another broker named; None, with a warning, if it is not a broker of
        this run."""
        broker = self._brokers.get(address)
        if broker is None:
            self._warn(f"a broker names {address}, which is not a broker of this run; it is left out")
            return None
        for server in self.uri.servers:
            if self._brokers.get(server.address) == broker:
                return server
        host, _, port = address.rpartition(":")
        return replace(self.uri.servers[0], host=host.strip("[]"), port=int(port))

    def _read_file(self, where: str) -> tuple[ServerUri, ...]:
        """Return the brokers that the file lists; none, with a warning, if it cannot be read."""
        try:
            if "://" in where or where.startswith("file:"):
                with urlopen(where, timeout=READ_TIMEOUT_S) as answer:
                    text = answer.read().decode()
            else:
                text = Path(where).read_text()
        except (OSError, URLError, ValueError) as error:
            self._warn(f"updateURIsURL={where} cannot be read ({error}); the list stays as it was")
            return ()
        parts = "".join(text.splitlines()).split(",")
        return tuple(server for part in parts if part and (server := self._listed(part)))

    def _listed(self, part: str) -> ServerUri | None:
        """Return the broker of one entry in the file; None, with a warning, if the entry is not a broker."""
        try:
            if part != part.strip():
                raise ValueError(f"{part!r} begins or ends with a space, which the Java client rejects")
            (server,) = FailoverUri.parse(f"failover:({part})").servers
        except (BadFailoverUriError, ValueError) as error:
            self._warn(f"updateURIsURL: {getattr(error, 'advice', error)}; this entry is left out")
            return None
        if server.address not in self._brokers:
            self._warn(f"updateURIsURL: {server.address} is not a broker of this run; this entry is left out")
            return None
        return server

    def _warn(self, warning: str) -> None:
        if warning not in self._warned_of:
            self._warned_of.add(warning)
            log.warning("%s: %s", self._name, warning)
