"""Topologies whose brokers have different roles: hub and spokes, concentrators, trees, rings, chains."""

from itertools import pairwise

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.networks.one_or_two_brokers import clients, numbered, pair
from topologies.classic.product import CLASSIC
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.topology import Topology
from topologies.model.validity import require_between

SPOKE_TO_SPOKE_HOPS = 2
TIER_HOPS = 2  # from the lowest tier over the middle one to the cloud
MOST_BROKERS = 50


def hub_and_spoke(spokes: int = 4, hub_standby: bool = False) -> Topology:
    """The hub opens a duplex link to each spoke; consumers are at the last spoke, producers at the others.

               spoke-1
                  |
    spoke-4 ---- hub ---- spoke-2
                  |
               spoke-3
    """
    require_between("hub and spoke", 2, MOST_BROKERS, spokes=spokes)
    hub = pair("hub") if hub_standby else (Broker("hub"),)
    rim = numbered("spoke", spokes)
    links = tuple(_both_ways(hub[0], spoke, SPOKE_TO_SPOKE_HOPS) for spoke in rim)
    name = f"hub-{'pair-' if hub_standby else ''}and-{spokes}-spokes"
    return Topology(name, (*hub, *rim), links, clients(rim[:-1], rim[-1:]), CLASSIC)


def concentrator(edges: int = 3, centres: int = 2) -> Topology:
    """Many connections at the edge, few central brokers: each edge broker opens a one-way link to each central broker.

    producers --> edge-1   edge-2   edge-3
                     \\  \\  /    \\  /  /
                      centre-1   centre-2 --> consumers
    """
    require_between("concentrator", 1, MOST_BROKERS, edges=edges, centres=centres)
    outer, inner = numbered("edge", edges), numbered("centre", centres)
    links = tuple(NetworkConnector(opened_by=edge, to=central) for edge in outer for central in inner)
    return Topology(f"concentrator-{edges}-to-{centres}", (*inner, *outer), links, clients(outer, inner), CLASSIC)


def tiered_concentrator(edges: int = 4, gateways: int = 2, centres: int = 1) -> Topology:
    """Fewer brokers in each tier, with one-way links: on-premises edges, on-premises gateways, then the cloud.

    on-premises  edge-1   edge-2   edge-3   edge-4  <-- producers
                      each edge to each gateway
    on-premises       gateway-1   gateway-2
                               \\   /
    cloud                     centre-1 --> consumers
    """
    require_between("tiered concentrator", 1, MOST_BROKERS, edges=edges, gateways=gateways, centres=centres)
    outer, middle = numbered("edge", edges, "on-premises"), numbered("gateway", gateways, "on-premises")
    inner = numbered("centre", centres, "cloud")
    steps = [(edge, gateway) for edge in outer for gateway in middle]
    steps += [(gateway, central) for gateway in middle for central in inner]
    links = tuple(
        NetworkConnector(opened_by=lower, to=upper, message_ttl=TIER_HOPS, consumer_ttl=TIER_HOPS)
        for lower, upper in steps
    )
    name = f"tiered-concentrator-{edges}-{gateways}-{centres}"
    return Topology(name, (*inner, *middle, *outer), links, clients(outer, inner), CLASSIC)


def tree(depth: int = 2, branches: int = 2) -> Topology:
    """Each broker opens a duplex link to each of its children; clients connect to the leaves.

                     root
                   /      \\
              node-1      node-2
              /   \\       /    \\
         node-1-1  …   node-2-1  …
    """
    require_between("tree", 1, 5, depth=depth)
    require_between("tree", 1, 10, branches=branches)
    require_between("tree", 1, MOST_BROKERS, brokers=sum(branches**tier for tier in range(depth + 1)))
    tiers: list[tuple[Broker, ...]] = [(Broker("root"),)]
    links: list[NetworkConnector] = []
    for _ in range(depth):
        children = [(parent, child) for parent in tiers[-1] for child in _children(parent, branches)]
        links += [_both_ways(parent, child, 2 * depth) for parent, child in children]
        tiers.append(tuple(child for _, child in children))
    brokers = tuple(broker for tier in tiers for broker in tier)
    return Topology(f"tree-of-{len(brokers)}", brokers, tuple(links), clients(tiers[-1], tiers[-1]), CLASSIC)


def ring(brokers: int = 4, ttl: int = 0, consumer_ttl: int = 0) -> Topology:
    """A one-way ring, to study TTLs: with 0 messages get all the way around, with less they miss the last brokers.

    producers --> broker-1 --> broker-2 --> consumers
                     ^            |
                     |            v
    consumers <-- broker-4 <-- broker-3 --> consumers
    """
    require_between("ring", 3, MOST_BROKERS, brokers=brokers)
    round_ = numbered("broker", brokers)
    hops = ttl or brokers - 1
    links = tuple(
        NetworkConnector(opened_by=here, to=there, message_ttl=hops, consumer_ttl=consumer_ttl or hops)
        for here, there in zip(round_, (*round_[1:], round_[0]), strict=True)
    )
    name = f"ring-of-{brokers}" + _limited("ttl", ttl) + _limited("consumer-ttl", consumer_ttl)
    return Topology(name, round_, links, clients(round_[:1], round_[1:]), CLASSIC)


def chain(links: int = 1, bridge_temp_destinations: bool = True, static_queue: str = "") -> Topology:
    """Duplex links in a row between producers and consumers, to study return traffic such as replies.

    producers <--> broker-1 <--------> broker-2 <--> consumers
    """
    require_between("chain", 1, MOST_BROKERS - 1, links=links)
    row = tuple(
        replace_explicitly(broker, advisory_support=not static_queue) for broker in numbered("broker", links + 1)
    )
    carried = (f"queue://{static_queue}",) if static_queue else ()
    joined = tuple(
        replace_explicitly(
            _both_ways(here, there, links),
            bridge_temp_destinations=bridge_temp_destinations,
            statically_included_destinations=carried,
        )
        for here, there in pairwise(row)
    )
    name = (
        f"chain-of-{links + 1}"
        + "-no-temp-destinations" * (not bridge_temp_destinations)
        + "-no-advisories" * bool(static_queue)
    )
    return Topology(name, row, joined, clients(row[:1], row[-1:]), CLASSIC)


def _limited(limit: str, links: int) -> str:
    """Return a part of a topology's name; empty for 0."""
    return f"-{limit}-{links if links > 0 else 'unlimited'}" if links else ""


def _both_ways(opener: Broker, to: Broker, hops: int) -> NetworkConnector:
    return NetworkConnector(opened_by=opener, to=to, duplex=True, message_ttl=hops, consumer_ttl=hops)


def _children(parent: Broker, count: int) -> tuple[Broker, ...]:
    return numbered("node" if parent.name == "root" else parent.name, count)
