"""Queries a broker through Jolokia: MBeans over HTTP, with many queries in one request."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from records.errors import innermost_reason
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import ManagementFailed
from topologies.model.trust import explain_untrusted

TIMEOUT_S = 5.0
ORIGIN_REJECTED = re.compile(r"Origin .* is not allowed")
ORIGIN_HELP = (
    "{0} rejects the origin {1}; use a host name that the broker's jolokia-access.xml allows (allow-origin), or add "
    "{1} there"
)
LOOPBACK = ("127.0.0.1", "::1")
PATH = "/jolokia/"
"""Path of the agent's URL."""

NOT_FOUND, OK = 404, 200
HEAP = "java.lang:type=Memory"
"""The MBean of a JVM's memory."""

Request = Mapping[str, object]


@dataclass(frozen=True)
class Answer:
    """One answer in a bulk request: status 200 with a value, or another ``status`` with an error text."""

    mbean: str
    status: int
    value: Any = None
    error: str = ""


def read(mbean: str, *attributes: str) -> Request:
    """Request attributes of an MBean, or of all MBeans that a pattern matches (the value is a dict by MBean name)."""
    return {"type": "read", "mbean": mbean, "attribute": list(attributes)}


def search(mbean: str) -> Request:
    """Request the names of all MBeans that a pattern matches."""
    return {"type": "search", "mbean": mbean}


def execute(mbean: str, operation: str, *arguments: object) -> Request:
    return {"type": "exec", "mbean": mbean, "operation": operation, "arguments": list(arguments)}


def write(mbean: str, attribute: str, value: object) -> Request:
    return {"type": "write", "mbean": mbean, "attribute": attribute, "value": value}


def object_name(name: str) -> dict[str, str]:
    """Return the key properties of an MBean's name. Brokers do not allow commas or equals signs in them.

    ``org.apache.activemq:type=Broker,brokerName=b`` gives ``{"type": "Broker", "brokerName": "b"}``.
    """
    pairs = (pair.partition("=") for pair in name.partition(":")[2].split(","))
    return {key: value for key, _, value in pairs}


def named_figures(figures: Mapping[str, str], attributes: Mapping[str, Any]) -> dict[str, int]:
    """Select values from MBean attributes. ``figures``: metric name to attribute name. Pure."""
    return {metric: int(attributes[attribute]) for metric, attribute in figures.items()}


def heap_figures(memory: Mapping[str, Any]) -> dict[str, int]:
    """Return heap metrics. ``memory``: the attributes of HEAP."""
    usage = memory["HeapMemoryUsage"]
    return {"heap_used_bytes": int(usage["used"]), "heap_max_bytes": int(usage["max"])}


def value_of(broker: str, answer: Answer) -> Any:
    """Return the value; empty if a pattern matches no MBean. Raises ManagementFailed for any other error."""
    if answer.status == NOT_FOUND and "*" in answer.mbean:
        return {}
    if answer.status != OK:
        raise ManagementFailed(f"broker {broker!r}, MBean {answer.mbean}: {answer.error or 'no value'}")
    return answer.value


