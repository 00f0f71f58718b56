"""Which topologies come with the project? One function each, with its picture; the catalogue calls them by name."""

from topologies.groups import CONSUMERS, PRODUCERS
from topologies.model import Broker, ClientGroup, NetworkConnector, Topology, TopologyInvalid

# A mesh has a direct link between any two brokers, so one hop reaches every consumer.
# consumer_ttl 1 (AMQ-4607): told further, each consumer would be known over several ways, and messages go in circles.
# message_ttl 1: on a second hop a topic's message comes to brokers that have it already. Their subscribers' audit hides
# that from 64 producers at most: with 120 producers on 5.18.3 and message_ttl 2, 6 to 9 % of 7,200 messages came twice.
# The price: a queue's message whose broker lost its consumers to another waits there until one returns. Scenarios that
# look at this can ask for mesh(message_ttl=2), or give the queue a BridgeFilter that replays.
MESH_HOPS = 1
MOST_IN_A_MESH = 50  # brokers; already 1,225 links


def single() -> Topology:
    """One broker, for a baseline: what the network costs is measured against it.

    producers --> broker-1 --> consumers
    """
    only = Broker("broker-1")
    return Topology(
        name="single",
        brokers=(only,),
        links=(),
        groups=(ClientGroup(PRODUCERS, enter_at=(only,)), ClientGroup(CONSUMERS, enter_at=(only,))),
    )


def source_and_sink(duplex: bool = False) -> Topology:
    """Every message crosses one link: producers on its one end, consumers on the other.

    producers --> source --------> sink --> consumers
    """
    source, sink = Broker("source"), Broker("sink")
    return Topology(
        name="source-and-sink-duplex" if duplex else "source-and-sink",
        brokers=(source, sink),
        links=(NetworkConnector(opened_by=source, to=sink, duplex=duplex),),
        groups=(ClientGroup(PRODUCERS, enter_at=(source,)), ClientGroup(CONSUMERS, enter_at=(sink,))),
    )


def mesh(brokers: int = 3, message_ttl: int = MESH_HOPS) -> Topology:
    """Each pair of brokers shares one duplex link, opened by the earlier one; all clients enter anywhere.

    broker-1 ---- broker-2
          \\        /
           broker-3
    """
    if brokers < 2:
        raise TopologyInvalid(f"brokers={brokers}: a mesh needs at least 2")
    if brokers > MOST_IN_A_MESH:
        raise TopologyInvalid(f"brokers={brokers}: a mesh has at most {MOST_IN_A_MESH}")
    all_brokers = tuple(Broker(f"broker-{n}") for n in range(1, brokers + 1))
    return Topology(
        name=f"mesh-of-{brokers}",
        brokers=all_brokers,
        links=tuple(
            NetworkConnector(opened_by=earlier, to=later, duplex=True, message_ttl=message_ttl, consumer_ttl=MESH_HOPS)
            for index, earlier in enumerate(all_brokers)
            for later in all_brokers[index + 1 :]
        ),
        groups=(ClientGroup(PRODUCERS, enter_at=all_brokers), ClientGroup(CONSUMERS, enter_at=all_brokers)),
    )
