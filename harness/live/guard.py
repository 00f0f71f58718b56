"""Protects the web UI from pages of other sites, and keeps the text of this machine's files out of its answers.

Every page in a user's browser can send requests to each web UI that the browser reaches. Therefore a request that may
change something must come from the UI's page, according to the browser. Scripts do not send an origin, and are
accepted. A page may also let its host name point to this machine (DNS rebinding). Therefore a UI that listens on
loopback only accepts only loopback names. A UI that was opened to other machines accepts any name.
"""

import ipaddress
import logging
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from werkzeug.wrappers import Request, Response

from topologies.catalogue.yaml_nodes import TextInvalid

log = logging.getLogger("brokerbench")

READING = ("GET", "HEAD")
OWN_PAGE, OTHER_PAGES = "same-origin", ("same-site", "cross-site")
"""Values of Sec-Fetch-Site, in which many browsers report which page sends a request."""
DEFAULT_PORTS = {"http": 80, "https": 443}

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Header = tuple[str, str]


class Guard:
    """A WSGI application in front of the web UI. ``web_host``: the UI's address, '' for every address."""

    def __init__(self, application: Application, web_host: str) -> None:
        self._application = application
        self._web_host = web_host
        self._on_loopback_only = listens_on_loopback_only(web_host)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(environ)
        if refusal := self._why_not_this_host(request) or why_not_this_page(request):
            log.warning("web UI: %s", refusal)
            answer = Response(f"{refusal}\n", 403, content_type="text/plain; charset=utf-8")
            answer.headers["X-Content-Type-Options"] = "nosniff"
            return answer(environ, start_response)

        def start(status: str, headers: list[Header], *exception: Any) -> Any:
            return start_response(status, list(_for_own_pages(headers)), *exception)

        return self._application(environ, start)

    def _why_not_this_host(self, request: Request) -> str:
        """Return why a request is rejected because of its host name; '' if it is not."""
        host = request.headers.get("Host")
        if not self._on_loopback_only or host is None:
            return ""
        name, _ = _name_and_port(host, "http")
        if is_loopback(name) or name == self._web_host.lower():
            return ""
        return (
            f"a request to host {host!r} is rejected: this web UI listens on {self._web_host} only, so open it with "
            "that name; to open it to other machines, too, start Locust with another --web-host"
        )


def why_not_this_page(request: Request) -> str:
    """Return why a request that may change something is rejected because of its page; '' if it is not."""
    origin, sender = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if request.method in READING or sender == OWN_PAGE:
        return ""
    if sender not in OTHER_PAGES and (origin is None or _is_origin_of(request, origin)):
        return ""
    own_page = f"{request.scheme}://{request.headers.get('Host', '')}"
    return (
        f"{request.method} {request.path} from a page of {origin or 'another site'!r} is rejected: only this web UI's "
        f"page may do that; open {own_page} (a proxy in front of it must pass Host on)"
    )


def _is_origin_of(request: Request, origin: str) -> bool:
    """Whether the origin is the UI. The scheme may belong to a proxy that ends TLS."""
    scheme, _, address = origin.partition("://")
    if scheme not in DEFAULT_PORTS:  # 'null' too, of a page that hides its origin
        return False
    return _name_and_port(address, scheme) == _name_and_port(request.headers.get("Host", ""), scheme)


def _name_and_port(address: str, scheme: str) -> tuple[str, int]:
    """Split ``HOST`` or ``HOST:PORT``; ('', 0) for anything else."""
    try:
        parts = urlsplit(f"{scheme}://{address}")
        return parts.hostname or "", parts.port or DEFAULT_PORTS[scheme]
    except ValueError:
        return "", 0


def listens_on_loopback_only(web_host: str) -> bool:
    """Whether only this machine reaches a server on this host name or address; '' is every address."""
    try:
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(web_host, None)} if web_host else set()
    except OSError:
        return False  # a server cannot listen there, and Locust reports that
    return bool(addresses) and all(map(is_loopback, addresses))


def is_loopback(name: str) -> bool:
    """Whether a host name or address is loopback, independent of name servers."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _for_own_pages(headers: Iterable[Header]) -> Iterator[Header]:
    """Replace Locust's headers, which let every page read its answers (CORS) and show them in a frame."""
    for name, value in headers:
        if not name.lower().startswith("access-control-"):
            yield name, value
    yield "X-Frame-Options", "SAMEORIGIN"


def report_refusal(sentence: str, error: BaseException) -> str:
    """Print ``sentence``, the reason why a run cannot be made, on the terminal; log and return the text for pages.

    Pages, which include the log's page, must not show the text of files that their users name in the form. Of an
    error in a file they only show the place.
    """
    text_error = next((cause for cause in _causes(error) if isinstance(cause, TextInvalid)), None)
    if text_error:
        print(sentence, file=sys.stderr, flush=True)
        sentence = (
            f"{text_error.place}: invalid; Locust's terminal shows the reason, as a page does not show text of files"
        )
    log.error("%s", sentence)
    return sentence


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes, also those that are hidden by ``from None``."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
