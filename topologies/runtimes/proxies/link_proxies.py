"""Puts proxies into links: one Toxiproxy per run, with a proxy for each broker that each link may call.

    opener ──► proxy ──► broker          clients ──► broker: never through a proxy

A proxy's listening address, its *door*, is on loopback for local processes, and on the brokers' network for containers;
`proxy_plan` lists them. A door is open while its broker listens. If a proxy accepted callers without a broker and then
closed their connections, some would assume a connection that never existed, and not retry (AMQP connections of Artemis
2.44.0, ``masterslave:`` of Classic 5.18.3).
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from topologies.model.impairment import Impairment
from topologies.model.launch import LOOPBACK
from topologies.model.link import Link
from topologies.model.proxied_links import proxied
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.handle import Handle
from topologies.runtimes.proxies.listening import listening_ports
from topologies.runtimes.proxies.proxy_plan import LOCALHOST, PlannedProxy, ProxyEndpoint
from topologies.runtimes.proxies.toxiproxy import (
    STREAMS,
    Api,
    ToxiproxyUnavailable,
    find_toxiproxy,
    sent_bytes,
    swallow_toxics,
    toxics,
    with_open_connections,
)

START_TIMEOUT_S = 15.0
END_TIMEOUT_S = 5.0
COUNT_TIMEOUT_S = 6.0  # longer than any delay and its jitter
POLL_S = 0.05
LOOK_EVERY_S = 0.1
LOG_LINES = 5
log = logging.getLogger("brokerbench")


class Carried(NamedTuple):
    """Bytes that reached the other end of a link: from its opener, and to it.

    They are TCP payload, without TCP headers.
    """

    forth_bytes: int
    back_bytes: int


@dataclass(frozen=True)
class Place:
    """Where the doors are. ``host``: the host name that links use; ``address``: the listening address there.

    ``listening``: returns the ports at which brokers currently accept connections; raises OSError.
    """

    listening: Callable[[], Collection[int]] = listening_ports
    host: str = LOOPBACK
    address: str = LOOPBACK


def why_no_proxies(topology: Topology, runtime: str) -> str:
    """Return why links cannot use the proxies that they need, with the next step; '' if they can."""
    through = proxied(topology.links)
    if not through:
        return ""
    if brokers := why_not(runtime, Capability.PROXIES_LINKS):
        return (
            f"link {through[0].name!r} goes through Toxiproxy, which works with brokers that a run starts, not with"
            f" {brokers}; use --runtime containers or processes, or set no impairments of links"
        )
    try:
        find_toxiproxy(through[0].name)
    except ToxiproxyUnavailable as error:
        return str(error)
    return ""


def find_for(topology: Topology) -> Path | None:
    """Find Toxiproxy's server; None if no link needs it. Raises ToxiproxyUnavailable."""
    through = proxied(topology.links)
    return find_toxiproxy(through[0].name) if through else None


