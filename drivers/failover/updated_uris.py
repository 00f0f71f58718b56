"""Reads the brokers in the file behind ``updateURIsURL`` before every pass, as the Java client does.

The file (a URL, or a path) holds URIs separated by commas; line ends are ignored. These URIs come before the failover
URI's own. An unreadable file leaves the list unchanged. An entry that is no URI, or no broker of this run, is ignored.
Each causes one warning.
"""

import logging
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from drivers.failover.uri import BadFailoverUriError, FailoverUri, ServerUri

READ_TIMEOUT_S = 5.0
log = logging.getLogger(__name__)


class UpdatedUris:
    """Looks the file up for one client. ``known``: the addresses of the run's brokers."""

    def __init__(self, name: str, known: Container[str]) -> None:
        self._name = name
        self._known = known
        self._told: set[str] = set()

    def refresh(self, uri: FailoverUri) -> FailoverUri:
        """The URI with the servers that the file names now; unchanged if it names no file."""
        options = uri.options
        if not options.update_uris_url or not options.update_uris_supported:
            return uri
        try:
            listed = _read(options.update_uris_url)
        except (OSError, URLError, ValueError) as error:
            self._warn(f"updateURIsURL={options.update_uris_url} cannot be read ({error}); the list stays as it was")
            return uri
        found = [server for part in listed.split(",") if part and (server := self._server(part))]
        return replace(uri, updated=tuple(dict.fromkeys(found))) if listed.strip() and found else uri

    def _server(self, part: str) -> ServerUri | None:
        """The broker of one entry; None, with a warning, if the entry is no broker."""
        try:
            if part != part.strip():
                raise ValueError(f"{part!r} begins or ends with a space, which the Java client refuses")
            (server,) = FailoverUri.parse(f"failover:({part})").servers
        except (BadFailoverUriError, ValueError) as error:
            self._warn(f"updateURIsURL: {getattr(error, 'advice', error)}; this entry is left out")
            return None
        if server.address not in self._known:
            self._warn(f"updateURIsURL: {server.address} is no broker of this run; this entry is left out")
            return None
        return server

    def _warn(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            log.warning("%s: %s", self._name, what)


def _read(where: str) -> str:
    """The file in one line. Raises OSError or ValueError."""
    if "://" in where or where.startswith("file:"):
        with urlopen(where, timeout=READ_TIMEOUT_S) as answer:
            text = answer.read().decode()
    else:
        text = Path(where).read_text()
    return "".join(text.splitlines())
