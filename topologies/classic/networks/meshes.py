"""Topologies that link every broker with every other: meshes, meshes of pairs and meshes across regions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import MulticastDiscovery, NetworkConnector, StaticDiscovery
from topologies.classic.networks.one_or_two_brokers import clients, numbered, pair
from topologies.classic.policies import DEFAULT_POLICIES, BridgeFilter
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import DEFAULT_CONNECTORS
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid, require_between, require_choice

# A mesh has a direct link between any two brokers, so one hop reaches every consumer.
# consumer_ttl 1 (AMQ-4607): if demand travelled further, each consumer would be known by several routes, and messages
# would circulate.
# message_ttl 1: on a second hop a topic's message reaches brokers that already have it. Their subscribers' audit hides
# this for at most 64 producers: with 120 producers on 5.18.3 and message_ttl 2, 6 to 9 % of 7,200 messages came twice.
# The price: a queue's message waits on its broker if the consumers moved to another broker, until one returns.
# Scenarios that study this can use mesh(message_ttl=2), or give the queue a BridgeFilter that replays.
MESH_HOPS = 1
MOST_IN_A_MESH = 50  # brokers; these already have 1,225 links
# A common networkTTL between regions; the longest route that visits no broker twice has five links.
REGION_HOPS = 5
DISCOVERIES: dict[str, StaticDiscovery | MulticastDiscovery] = {
    "static": StaticDiscovery(),
    "multicast": MulticastDiscovery(),
    "group": MulticastDiscovery(group="default"),
}


# Brokers send their OpenWire clients the list of brokers, and rebalance them when a broker joins or leaves.
REBALANCING = tuple(
    replace(
        connector,
        update_cluster_clients=True,
        rebalance_cluster_clients=True,
        update_cluster_clients_on_remove=True,
    )
    if connector.protocol == "openwire"
    else connector
    for connector in DEFAULT_CONNECTORS
)


# A queue's messages may return to the broker that they came from, once no consumer is left where they are.
REPLAYING = tuple(
    replace(policy, bridge_filter=BridgeFilter(replay_when_no_consumers=True)) if policy.kind == "queue" else policy
    for policy in DEFAULT_POLICIES
)


def mesh(
    brokers: int = 3,
    message_ttl: int = MESH_HOPS,
    consumer_ttl: int = MESH_HOPS,
    discovery: str = "static",
    rebalance: bool = False,
    replay: bool = False,
    conduit: bool = True,
) -> Topology:
    """Each pair of brokers shares one duplex link, opened by the earlier broker; clients connect to any broker.

    broker-1 ---- broker-2
          \\        /
           broker-3
    """
    require_between("mesh", 2, MOST_IN_A_MESH, brokers=brokers)
    require_choice("mesh", tuple(DISCOVERIES), discovery=discovery)
    if replay and message_ttl == 1:
        rule = "a message that returns has already crossed a link: write message_ttl=2 or more"
        raise TopologyInvalid(f"mesh: replay=True with message_ttl=1, but {rule}", field="replay")
    connectors = REBALANCING if rebalance else DEFAULT_CONNECTORS
    policies = REPLAYING if replay else DEFAULT_POLICIES
    brokers_alike = numbered("broker", brokers)
    members = tuple(replace(broker, connectors=connectors, policies=policies) for broker in brokers_alike)
    links = _between_all(members, message_ttl, consumer_ttl, conduit=conduit)
    name = (
        f"mesh-of-{brokers}"
        + ("" if discovery == "static" else f"-{discovery}")
        + "-rebalanced" * rebalance
        + "-replaying" * replay
        + "-not-conduit" * (not conduit)
    )
    discovering_links = tuple(replace(link, discovery=DISCOVERIES[discovery]) for link in links)
    if discovery == "group":  # each broker finds every other, so there are two links between two brokers
        discovering_links = tuple(
            replace(link, duplex=False, opened_by=opened_by, to=to, name="")
            for link in discovering_links
            for opened_by, to in ((link.opened_by, link.to), (link.to, link.opened_by))
        )
    return Topology(name, members, discovering_links, clients(members, members), CLASSIC)


def mesh_of_pairs(pairs: int = 3) -> Topology:
    """A mesh of active/standby pairs; each link tries the active broker, then the standby.

    broker-1 (+ standby) ---- broker-2 (+ standby)
                    \\        /
               broker-3 (+ standby)
    """
    require_between("mesh of pairs", 2, MOST_IN_A_MESH // 2, pairs=pairs)
    corners = [pair(f"broker-{n}") for n in range(1, pairs + 1)]
    members = tuple(broker for corner in corners for broker in corner)
    links = tuple(_between_all([active for active, _ in corners], MESH_HOPS, MESH_HOPS))
    return Topology(f"mesh-of-{pairs}-pairs", members, links, clients(members, members), CLASSIC)


def cross_region_mesh() -> Topology:
    """Four brokers, the last in another region, with a duplex link between any two; clients connect to any broker.

    region-1                    |  region-2
    broker-1 ---- broker-2 -----|-.
        |    \\    /             |  broker-4   (broker-1 opens to 2, 3, 4; broker-2 to 3; broker-4 to 3, 2)
        |   broker-3 -----------|-'  |
        '-----------------------|----'
    """
    broker_1, broker_2, broker_3 = numbered("broker", 3, region="region-1")
    broker_4 = Broker("broker-4", region="region-2")
    opened = (
        (broker_1, broker_2), (broker_1, broker_3), (broker_1, broker_4),
        (broker_2, broker_3), (broker_4, broker_3), (broker_4, broker_2),
    )  # fmt: skip
    links = tuple(NetworkConnector(opened_by=opener, to=target, duplex=True) for opener, target in opened)
    everyone = (broker_1, broker_2, broker_3, broker_4)
    return Topology("cross-region-mesh", everyone, links, clients(everyone, everyone), CLASSIC)


def two_regions(brokers_each: int = 3, ttl: int = REGION_HOPS) -> Topology:
    """A mesh in each of two regions, joined by one duplex link: producers are in one region, consumers in the other.

    producers --> east-1 ---- east-2       west-1 ---- west-2 --> consumers
                      \\        /               \\        /
                        east-3 <-------------> west-3
    """
    require_between("two regions", 1, MOST_IN_A_MESH // 2, brokers_each=brokers_each)
    east, west = (numbered(region, brokers_each, region) for region in ("east", "west"))
    within = (*_between_all(east, ttl, ttl), *_between_all(west, ttl, ttl))
    # The newer region's broker opens the link, as a broker that joins later would.
    across = NetworkConnector(opened_by=west[-1], to=east[-1], duplex=True, message_ttl=ttl, consumer_ttl=ttl)
    return Topology(f"two-regions-of-{brokers_each}", (*east, *west), (*within, across), clients(east, west), CLASSIC)


def _between_all(
    members: Sequence[Broker], message_ttl: int, consumer_ttl: int, *, conduit: bool = True
) -> Iterator[NetworkConnector]:
    """Yield one duplex link between any two brokers, opened by the earlier broker."""
    for index, earlier in enumerate(members):
        for later in members[index + 1 :]:
            yield NetworkConnector(
                opened_by=earlier,
                to=later,
                duplex=True,
                message_ttl=message_ttl,
                consumer_ttl=consumer_ttl,
                conduit_subscriptions=conduit,
            )