class LinkProxies:
    """The proxies of a run. `close` may be called at any time and repeatedly."""

    def __init__(
        self, server: Handle, api_port: int, proxies: Sequence[PlannedProxy], place: Place | None = None
    ) -> None:
        """Prepare the proxies. ``server``: Toxiproxy below a guard, not yet started. ``place``: loopback by default."""
        self._server, self._proxies = server, tuple(proxies)
        self._place = place or Place()
        self._api = Api(api_port)
        self._open: set[str] = set()
        self._cut: set[str] = set()  # links whose doors stay closed
        self._shaped: dict[str, Impairment] = {}  # by door: the impairment set during the load
        self._setting = threading.Lock()  # protects the doors: the background thread and cuts both set them
        self._shut: dict[str, str] = {}  # why a door cannot be set, by its name
        self._closed = threading.Event()

    def __repr__(self) -> str:
        return f"<LinkProxies of {len(self._proxies)} ways, alive={self._server.alive}>"

    @property
    def addresses(self) -> dict[tuple[str, str], str]:
        """The door that a link calls instead of a broker, by (link, broker)."""
        return {
            (proxy.door.link, proxy.door.broker): f"{self._place.host}:{proxy.port}"
            for proxy in self._proxies
            if not proxy.is_announced
        }

    @property
    def announced(self) -> dict[str, str]:
        """The addresses that cluster members announce to each other and to clients."""
        return {
            proxy.door.broker: f"{LOCALHOST if proxy.door.caller else self._place.host}:{proxy.port}"
            for proxy in self._proxies
            if proxy.is_announced
        }

    @property
    def pid(self) -> int | None:
        return self._server.pid

    def proxy_endpoint_of(self, link: Link) -> tuple[str, int] | None:
        """Return host and port of the door to a link's end, as seen from this machine; None for a direct link."""
        end = link.to.name
        wanted = [ProxyEndpoint(link.name, end), ProxyEndpoint(link.name, end, link.opened_by.name)]
        wanted += [ProxyEndpoint("", end)] if link.cluster_name else []
        places = [
            (proxy.address or LOOPBACK, proxy.port) for door in wanted for proxy in self._proxies if proxy.door == door
        ]
        return places[0] if places else None

    def start(self) -> None:
        """Return when all proxies exist. Raises ToxiproxyUnavailable or OSError."""
        self._server.start()
        if self._closed.is_set():  # in between, by a signal handler or another greenlet, which may have missed it
            self._server.discard()
            raise ToxiproxyUnavailable("Toxiproxy is not started: the run is closed")
        end = time.monotonic() + START_TIMEOUT_S
        while not self._api.answers():
            if not self._server.alive or time.monotonic() > end:
                raise ToxiproxyUnavailable(f"Toxiproxy does not start; {self._log_end()}")
            time.sleep(POLL_S)
        for proxy in self._proxies:
            listen = f"{proxy.address or self._place.address}:{proxy.port}"
            self._api.add_proxy(proxy.name, listen, proxy.upstream, enabled=False)
            for toxic in toxics(proxy.impairment):
                self._api.add_toxic(proxy.name, toxic)
        self._place.listening()  # raises if the kernel gives no answer: no door would ever open
        threading.Thread(target=self._keep_proxies, name="link-doors", daemon=True).start()

    def _keep_proxies(self) -> None:
        """Set the doors until closed; a door that could not be set is retried."""
        while not self._closed.wait(LOOK_EVERY_S):
            with suppress(OSError):
                self._set_doors(self._place.listening())

    def cut(self, link: str) -> None:
        """Close the link's doors: its connections end, new ones are rejected. Raises RuntimeFailed or OSError."""
        self._own_proxies(link)
        self._cut.add(link)
        self._set_doors(self._place.listening())

    def mend(self, link: str) -> None:
        """Open the doors of a link that was cut. Raises OSError."""
        self._cut.discard(link)
        self._set_doors(self._place.listening())

    def swallow(self, link: str) -> None:
        """Discard everything that the link's connections carry, both ways; they stay open. Raises RuntimeFailed."""
        for proxy in self._own_proxies(link):
            for toxic in swallow_toxics():
                self._api.add_toxic(proxy.name, toxic)

    def stop_swallowing(self, link: str) -> None:
        """Stop discarding. The link's connections, which have lost bytes, end. Raises RuntimeFailed or OSError."""
        self.cut(link)
        for proxy in self._own_proxies(link):
            for toxic in swallow_toxics():
                self._api.remove_toxic(proxy.name, toxic)
        self.mend(link)

    def shape(self, link: str, impairment: Impairment | None) -> None:
        """Replace the impairment of a link; None restores its original impairment.

        Connections stay open. Raises RuntimeFailed or ToxiproxyUnavailable.
        """
        for proxy in self._own_proxies(link):
            before = self._shaped.get(proxy.name, proxy.impairment)
            wanted = proxy.impairment if impairment is None else impairment
            for toxic in toxics(before):
                self._api.remove_toxic(proxy.name, toxic)
            self._shaped[proxy.name] = Impairment()  # if the next step fails, there is nothing to remove
            for toxic in toxics(wanted):
                self._api.add_toxic(proxy.name, toxic)
            self._shaped[proxy.name] = wanted

    def _own_proxies(self, link: str) -> list[PlannedProxy]:
        """Return the proxies of the link, at least one, used by no other link. Raises RuntimeFailed."""
        own_proxies = [proxy for proxy in self._proxies if link in proxy.links]
        if not own_proxies:
            raise RuntimeFailed(f"link {link!r} has no proxy, so it cannot have a fault: add --link '*:delay=0ms'")
        if shared := sorted({name for proxy in own_proxies for name in proxy.links} - {link}):
            raise RuntimeFailed(
                f"link {link!r} cannot have a fault alone: it shares the proxy of a cluster member with"
                f" {', '.join(shared)}; use --runtime processes, where each link has a separate proxy"
            )
        return own_proxies

    def is_shut(self, link: str) -> bool:
        """Return whether all doors of the link are closed."""
        return all(proxy.name not in self._open for proxy in self._proxies if link in proxy.links)

    def _set_doors(self, listening: Collection[int]) -> None:
        with self._setting:
            open_to = () if self._closed.is_set() else listening
            for proxy in self._proxies:
                wanted = proxy.upstream_port in open_to and self._cut.isdisjoint(proxy.links)
                if wanted != (proxy.name in self._open):
                    self._set_door(proxy, wanted)

    def _set_door(self, proxy: PlannedProxy, wanted: bool) -> None:
        """Set one door. A failure does not affect other doors, and each new reason is logged once."""
        try:
            self._api.enable(proxy.name, wanted)
        except ToxiproxyUnavailable as error:
            if not self._closed.is_set() and self._shut.get(proxy.name) != str(error):
                self._shut[proxy.name] = str(error)
                links = ", ".join(dict.fromkeys(proxy.links)) or "of a pair"
                log.warning("link %s: its proxy to %s cannot be set: %s", links, proxy.door.broker, error)
            return
        (self._open.add if wanted else self._open.discard)(proxy.name)
        self._shut.pop(proxy.name, None)

    def loss(self) -> str:
        """Return a sentence with the end of its log if Toxiproxy ended unexpectedly; '' while it runs."""
        if self._closed.is_set() or self._server.alive:
            return ""
        return f"Toxiproxy, which every link goes through, ended unexpectedly; {self._log_end()}"

    def _log_end(self) -> str:
        lines = " | ".join(self._server.log_lines()[-LOG_LINES:]) or "it is empty"
        return f"its log {self._server.log} ends: {lines}"

    def carried_at_end(self) -> dict[str, Carried]:
        """Close every door for good; return the bytes that each link has carried in total.

        A link is left out if others share its door, or if one of its connections does not end in time. Raises
        ToxiproxyUnavailable or OSError.
        """
        self.leave()
        self._set_doors(())
        end = time.monotonic() + COUNT_TIMEOUT_S
        while (still_open := with_open_connections(self._whole_log())) and time.monotonic() < end:
            time.sleep(POLL_S)
        sent = sent_bytes(self._api.metrics(), self._whole_log())
        totals, unknown = dict[str, Carried](), set[str]()
        for proxy in self._proxies:
            if proxy.is_shared or proxy.name in still_open:
                unknown |= {*proxy.links}
            for use in proxy.uses:
                sizes = [sent[proxy.name, stream] for stream in (STREAMS[::-1] if use.is_back else STREAMS)]
                before = totals.get(use.link, Carried(0, 0))
                totals[use.link] = Carried(before.forth_bytes + sizes[0], before.back_bytes + sizes[1])
        return {link: carried for link, carried in totals.items() if link not in unknown}

    def _whole_log(self) -> list[str]:
        """Return all complete lines of the log. Raises OSError."""
        return self._server.log.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]

    def leave(self) -> None:
        """Mark the run as ending, so that ending processes are expected."""
        self._closed.set()

    def close(self) -> None:
        self.leave()
        self._server.kill()
        self._server.wait(END_TIMEOUT_S)
        self._api.close()
