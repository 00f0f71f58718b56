"""Finds Toxiproxy, controls it, and counts the bytes that it carried. One server per run, with its API on loopback.

A *proxy* is between two brokers. A *toxic* changes the data in one direction:

    caller ──► listen │ latency │ bandwidth │ ──► upstream
           ◄── ───────│ bandwidth │ latency │ ◄──

The delay comes before the bandwidth limit: in the other order, Toxiproxy subtracts the time that data waited for
bandwidth from its delay.

Its metrics and its log count a connection's bytes per direction when it ends: the metrics if everything was forwarded,
the log if a write failed. The metric of received bytes lacks some bytes of failed writes, because a reader that waits
for such a write never ends.
"""

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import requests

from records.errors import innermost_reason
from topologies.model.impairment import Impairment
from topologies.model.launch import LOOPBACK
from topologies.runtimes.contract import RuntimeFailed

SERVER = "toxiproxy-server"
VERSION = "2.5.0"
INSTALL = (
    "bash .ci/install-toxiproxy.sh (or: CGO_ENABLED=0 go install"
    f" github.com/Shopify/toxiproxy/v2/cmd/server@v{VERSION}, as {SERVER})"
)
TIMEOUT_S = 5.0
LOG_LEVEL = {"LOG_LEVEL": "trace"}  # environment: log the beginning and the end of each connection

Toxic = dict[str, object]


class ToxiproxyUnavailable(RuntimeFailed):
    """Toxiproxy is missing or fails: names what needs it, what was tried and the next step."""


def find_toxiproxy(link: str) -> Path:
    """Find it on PATH, or next to this Python. ``link``: the link that needs it. Raises ToxiproxyUnavailable."""
    beside = str(Path(sys.executable).parent)
    executable = shutil.which(SERVER) or shutil.which(SERVER, path=beside)
    if executable is None:
        raise ToxiproxyUnavailable(
            f"link {link!r} needs Toxiproxy, but there is no {SERVER} on PATH or in {beside}: install it by {INSTALL},"
            " or set no impairments of links"
        )
    return Path(executable)


def command(executable: Path, port: int, address: str = LOOPBACK) -> list[str]:
    return [str(executable), "-host", address, "-port", str(port), "-proxy-metrics"]


def toxics(impairment: Impairment) -> list[Toxic]:
    """Return the toxics for an impairment, in the order in which they are added. Pure."""
    wanted: list[Toxic] = []
    for stream in STREAMS:
        if impairment.delay_ms:
            attributes = {"latency": impairment.delay_ms, "jitter": impairment.jitter_ms}
            wanted.append(_toxic("latency", stream, attributes))
        if impairment.bandwidth_kb_per_s:
            wanted.append(_toxic("bandwidth", stream, {"rate": impairment.bandwidth_kb_per_s}))
    return wanted


def swallow_toxics() -> list[Toxic]:
    """Return toxics that discard all bytes both ways, while connections stay open and new ones are accepted. Pure."""
    return [_toxic("timeout", stream, {"timeout": 0}) for stream in STREAMS]


class Api:
    """Toxiproxy's HTTP API. Each call raises ToxiproxyUnavailable."""

    def __init__(self, port: int) -> None:
        self._url = f"http://{LOOPBACK}:{port}"
        self._session = requests.Session()
        self._session.trust_env = False  # no HTTP proxy in between

    def answers(self) -> bool:
        try:
            return self._session.get(f"{self._url}/version", timeout=TIMEOUT_S).ok
        except requests.RequestException:
            return False

    def add_proxy(self, name: str, listen: str, upstream: str, *, enabled: bool) -> None:
        self._post("/proxies", {"name": name, "listen": listen, "upstream": upstream, "enabled": enabled})

    def enable(self, proxy: str, enabled: bool) -> None:
        """Enable or disable a proxy. A disabled proxy does not listen, and has no connections."""
        self._post(f"/proxies/{proxy}", {"enabled": enabled})

    def add_toxic(self, proxy: str, toxic: Toxic) -> None:
        self._post(f"/proxies/{proxy}/toxics", toxic)

    def remove_toxic(self, proxy: str, toxic: Toxic) -> None:
        self._ask("DELETE", f"/proxies/{proxy}/toxics/{toxic['name']}", None)

    def metrics(self) -> str:
        return self._ask("GET", "/metrics", None)

    def close(self) -> None:
        self._session.close()

    def _post(self, path: str, body: Toxic) -> None:
        self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: Toxic | None) -> str:
        try:
            response = self._session.request(method, f"{self._url}{path}", json=body, timeout=TIMEOUT_S)
        except requests.RequestException as error:
            raise ToxiproxyUnavailable(
                f"Toxiproxy does not answer on {self._url} ({innermost_reason(error)}): see its log"
            ) from None
        if not response.ok:
            raise ToxiproxyUnavailable(
                f"Toxiproxy rejects {method} {path} {body or ''}: {response.text.strip()}; is it {VERSION} or newer?"
            )
        return response.text


def _toxic(kind: str, stream: str, attributes: dict[str, int]) -> Toxic:
    return {"name": f"{kind}-{stream}", "type": kind, "stream": stream, "toxicity": 1.0, "attributes": attributes}


STREAMS = ("upstream", "downstream")  # towards the called broker, and back
SENT = re.compile(
    r'^toxiproxy_proxy_sent_bytes_total\{direction="(\w+)",.*,proxy="(.*)",upstream=".*"\} (\S+)$', re.MULTILINE
)
BEGAN, WRITE_FAILED, ENDED = "Setup connection", "Could not write to destination", "Remove link "


def sent_bytes(metrics: str, log: Iterable[str]) -> Counter[tuple[str, str]]:
    """Return the bytes of ended connections, by (proxy, stream). Pure."""
    sizes = Counter({(proxy, stream): int(float(count)) for stream, proxy, count in SENT.findall(metrics)})
    for event in (json.loads(line) for line in log if WRITE_FAILED in line):
        (stream,) = (stream for stream in STREAMS if event["link"].endswith(stream))
        sizes[event["proxy"], stream] += event["bytes"]
    return sizes


def with_open_connections(log: Iterable[str]) -> set[str]:
    """Return the proxies with connections that have not ended. Pure."""
    connections = Counter[str]()
    for line in log:
        if BEGAN in line:
            connections[json.loads(line)["name"]] += 1
        elif ENDED in line:
            connections[json.loads(line)["proxy"]] -= 1
    return {proxy for proxy, count in connections.items() if count}
