"""Is every link of a topology really up? A proof, or an error that tells what is missing where.

A bridge's MBean is registered before the far side is ready and before its subscriptions exist, so it proves nothing by
itself. A link counts as proven when

* the opening broker shows the bridge, with the right broker at its far end;
* the far broker shows its end: the duplex bridge, or the opener's login;
* the broker that messages go to holds this link's subscription to its consumer advisories, by which the other hears
  where consumers are; for a duplex link that is so on both sides.

Whether messages really cross is for a canary message to show, after this.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from topologies.artemis.links import BrokerConnection
from topologies.artemis.router import Router
from topologies.endpoints import ManagementEndpoint
from topologies.links import Link, NetworkConnector
from topologies.management import artemis_links
from topologies.management.artemis import start_connection
from topologies.management.classic import LinkEnd, bridge_client_id, end_of
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.management.views import on_one_store, serving
from topologies.model import Topology

TIMEOUT_S = 60.0
POLL_S = 0.25
ANSWER_TIMEOUT_S = 3.0
LOG_LINES = 5
LINE_LIMIT = 600  # the reason stands at the end, after long names of threads
DEMAND = "ActiveMQ.Advisory.Consumer."
TELLING = (" WARN ", " ERROR ", "Exception", "stopped", "shutdown", "denied", "invalid")


AnEnd = TypeVar("AnEnd")


class LinksNotProven(Exception):
    """Links that did not come up in time: names each, what its ends lack, and what their logs say."""


class Managed(Protocol):
    """What is needed of a runtime (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Raises ManagementFailed when it has none."""

    def log_path(self, broker: str) -> Path | None: ...


@dataclass(frozen=True)
class Doubt:
    """A link that is not proven, and what is missing."""

    link: Link
    missing: tuple[str, ...]


def prove_links(
    runtime: Managed, topology: Topology, *, timeout_s: float = TIMEOUT_S, progress: Callable[[str], None] | None = None
) -> float:
    """Wait until every link is proven; return the seconds it took. Raises LinksNotProven after ``timeout_s``.

    Where a broker at a link's end cannot be asked, no link is: only messages can show then that they are up.
    """
    began = time.monotonic()
    if silent := _without_management(runtime, topology):
        if progress:
            progress(f"links are left to the canaries to prove: no management address of {', '.join(silent)}")
        return 0.0
    _start_connections(runtime, topology)
    doubts_now = _artemis_doubts if topology.flavour == "artemis" else _classic_doubts
    while doubts := doubts_now(runtime, topology):
        if time.monotonic() - began >= timeout_s:
            raise LinksNotProven(_told(doubts, timeout_s, runtime))
        time.sleep(POLL_S)
    took = time.monotonic() - began
    if progress:
        progress(f"links proven after {took:.1f} s: {len(topology.links)}")
    return took


def _classic_doubts(runtime: Managed, topology: Topology) -> list[Doubt]:
    return doubtful(topology.links, _ends(runtime, topology, end_of))


def _artemis_doubts(runtime: Managed, topology: Topology) -> list[Doubt]:
    ends = _ends(runtime, topology, artemis_links.end_of)
    return [Doubt(link, why) for link in topology.links if (why := artemis_links.missing(link, ends))]


def _start_connections(runtime: Managed, topology: Topology) -> None:
    """Those AMQP connections that do not start by themselves. Raises ManagementFailed."""
    for link in topology.links:
        if isinstance(link, BrokerConnection) and not link.auto_start:
            with closing(Jolokia(runtime.management(link.opened_by.name), ANSWER_TIMEOUT_S)) as agent:
                start_connection(agent, link.name)


def doubtful(links: Sequence[Link], ends: Mapping[str, LinkEnd]) -> list[Doubt]:
    """The links that their ends, by broker, do not prove. Pure."""
    classic = [link for link in links if isinstance(link, NetworkConnector)]
    return [Doubt(link, missing) for link in classic if (missing := _missing(link, ends))]


def _missing(link: NetworkConnector, ends: Mapping[str, LinkEnd]) -> tuple[str, ...]:
    opener, far = ends[link.opened_by.name], ends[link.to.name]
    if failures := tuple(end.failure for end in (opener, far) if end.failure):
        return failures
    found = [
        _bridge_missing(link, opener, far),
        _far_end_missing(link, far, opener.broker),
        _demand_missing(link, far, opener),
    ]
    if link.duplex:
        found.append(_demand_missing(link, opener, far))
    return tuple(filter(None, found))


def _bridge_missing(link: NetworkConnector, opener: LinkEnd, far: LinkEnd) -> str:
    own = [bridge.remote_broker for bridge in opener.bridges if bridge.connector == link.name]
    if far.broker in own:
        return ""
    instead = f" (it shows one to {', '.join(own)})" if own else ""
    return f"{opener.broker} shows no bridge to {far.broker}{instead}"


def _far_end_missing(link: NetworkConnector, far: LinkEnd, opener: str) -> str:
    if link.duplex:
        duplex = any(bridge.created_by_duplex and bridge.remote_broker == opener for bridge in far.bridges)
        return "" if duplex else f"{far.broker} shows no duplex bridge from {opener}"
    logged_in = bridge_client_id(link.name, opener, link.client_id_token) in far.client_ids
    return "" if logged_in else f"{far.broker} shows no login of {opener}"


def _demand_missing(link: NetworkConnector, holder: LinkEnd, listener: LinkEnd) -> str:
    """The subscription at ``holder`` by which ``listener`` hears of its consumers; static bridges need none."""
    if link.static_bridge:
        return ""
    client_id = _demand_client_id(link, holder.broker, listener.broker)
    for subscription in holder.subscriptions:
        if subscription.client_id == client_id and subscription.destination.startswith(DEMAND):
            return ""
    return f"{holder.broker} has no subscription by which {listener.broker} would hear of its consumers"


def _demand_client_id(link: NetworkConnector, holder: str, listener: str) -> str:
    """One-way: the opener's own login. Duplex: each end subscribes for the other, within its own broker."""
    if not link.duplex:
        return bridge_client_id(link.name, listener, link.client_id_token)
    return link.client_id_token.join((link.name, listener, "inbound", holder))


def _at_ends(topology: Topology) -> dict[str, None]:
    """The brokers at an end of a link, in the order of the links. A router is not asked: its callers are."""
    ends = (end for link in topology.links for end in (link.opened_by, link.to))
    return dict.fromkeys(end.name for end in ends if not isinstance(end, Router))


def _without_management(runtime: Managed, topology: Topology) -> list[str]:
    silent = []
    for broker in _at_ends(topology):
        try:
            runtime.management(broker)
        except ManagementFailed:
            silent.append(broker)
    return silent


def _ends(runtime: Managed, topology: Topology, end: Callable[[Jolokia], AnEnd]) -> dict[str, AnEnd]:
    """What each broker at an end of a link shows now; of a pair, the one that serves, or the active if none does."""
    ends = {}
    for broker in _at_ends(topology):
        alone = len(on_one_store(topology, broker)) == 1
        asked = broker if alone else serving(runtime, topology, broker, ANSWER_TIMEOUT_S) or broker
        with closing(Jolokia(runtime.management(asked), ANSWER_TIMEOUT_S)) as agent:
            ends[broker] = end(agent)
    return ends


def _told(doubts: Sequence[Doubt], timeout_s: float, runtime: Managed) -> str:
    lines = [
        f"{len(doubts)} of the links did not come up within {timeout_s:g} s; see the brokers' logs, or allow more time"
    ]
    for doubt in doubts:
        link = doubt.link
        lines.append(f"link {link.name!r} from {link.opened_by.name} to {link.to.name}: {'; '.join(doubt.missing)}")
        for broker in (link.opened_by.name, link.to.name):
            logged = relevant(_log(runtime.log_path(broker)), link)
            lines += [f"    {broker} logs: {line}" for line in logged]
    return "\n".join([*lines, *_unread(doubts, runtime)])


def _unread(doubts: Sequence[Doubt], runtime: Managed) -> list[str]:
    """What to look at by hand, as no log can be read for the reason: those of brokers that are not ours."""
    ends = dict.fromkeys(name for doubt in doubts for name in (doubt.link.opened_by.name, doubt.link.to.name))
    if unread := [broker for broker in ends if runtime.log_path(broker) is None]:
        return [
            f"the logs of {', '.join(unread)} cannot be read from here: check the user and password that each link logs"
            " in with and, over TLS, the certificates that its opener trusts"
        ]
    return []


def relevant(log: Sequence[str], link: Link) -> list[str]:
    """The last log lines that name the link, or that tell trouble with a bridge; each one once. Pure."""
    about = (link.name, "bridge", "Network connection", "Security")
    lines = [line for line in log if any(word in line for word in about) and any(sign in line for sign in TELLING)]
    named = [line for line in lines if link.name in line]
    return [line[:LINE_LIMIT] for line in dict.fromkeys((named or lines)[-LOG_LINES:])]


def _log(path: Path | None) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return []
