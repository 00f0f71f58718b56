"""Proves that a link between Artemis brokers is up, from the MBeans of the brokers at its ends.

Two members A and B of a cluster are connected when each has two consumers from the other. At A these are the bridge,
which consumes A's queue for B, and a listener to A's notifications, which informs B of A's consumers. An AMQP
connection is up when it is connected and its mirror's queue has a consumer. Its senders and receivers appear and
disappear with queues, so only canaries can prove them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from topologies.artemis.links import BrokerConnection, ClusterLink
from topologies.artemis.management import CLUSTER_QUEUE, MIRROR_QUEUE, broker_mbean, members, queue_mbean
from topologies.management.jolokia import Answer, Jolokia, Request, read, value_of
from topologies.model.link import Link
from topologies.model.management import ManagementFailed

NOTIFICATIONS = "notif."  # followed by a number, then the name of the listening broker


@dataclass(frozen=True)
class ArtemisEnd:
    """A broker's data on all links that begin or end there."""

    broker: str
    sends_to: frozenset[str] = frozenset()  # cluster members, by name, with an active bridge from this broker
    heard_by: frozenset[str] = frozenset()  # brokers, by own name, that listen to its notifications
    connected: frozenset[str] = frozenset()  # links with an open AMQP connection
    mirroring: frozenset[str] = frozenset()  # links with an active mirror
    failure: str = ""  # why there is no data
    own_name: str = ""  # empty: `broker`


def end_of(agent: Jolokia) -> ArtemisEnd:
    """Return the broker's data, by one request; a broker that does not answer has a ``failure``."""
    try:
        end = link_end(agent.broker, agent.bulk(end_requests(agent.calls_itself)))
    except ManagementFailed as error:
        return ArtemisEnd(agent.broker, failure=str(error))
    return replace(end, own_name=agent.calls_itself)


def end_requests(broker: str) -> tuple[Request, ...]:
    mbean = broker_mbean(broker)
    return (
        read(queue_mbean(broker, "*", "*", "*"), "Name", "ConsumerCount"),
        read(f"{mbean},component=cluster-connections,name=*", "Topology"),
        read(f"{mbean},component=broker-connections,name=*", "Name", "Connected"),
    )


def link_end(broker: str, answers: Sequence[Answer]) -> ArtemisEnd:
    """Parse the answers to `end_requests`. Raises ManagementFailed if one is an error."""
    queues, clusters, connections = (value_of(broker, answer) for answer in answers)
    read_now = {str(queue["Name"]) for queue in queues.values() if queue["ConsumerCount"]}
    nodes = {node: name for cluster in clusters.values() for node, name in members(cluster["Topology"]).items()}
    bridges = {name.rpartition(".")[2] for name in read_now if name.startswith(CLUSTER_QUEUE)}
    return ArtemisEnd(
        broker,
        sends_to=frozenset(nodes[node] for node in bridges if node in nodes),
        heard_by=frozenset(name.rpartition("=")[2] for name in read_now if name.startswith(NOTIFICATIONS)),
        connected=frozenset(str(connection["Name"]) for connection in connections.values() if connection["Connected"]),
        mirroring=frozenset(name.removeprefix(MIRROR_QUEUE) for name in read_now if name.startswith(MIRROR_QUEUE)),
    )


def missing(link: Link, ends: Mapping[str, ArtemisEnd]) -> tuple[str, ...]:
    """Return a sentence per missing proof; empty if the link is proven. ``ends``: all brokers except routers."""
    link_ends = [ends[name] for name in (link.opened_by.name, link.to.name) if name in ends]
    if failures := tuple(end.failure for end in link_ends if end.failure):
        return failures
    opener = ends[link.opened_by.name]
    if isinstance(link, ClusterLink):
        far = ends[link.to.name]
        return (*_half_missing(opener, far), *_half_missing(far, opener))
    if isinstance(link, BrokerConnection):
        return _connection_missing(link, opener)
    return ()


def _half_missing(sender: ArtemisEnd, receiver: ArtemisEnd) -> tuple[str, ...]:
    problems = []
    if receiver.broker not in sender.sends_to:
        problems.append(f"{sender.broker} has no bridge to {receiver.broker}")
    if (sender.own_name or sender.broker) not in receiver.heard_by:
        problems.append(f"{sender.broker} does not listen for the consumer notifications of {receiver.broker}")
    return tuple(problems)


def _connection_missing(link: BrokerConnection, opener: ArtemisEnd) -> tuple[str, ...]:
    if link.name not in opener.connected:
        return (f"{opener.broker} is not connected to {link.to.name}",)
    if link.mirror and link.name not in opener.mirroring:
        return (f"the mirror of {opener.broker} is not attached to {link.to.name}",)
    return ()
