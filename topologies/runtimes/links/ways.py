"""Which doors do a topology's links have, and where does each lead? Values; nothing is opened here.

A link that may call several brokers (a pair behind its end, alternates) has a door to each, all of them alike. Members
of an Artemis cluster each announce one address, to the others and to clients; what doors they have is `Members`:

    CALLERS     processes: a broker announces localhost:PORT, which is its own to everyone but the other members. To
                the JVM of each of those, localhost is an address of loopback for it alone, with its doors:

                    broker-1: localhost = 127.0.2.1 ──► 127.0.2.1:PORT (door) ──► 127.0.0.1:PORT (broker-2)
                    broker-3: localhost = 127.0.2.3 ──► 127.0.2.3:PORT (door) ──► 127.0.0.1:PORT (broker-2)
                    a client: localhost ────────────────────────────────────────► 127.0.0.1:PORT (broker-2)

    SHARED      containers: a broker announces the one door before it
"""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address
from typing import NamedTuple

from topologies.artemis.links import ClusterLink
from topologies.brokers import AnyBroker
from topologies.cluster_calls import AS_IT_COMES, Call, cluster_calls
from topologies.impairment import Impairment
from topologies.links import Link
from topologies.model import Topology
from topologies.proxied import ends_of, proxied
from topologies.runtimes.links.toxiproxy import LOOPBACK

LOCALHOST = "localhost"
FIRST_OF_CALLERS = IPv4Address("127.0.2.1")


class Members(Enum):
    """Whose a door between members of a cluster is."""

    CALLERS = "each caller has a door of its own to each member"
    SHARED = "each member has one door, for all callers"


@dataclass(frozen=True)
class Door:
    """What a port is chosen for: where a link calls one of its brokers.

    ``caller``: the only broker that finds it, '' where whoever calls comes in. Of a cluster's doors, ``link`` is '' for
    one that all callers share, and for one between the two of a pair.
    """

    link: str
    broker: str
    caller: str = ""


API = Door("", "")
"""Toxiproxy's own port."""


class Use(NamedTuple):
    """What a caller goes through a door for. ``is_back``: the link's opener is called by its end."""

    link: str
    is_back: bool


@dataclass(frozen=True)
class Way:
    """One proxy, as it is to be. ``address``: where it listens; '' for where all the others do.

    ``is_announced``: by the broker behind it, a member of a cluster. ``uses``: by caller, of that alone.
    """

    door: Door
    port: int
    upstream: str
    impairment: Impairment
    address: str = ""
    is_announced: bool = False
    uses: tuple[tuple[str, Use], ...] = ()

    @property
    def name(self) -> str:
        """None of its parts has a '~', and a path of the API takes it."""
        return "~".join(filter(None, (self.door.caller, self.door.link, self.door.broker)))

    @property
    def is_shared(self) -> bool:
        """Whether it takes a look at a caller to tell what it is used for."""
        return self.is_announced and not self.door.caller

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(use.link for _, use in self.uses) if self.is_announced else (self.door.link,)

    def used_by(self, caller: str) -> Use | None:
        """None for one who is on no link."""
        if not self.is_announced:
            return Use(self.door.link, is_back=False)
        return dict(self.uses).get(self.door.caller or caller)

    @property
    def upstream_port(self) -> int:
        return int(self.upstream.rpartition(":")[2])


def doors(topology: Topology, members: Members = Members.CALLERS) -> list[Door]:
    """What needs a port for a topology's links: none, or Toxiproxy and each door. Pure.

    A caller's own door has the port of the broker behind it, at another address.
    """
    through = proxied(topology.links)
    found = [
        Door(link.name, each.name) for link in _with_addresses(through) for each in ends_of(link, topology.brokers)
    ]
    if members is Members.SHARED:
        calls = cluster_calls(through, topology.brokers)
        found += [Door("", called) for called in dict.fromkeys(call.called.name for call in calls)]
    return [API, *found] if through else []


def ways(
    topology: Topology,
    ports: Mapping[Door, int],
    upstream: Mapping[tuple[str, str], str],
    members: Members = Members.CALLERS,
) -> tuple[Way, ...]:
    """``upstream``: address by (broker, listener). Pure."""
    through = proxied(topology.links)
    plain = (
        Way(door := Door(link.name, each.name), ports[door], upstream[each.name, _listener(link, each)], _of(link))
        for link in _with_addresses(through)
        for each in ends_of(link, topology.brokers)
    )
    calls = cluster_calls(through, topology.brokers)
    if members is Members.SHARED:
        return (*plain, *_shared_ways(calls, ports, upstream))
    return (*plain, *_callers_ways(topology, calls, upstream))


def hosts_file(topology: Topology, broker: str) -> str:
    """What the JVM of a broker that has doors of its own takes for names; '' for one that has none. Pure but for the
    name of this machine, which its programs look up too."""
    calls = cluster_calls(proxied(topology.links), topology.brokers)
    if broker not in {call.caller.name for call in calls}:
        return ""
    return f"{callers_address(topology, broker)} {LOCALHOST}\n{LOOPBACK} {socket.gethostname()}\n"


def callers_address(topology: Topology, broker: str) -> str:
    """Where the doors of one caller are."""
    return str(FIRST_OF_CALLERS + [each.name for each in topology.brokers].index(broker))


def _with_addresses(links: tuple[Link, ...]) -> list[Link]:
    """Those whose opener is told an address to call, which may be another for each link."""
    return [link for link in links if not isinstance(link, ClusterLink)]


def _shared_ways(
    calls: tuple[Call, ...], ports: Mapping[Door, int], upstream: Mapping[tuple[str, str], str]
) -> Iterator[Way]:
    for called in dict.fromkeys(call.called.name for call in calls):
        over, door = [call for call in calls if call.called.name == called and call.link], Door("", called)
        uses = tuple(_use(call) for call in over)
        yield Way(door, ports[door], _core(over[0], upstream), over[0].impairment, "", True, uses)


def _callers_ways(
    topology: Topology, calls: tuple[Call, ...], upstream: Mapping[tuple[str, str], str]
) -> Iterator[Way]:
    for call in calls:
        behind = _core(call, upstream)
        address = callers_address(topology, call.caller.name)
        door = Door(call.link_name, call.called.name, call.caller.name)
        uses = (_use(call),) if call.link else ()
        yield Way(door, int(behind.rpartition(":")[2]), behind, call.impairment, address, True, uses)


def _use(call: Call) -> tuple[str, Use]:
    return call.caller.name, Use(call.link_name, call.is_back)


def _core(call: Call, upstream: Mapping[tuple[str, str], str]) -> str:
    return upstream[call.called.name, call.called.listener("core")]


def _of(link: Link) -> Impairment:
    return link.impairment or AS_IT_COMES


def _listener(link: Link, called: AnyBroker) -> str:
    return "openwire" if link.kind == "networkConnector" else called.listener("amqp")
