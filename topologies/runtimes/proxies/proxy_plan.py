"""Plans the proxies of a topology's links: where each listens and where it leads. Pure; nothing is opened here.

A link that may call several brokers (a pair at its end, alternates) has a door to each, all with the same impairment.
Each member of an Artemis cluster announces one address to the others and to clients. `Members` selects their doors:

    CALLERS     processes: a broker announces localhost:PORT, which is itself for everyone except the other members. In
                the JVM of each other member, localhost is a loopback address that only it uses, with its doors:

                    broker-1: localhost = 127.0.2.1 ──► 127.0.2.1:PORT (door) ──► 127.0.0.1:PORT (broker-2)
                    broker-3: localhost = 127.0.2.3 ──► 127.0.2.3:PORT (door) ──► 127.0.0.1:PORT (broker-2)
                    a client: localhost ────────────────────────────────────────► 127.0.0.1:PORT (broker-2)

    SHARED      containers: a broker announces its single door
"""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address
from typing import NamedTuple

from topologies.model.impairment import Impairment
from topologies.model.launch import LOOPBACK
from topologies.model.link import Link
from topologies.model.proxied_links import AS_IT_COMES, MemberConnection, cluster_connections, proxied
from topologies.model.topology import Topology

LOCALHOST = "localhost"
FIRST_OF_CALLERS = IPv4Address("127.0.2.1")


class Members(Enum):
    """Who uses a door between members of a cluster."""

    CALLERS = "each caller has a separate door to each member"
    SHARED = "each member has one door, for all callers"


@dataclass(frozen=True)
class ProxyEndpoint:
    """A door, which needs a port: where a link calls one of its brokers.

    ``caller``: the only broker that can use it; '' if any caller can. ``link`` is '' for a cluster's shared door, and
    for the door within a live-backup pair.
    """

    link: str
    broker: str
    caller: str = ""


API = ProxyEndpoint("", "")
"""The port of Toxiproxy's API."""


class DoorUse(NamedTuple):
    """A link's use of a door. ``is_back``: the link's end calls the link's opener."""

    link: str
    is_back: bool = False


@dataclass(frozen=True)
class PlannedProxy:
    """A planned proxy. ``address``: where it listens; '' for the common address.

    ``uses``: one per link, none for the door within a live-backup pair. ``is_announced``: the cluster member behind it
    announces it. ``is_shared``: several brokers call it.
    """

    door: ProxyEndpoint
    port: int
    upstream: str
    impairment: Impairment
    uses: tuple[DoorUse, ...]
    address: str = ""
    is_announced: bool = False
    is_shared: bool = False

    @property
    def name(self) -> str:
        """None of its parts contains a '~', and it is valid in a path of the API."""
        return "~".join(filter(None, (self.door.caller, self.door.link, self.door.broker)))

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(use.link for use in self.uses)

    @property
    def upstream_port(self) -> int:
        return int(self.upstream.rpartition(":")[2])


def proxy_endpoints(topology: Topology, members: Members = Members.CALLERS) -> list[ProxyEndpoint]:
    """Return the ports that a topology's links need: none, or Toxiproxy's and one per door. Pure.

    A caller's separate door has the port number of the broker behind it, at another address.
    """
    proxied_links = proxied(topology.links)
    endpoints = [
        ProxyEndpoint(link.name, broker.name)
        for link in _with_addresses(proxied_links)
        for broker in link.called(topology.brokers)
    ]
    if members is Members.SHARED:
        calls = cluster_connections(proxied_links, topology.brokers)
        endpoints += [ProxyEndpoint("", called) for called in dict.fromkeys(call.called.name for call in calls)]
    return [API, *endpoints] if proxied_links else []


def proxy_plan(
    topology: Topology,
    ports: Mapping[ProxyEndpoint, int],
    upstream: Mapping[tuple[str, str], str],
    members: Members = Members.CALLERS,
) -> tuple[PlannedProxy, ...]:
    """Return the proxies of a topology's links. ``upstream``: address by (broker, listener). Pure."""
    proxied_links = proxied(topology.links)
    plain = (
        PlannedProxy(
            door := ProxyEndpoint(link.name, broker.name),
            ports[door],
            upstream[broker.name, broker.listener(link.carried_by)],
            _impairment_of(link),
            (DoorUse(link.name),),
        )
        for link in _with_addresses(proxied_links)
        for broker in link.called(topology.brokers)
    )
    calls = cluster_connections(proxied_links, topology.brokers)
    if members is Members.SHARED:
        return (*plain, *_shared_ways(calls, ports, upstream))
    return (*plain, *_callers_ways(topology, calls, upstream))


def hosts_file(topology: Topology, broker: str) -> str:
    """Return the hosts file for the JVM of a broker with separate doors; '' for any other broker.

    Pure, except that it reads this machine's name, because programs also look that up.
    """
    calls = cluster_connections(proxied(topology.links), topology.brokers)
    if broker not in {call.caller.name for call in calls}:
        return ""
    return f"{callers_address(topology, broker)} {LOCALHOST}\n{LOOPBACK} {socket.gethostname()}\n"


def callers_address(topology: Topology, broker: str) -> str:
    """Return the address of one caller's doors."""
    return str(FIRST_OF_CALLERS + [member.name for member in topology.brokers].index(broker))


def _with_addresses(links: tuple[Link, ...]) -> list[Link]:
    """Return the links whose opener gets an address, which may differ for each link."""
    return [link for link in links if not link.cluster_name]


def _shared_ways(
    calls: tuple[MemberConnection, ...], ports: Mapping[ProxyEndpoint, int], upstream: Mapping[tuple[str, str], str]
) -> Iterator[PlannedProxy]:
    for called in dict.fromkeys(call.called.name for call in calls):
        every, door = [call for call in calls if call.called.name == called], ProxyEndpoint("", called)
        over = [call for call in every if call.link]
        behind, uses, is_shared = _core(over[0], upstream), tuple(_use(call) for call in over), len(every) > 1
        yield PlannedProxy(door, ports[door], behind, over[0].impairment, uses, "", True, is_shared)


def _callers_ways(
    topology: Topology, calls: tuple[MemberConnection, ...], upstream: Mapping[tuple[str, str], str]
) -> Iterator[PlannedProxy]:
    for call in calls:
        behind = _core(call, upstream)
        address = callers_address(topology, call.caller.name)
        door = ProxyEndpoint(call.link_name, call.called.name, call.caller.name)
        uses = (_use(call),) if call.link else ()
        yield PlannedProxy(door, int(behind.rpartition(":")[2]), behind, call.impairment, uses, address, True)


def _use(call: MemberConnection) -> DoorUse:
    return DoorUse(call.link_name, call.is_back)


def _core(call: MemberConnection, upstream: Mapping[tuple[str, str], str]) -> str:
    return upstream[call.called.name, call.called.listener("core")]


def _impairment_of(link: Link) -> Impairment:
    return link.impairment or AS_IT_COMES