class Jolokia:
    """The agent of a broker. Not thread-safe: each thread or greenlet creates another one."""

    def __init__(self, endpoint: ManagementEndpoint, timeout_s: float = TIMEOUT_S) -> None:
        self.broker, self._url, self._timeout_s = endpoint.broker, endpoint.url, timeout_s
        self.calls_itself = endpoint.calls_itself or endpoint.broker  # in the names of its MBeans
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy, no .netrc between us and a broker
        self._session.auth = (endpoint.username, endpoint.password)
        self._session.verify = endpoint.ca_file or True
        self._session.headers["Origin"] = _origin(endpoint.url)  # without it a web console rejects all requests
        host, port = urlsplit(endpoint.url).hostname, urlsplit(endpoint.url).port
        localhost = f"{urlsplit(endpoint.url).scheme}://localhost" + (f":{port}" if port else "")
        self._origin_on_loopback = localhost if host in LOOPBACK else ""  # the only name that a stock Artemis allows

    def __repr__(self) -> str:
        return f"<Jolokia of {self.broker} at {self._url}>"

    def bulk(self, requests_: Sequence[Request]) -> list[Answer]:
        """Return the answers in the order of the requests. A missing MBean gives an answer with status 404."""
        about = str(requests_[0]["mbean"]) + (f" and {len(requests_) - 1} more" if len(requests_) > 1 else "")
        answers = self._post(list(requests_), about)
        if _origin_is_rejected(answers) and self._origin_on_loopback:
            self._session.headers["Origin"] = self._origin_on_loopback
            self._session.close()  # Jetty closes the connection of a request that the console rejected without reading
            answers = self._post(list(requests_), about)
        if _origin_is_rejected(answers):
            raise self._failed(about, ORIGIN_HELP.format(self._url, self._session.headers["Origin"]))
        if isinstance(answers, dict) and "error" in answers:  # for the whole request
            raise self._failed(about, f"{self._url} answers: {answers['error']}")
        if not isinstance(answers, list) or len(answers) != len(requests_):
            raise self._failed(about, "the agent's answer does not match the request")
        return [_answer(request, answer) for request, answer in zip(requests_, answers, strict=True)]

    def read(self, mbean: str, *attributes: str) -> Any:
        """Return the attributes by name; for a pattern, by MBean and name.

        Raises ManagementFailed, also if none exists.
        """
        return self._single(read(mbean, *attributes))

    def search(self, mbean: str) -> list[str]:
        """Return the names of the matching MBeans; empty if none matches."""
        return list(self._single(search(mbean)))

    def execute(self, mbean: str, operation: str, *arguments: object) -> Any:
        return self._single(execute(mbean, operation, *arguments))

    def write(self, mbean: str, attribute: str, value: object) -> Any:
        """Set an attribute, and return its previous value. Raises ManagementFailed."""
        return self._single(write(mbean, attribute, value))

    def close(self) -> None:
        self._session.close()

    def _single(self, request: Request) -> Any:
        (answer,) = self.bulk([request])
        if answer.status != OK:
            raise self._failed(answer.mbean, answer.error)
        return answer.value

    def _post(self, body: list[Request], about: str) -> Any:
        try:
            response = self._session.post(self._url, json=body, timeout=self._timeout_s)
        except requests.Timeout:
            raise self._failed(about, f"no answer within {self._timeout_s:g} s") from None
        except requests.RequestException as error:
            doubt = explain_untrusted(error)
            why = f": {doubt}" if doubt else f" cannot be reached ({innermost_reason(error)})"
            raise self._failed(about, f"{self._url}{why}") from None
        if response.status_code in (requests.codes.unauthorized, requests.codes.forbidden):
            raise self._failed(about, f"{self._url} rejects the user name or password of the run")
        if response.status_code != requests.codes.ok:
            raise self._failed(about, f"{self._url} answers with HTTP status {response.status_code}")
        try:
            return response.json()
        except requests.JSONDecodeError:
            raise self._failed(about, f"{self._url} does not answer like a Jolokia agent") from None

    def _failed(self, about: str, why: str) -> ManagementFailed:
        return ManagementFailed(f"broker {self.broker!r}, MBean {about}: {why}")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _origin_is_rejected(answers: Any) -> bool:
    """Return whether a web console rejects requests from this origin. The HTTP status is 200 even then."""
    return isinstance(answers, dict) and bool(ORIGIN_REJECTED.search(str(answers.get("error", ""))))


def _answer(request: Request, answer: Mapping[str, Any]) -> Answer:
    return Answer(
        mbean=str(request["mbean"]),
        status=int(answer.get("status", 0)),
        value=answer.get("value"),
        error=str(answer.get("error", "")),
    )
