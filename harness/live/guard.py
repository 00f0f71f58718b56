"""Keeps pages of other sites away from the web UI, and the text of this machine's files out of its answers.

Every page that a user has open can send requests to each web UI that the user's browser reaches. Therefore a request
that may change something has to come from the UI's own page, by what the browser says of it. Scripts say nothing of an
origin, and pass. A page may also have its own host name point to this machine (DNS rebinding). Therefore a UI that
listens on loopback only is reached by loopback's names only. A UI that was opened to other machines is reached by any
name.
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
"""Values of Sec-Fetch-Site, in which many browsers say which page sends a request."""
DEFAULT_PORTS = {"http": 80, "https": 443}

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Header = tuple[str, str]


class Guard:
    """A WSGI application in front of the web UI's own. ``web_host``: where it listens, '' for every address."""

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
        """Why a request is refused for the name by which it reached this machine; '' if it is not."""
        host = request.headers.get("Host")
        if not self._on_loopback_only or host is None:
            return ""
        name, _ = _name_and_port(host, "http")
        if is_loopback(name) or name == self._web_host.lower():
            return ""
        return (
            f"a request to host {host!r} is refused: this web UI listens on {self._web_host} only, so it is opened by "
            "that name; to open it to other machines too, start Locust with another --web-host"
        )


def why_not_this_page(request: Request) -> str:
    """Why a request that may change something is refused for the page that sends it; '' if it is not."""
    origin, sender = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if request.method in READING or sender == OWN_PAGE:
        return ""
    if sender not in OTHER_PAGES and (origin is None or _is_origin_of(request, origin)):
        return ""
    own_page = f"{request.scheme}://{request.headers.get('Host', '')}"
    return (
        f"{request.method} {request.path} from a page of {origin or 'another site'!r} is refused: only this web UI's "
        f"own page may do that; open {own_page} (a proxy before it must pass on Host)"
    )


def _is_origin_of(request: Request, origin: str) -> bool:
    """Whether pages of that origin are the UI's own. The scheme may be that of a proxy which ends TLS."""
    scheme, _, address = origin.partition("://")
    if scheme not in DEFAULT_PORTS:  # 'null' too, of a page that hides its origin
        return False
    return _name_and_port(address, scheme) == _name_and_port(request.headers.get("Host", ""), scheme)


def _name_and_port(address: str, scheme: str) -> tuple[str, int]:
    """Of ``HOST`` or ``HOST:PORT``; ('', 0) for what is neither."""
    try:
        parts = urlsplit(f"{scheme}://{address}")
        return parts.hostname or "", parts.port or DEFAULT_PORTS[scheme]
    except ValueError:
        return "", 0


def listens_on_loopback_only(web_host: str) -> bool:
    """Whether only this machine reaches a server on that host name or address; '' is every address."""
    try:
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(web_host, None)} if web_host else set()
    except OSError:
        return False  # nothing can listen there, as Locust says then
    return bool(addresses) and all(map(is_loopback, addresses))


def is_loopback(name: str) -> bool:
    """Whether a host name or address is loopback's whatever a name server says."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _for_own_pages(headers: Iterable[Header]) -> Iterator[Header]:
    """Locust lets every page read its answers (CORS) and show them in a frame; here only the UI's own pages may."""
    for name, value in headers:
        if not name.lower().startswith("access-control-"):
            yield name, value
    yield "X-Frame-Options", "SAMEORIGIN"


def tell_refusal(sentence: str, error: BaseException) -> str:
    """Tells the terminal by ``sentence`` why no run can be made; returns what pages may say, that of its log too.

    Whoever may name a file in the form may not read it there: of its text a page says the place only.
    """
    text_error = next((cause for cause in _causes(error) if isinstance(cause, TextInvalid)), None)
    if text_error:
        print(sentence, file=sys.stderr, flush=True)
        sentence = f"{text_error.place}: not as it must be; Locust's terminal says why, a page shows no file's text"
    log.error("%s", sentence)
    return sentence


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Also those that an error leaves out by ``from None``."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
