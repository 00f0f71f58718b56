"""Topologies of one broker, or of two brokers and the links between them: one function each, with its picture.

The other entries are in `meshes` (full meshes) and `hubs_trees_rings` (chains, tiers, rings).
"""

from dataclasses import replace

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.policies import DEFAULT_POLICIES, BridgeFilter, DestinationPolicy
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import DEFAULT_CONNECTORS
from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.generated_names import fitting_name
from topologies.model.topology import Topology
from topologies.model.validity import require_at_least, require_between

MOST_CONNECTORS = 20  # between two brokers; each is a connection with its threads at both ends
ABBREVIATIONS = {"consumers-at-both": "at-both", "each-subscription": "each-sub", "same-priority": "same-prio"}
"""Abbreviated parts of the source-and-sink name, used when the full name would be too long."""


def single() -> Topology:
    """One broker, as a baseline: the cost of a network is measured against it.

    producers --> broker-1 --> consumers
    """
    only = Broker("broker-1")
    return Topology("single", (only,), (), clients((only,), (only,)), CLASSIC)


def active_standby() -> Topology:
    """Two brokers on one store: the standby waits for its lock, then takes over all stored messages.

    producers --> broker-1 ======== broker-1-standby
    consumers <--  (active)  store
    """
    brokers = pair("broker-1")
    return Topology("active-standby", brokers, (), clients(brokers, brokers), CLASSIC)


def source_and_sink(
    duplex: bool = False,
    transport: str = "tcp",
    consumers_at_both: bool = False,
    conduit_subscriptions: bool = True,
    decrease_network_consumer_priority: bool = True,
    rate_limit: int = 0,
    sink_standby: bool = False,
) -> Topology:
    """Every message crosses one link: producers at one end, consumers at the other end or at both.

    producers --> source --------> sink --> consumers
    """
    require_at_least("source-and-sink", 0, rate_limit=rate_limit)
    called = tuple(
        replace(connector, transport=transport) if connector.protocol == "openwire" else connector
        for connector in DEFAULT_CONNECTORS
    )
    source = Broker("source", policies=_throttled(rate_limit))
    sinks = tuple(replace(sink, connectors=called) for sink in (pair("sink") if sink_standby else (Broker("sink"),)))
    by = "" if transport == "tcp" else f"-{transport.replace('+', '-')}"
    link = NetworkConnector(
        opened_by=source,
        to=sinks[0],
        duplex=duplex,
        conduit_subscriptions=conduit_subscriptions,
        decrease_network_consumer_priority=decrease_network_consumer_priority,
    )
    name = (
        "source-and-sink"
        + "-duplex" * duplex
        + by
        + "-consumers-at-both" * consumers_at_both
        + "-each-subscription" * (not conduit_subscriptions)
        + "-same-priority" * (not decrease_network_consumer_priority)
        + f"-{rate_limit}-per-s" * bool(rate_limit)
        + "-standby" * sink_standby
    )
    return Topology(
        name=fitting_name(name, ABBREVIATIONS),
        brokers=(source, *sinks),
        links=(link,),
        groups=clients((source,), (source, *sinks) if consumers_at_both else sinks),
        product=CLASSIC,
    )


def _throttled(rate_limit: int) -> tuple[DestinationPolicy, ...]:
    """Return the default policies, with at most ``rate_limit`` messages per second for each queue and link.

    0: no limit.
    """
    queues, topics = DEFAULT_POLICIES
    return replace(queues, bridge_filter=BridgeFilter(rate_limit=rate_limit)), topics


def two_one_way() -> Topology:
    """Two brokers with a one-way connection in each direction, instead of one shared duplex link.

    clients <--> broker-1 --------> broker-2 <--> clients
                          <--------
    """
    broker_1, broker_2 = Broker("broker-1"), Broker("broker-2")
    links = (NetworkConnector(opened_by=broker_1, to=broker_2), NetworkConnector(opened_by=broker_2, to=broker_1))
    return Topology(
        "two-one-way", (broker_1, broker_2), links, clients((broker_1, broker_2), (broker_1, broker_2)), CLASSIC
    )


def parallel_connectors(queue_connectors: int = 2, duplex: bool = False) -> Topology:
    """Several connections between two brokers for queues and one for topics, to raise the throughput of a link.

                         -- queues 1 -->
    producers --> source -- queues 2 --> sink --> consumers
                         -- topics ---->
    """
    require_between("parallel connectors", 1, MOST_CONNECTORS, queue_connectors=queue_connectors)
    source, sink = Broker("source"), Broker("sink")
    # One for topics: another connector would subscribe again, and the broker would suppress it as a duplicate.
    topics = NetworkConnector(
        opened_by=source, to=sink, name="topics", duplex=duplex, dynamically_included_destinations=("topic://>",)
    )
    queues = replace(topics, dynamically_included_destinations=("queue://>",))
    return Topology(
        name=f"parallel-connectors-{queue_connectors}" + ("-duplex" if duplex else ""),
        brokers=(source, sink),
        links=(*(replace(queues, name=f"queues-{n}") for n in range(1, queue_connectors + 1)), topics),
        groups=clients((source,), (sink,)),
        product=CLASSIC,
    )


def pair(name: str, region: str = "") -> tuple[Broker, Broker]:
    """Return an active broker and the standby that shares its store."""
    return Broker(name, region), Broker(f"{name}-standby", region, standby_of=name)


def numbered(prefix: str, count: int, region: str = "") -> tuple[Broker, ...]:
    """Return the brokers ``prefix-1``, ``prefix-2``, …"""
    return tuple(Broker(f"{prefix}-{n}", region) for n in range(1, count + 1))


def clients(producers_at: tuple[Broker, ...], consumers_at: tuple[Broker, ...]) -> tuple[ClientGroup, ClientGroup]:
    """Return the two client groups that scenarios refer to."""
    return ClientGroup(PRODUCERS, enter_at=producers_at), ClientGroup(CONSUMERS, enter_at=consumers_at)
