"""Reads an Artemis broker's MBeans as values.

One bulk request asks for everything that is sampled (`figures_asked`); the answers become values here. Only the
functions with an agent send requests; all others are pure.

Links are identified by the queues that Artemis keeps for them: one for each member of a cluster, one for each mirror.
Senders and receivers are consumers, so their figures are in the list of consumers. A mirror's queue holds events
(sends, acknowledgements, queues made), so its figures are events and not messages.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topologies.artemis.links import BrokerConnection, ClusterLink
from topologies.management.contract import HEAP, Bridge, Figures, LyingMessage, heap_figures, named_figures, value_of
from topologies.management.jolokia import Answer, Jolokia, ManagementFailed, Request, execute, read
from topologies.model.site import BRIDGE_USER
from topologies.model.topology import Topology

DOMAIN = "org.apache.activemq.artemis"
CLUSTER_QUEUE = "$.artemis.internal.sf."  # and the cluster's name, a dot, the node id of the other member
MIRROR_QUEUE = "$ACTIVEMQ_ARTEMIS_MIRROR_"  # and the link's name
MOST_LISTED = 100_000
QUEUE_FIGURES = {
    "depth": "MessageCount",
    "in_flight": "DeliveringCount",
    "enqueue_count": "MessagesAdded",
    "dequeue_count": "MessagesAcknowledged",
    "expired_count": "MessagesExpired",
    "consumers": "ConsumerCount",
}
BROKER_FIGURES = {
    "connections": "ConnectionCount",  # those of links included
    "memory_percent": "AddressMemoryUsagePercentage",
    "total_messages": "TotalMessageCount",
    "pending_mirror_acks": "PendingMirrorAcks",
}
DISK_USAGE = "DiskStoreUsage"  # a share, 0 to 1
_MEMBER = re.compile(r"(\S+) => TopologyMember\[.*?TransportConfiguration\(name=([^,)]+)")
AMQP_DATA = "Data{"
_AMQP_BYTE = re.compile(r"\\x([0-9a-f]{2})|\\x?[0-9a-f]?$|([^\\])")
_AMQP_ONLY = json.dumps({"field": "protocol", "operation": "EQUALS", "value": "AMQP"})


@dataclass(frozen=True)
class LinksOfBroker:
    """The topology's data on the links of one broker that are not in its MBeans.

    ``members``: other member of a cluster to the link between; ``sends_on``, ``sent_from``: links by which messages
    leave a queue here, by a sender of ours or a receiver of the other end's, to that other end.
    """

    members: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[str, str] = field(default_factory=dict)  # link to its other end
    sends_on: Mapping[str, str] = field(default_factory=dict)
    sent_from: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def in_topology(cls, topology: Topology, broker: str) -> "LinksOfBroker":
        me = topology.broker(broker).active
        members = {}
        connections = [link for link in topology.links if isinstance(link, BrokerConnection)]
        for link in topology.links:
            ends = (link.opened_by.name, link.to.name)
            if isinstance(link, ClusterLink) and me in ends:
                members[ends[1] if ends[0] == me else ends[0]] = link.name
        return cls(
            members,
            {link.name: link.to.name for link in connections if link.mirror and link.opened_by.name == me},
            {link.name: link.to.name for link in connections if link.senders and link.opened_by.name == me},
            {link.name: link.opened_by.name for link in connections if link.receivers and link.to.name == me},
        )


def broker_mbean(broker: str) -> str:
    return f'{DOMAIN}:broker="{broker}"'


def queue_mbean(broker: str, address: str, queue: str, routing: str = "anycast") -> str:
    """``*`` stands for any address, queue or routing. A queue's name may hold any character: it is quoted."""
    name = queue if queue == "*" else quoted(queue)
    of_queue = f'address="{address}",subcomponent=queues,routing-type="{routing}",queue="{name}"'
    return f"{broker_mbean(broker)},component=addresses,{of_queue}"


def quoted(name: str) -> str:
    """A name between quotation marks in an MBean's name, as Java's ``ObjectName.quote`` writes it.

    Without it ``*`` and ``?`` would match other queues, and a backslash (of a durable subscription) none.
    """
    return re.sub(r'([\\"*?])', r"\\\1", name).replace("\n", "\\n")


def figures_of(agent: Jolokia, links: LinksOfBroker) -> Figures:
    """One request. Raises ManagementFailed."""
    answers = agent.bulk(figures_asked(agent.calls_itself, links))
    try:
        return figures(agent.broker, answers, links)
    except (KeyError, TypeError, ValueError) as error:  # an MBean may be going while it is read
        reason = f"{type(error).__name__}: {error}"
        raise ManagementFailed(
            f"broker {agent.broker!r}: its figures are not as 2.44.0 gives them ({reason})"
        ) from None


def figures_asked(broker: str, links: LinksOfBroker) -> tuple[Request, ...]:
    mbean = broker_mbean(broker)
    requests = [
        read(mbean, *BROKER_FIGURES.values(), DISK_USAGE),
        read(HEAP, "HeapMemoryUsage"),
        read(queue_mbean(broker, "*", "*", "*"), "Name", "InternalQueue", *QUEUE_FIGURES.values()),
        read(f"{mbean},component=cluster-connections,name=*", "Topology"),
        execute(mbean, "listConnections(java.lang.String,int,int)", "", 1, MOST_LISTED),
    ]
    if links.sends_on or links.sent_from:
        requests.append(execute(mbean, "listConsumers(java.lang.String,int,int)", _AMQP_ONLY, 1, MOST_LISTED))
    return tuple(requests)


def figures(broker: str, answers: Sequence[Answer], links: LinksOfBroker) -> Figures:
    """The answers to `figures_asked` as values. Raises ManagementFailed when one is an error."""
    whole, heap, queues, clusters, connections, *consumers = (value_of(broker, answer) for answer in answers)
    internal = [queue for queue in queues.values() if queue["InternalQueue"]]
    nodes = {node: name for cluster in clusters.values() for node, name in members(cluster["Topology"]).items()}
    return Figures(
        broker=named_figures(BROKER_FIGURES, whole)
        | {"store_percent": round(100 * whole[DISK_USAGE])}
        | heap_figures(heap),
        queues={
            queue["Name"]: named_figures(QUEUE_FIGURES, queue) for queue in queues.values() if _holds_messages(queue)
        },
        bridges=(*_queued(internal, nodes, links), *_carried(consumers, links, _depths(queues.values()))),
        clients=_clients(json.loads(connections)["data"]),
    )


def members(topology: str) -> dict[str, str]:
    """Node id to broker, out of a cluster connection's attribute Topology: connectors are named after brokers."""
    return dict(_MEMBER.findall(topology))


def _holds_messages(queue: Mapping[str, Any]) -> bool:
    """Whether messages of clients may be on it. This includes messages on their way to another member of a cluster."""
    return not queue["InternalQueue"] or str(queue["Name"]).startswith(CLUSTER_QUEUE)


def _queued(queues: Sequence[Mapping[str, Any]], nodes: Mapping[str, str], links: LinksOfBroker) -> Iterator[Bridge]:
    """A cluster forgets a member that is gone, and keeps its queue: one such queue is that of the one such member."""
    gone = [member for member in links.members if member not in nodes.values()]
    names = [str(queue["Name"]) for queue in queues]
    of_gone = [name for name in names if name.startswith(CLUSTER_QUEUE) and _node(name) not in nodes]
    if len(gone) == len(of_gone) == 1:
        nodes = {**nodes, _node(of_gone[0]): gone[0]}
    for queue in queues:
        name, counted = str(queue["Name"]), {"added": queue["MessagesAdded"], "gone": queue["MessagesAcknowledged"]}
        if name.startswith(CLUSTER_QUEUE):
            member = nodes.get(_node(name), "")
            if member in links.members:
                counters = {"enqueue_count": int(counted["added"]), "dequeue_count": int(counted["gone"])}
                counters["backlog"] = int(queue["MessageCount"])
                yield Bridge(links.members[member], member, False, counters)
        elif name.removeprefix(MIRROR_QUEUE) in links.mirrors:
            link = name.removeprefix(MIRROR_QUEUE)
            counters = {"mirror_events": int(counted["added"]), "mirror_backlog": int(queue["MessageCount"])}
            yield Bridge(link, links.mirrors[link], False, counters)


def _node(cluster_queue: str) -> str:
    return cluster_queue.rpartition(".")[2]


def _depths(queues: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter({str(queue["Name"]): int(queue["MessageCount"]) for queue in queues})


def _carried(listed: Sequence[str], links: LinksOfBroker, depths: Counter[str]) -> Iterator[Bridge]:
    """``queue_backlog``: what lies on the queues that the link reads. There is none while the link is down.

    If several links have one direction, none gets the row's figures: it is not known which link carried what.
    """
    consumers = [consumer for text in listed for consumer in json.loads(text)["data"]]
    for of_links, user in ((links.sends_on, ""), (links.sent_from, BRIDGE_USER)):
        consumers_of_links = [
            consumer
            for consumer in consumers
            if consumer["user"] == user and not str(consumer["queue"]).startswith(MIRROR_QUEUE)
        ]
        if len(of_links) == 1:
            ((link, remote),) = of_links.items()
            carried = sum(int(consumer["messagesAcknowledged"]) for consumer in consumers_of_links)
            waiting = sum(depths[queue] for queue in {str(consumer["queue"]) for consumer in consumers_of_links})
            backlog = {"queue_backlog": waiting} if consumers_of_links else {}
            yield Bridge(link, remote, False, {"dequeue_count": carried, **backlog})


def _clients(connections: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The number of clients by protocol."""
    return dict(Counter(str(connection["protocol"]).lower() for connection in of_clients(connections)))


def of_clients(connections: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Connections that have logged in and are no broker's. A connection to another broker has no user."""
    return [connection for connection in connections if connection["users"] not in ("", BRIDGE_USER)]


def start_connection(agent: Jolokia, link: str) -> None:
    """Start an AMQP connection with ``auto_start`` off. Raises ManagementFailed."""
    agent.execute(broker_mbean(agent.calls_itself), "startBrokerConnection(java.lang.String)", link)


def stop_connection(agent: Jolokia, link: str) -> None:
    """Stop an AMQP connection; it does not come back by itself. Raises ManagementFailed."""
    agent.execute(broker_mbean(agent.calls_itself), "stopBrokerConnection(java.lang.String)", link)


def browse(agent: Jolokia, queue: str, *, page_messages: int = 500) -> list[LyingMessage]:
    """Every message on a queue. It serves clients that cannot browse. Raises ManagementFailed.

    It raises for a large message too: Artemis shows nothing of its body, so nobody could tell which message it is.
    """
    pattern = queue_mbean(agent.calls_itself, "*", queue, "*")
    messages: list[LyingMessage] = []
    for name in agent.search(pattern):
        page = 1
        while shown := agent.execute(name, "browse(int,int)", page, page_messages):
            messages += [_lying(agent.broker, queue, message) for message in shown]
            page += 1
    return messages


def _lying(broker: str, queue: str, shown: Mapping[str, Any]) -> LyingMessage:
    body = body_of(shown)
    if shown.get("largeMessage") and not body:
        raise ManagementFailed(
            f"broker {broker!r}, queue {queue}: management shows no body of a large message (100 KiB and more); "
            "AMQP consumers browse such messages too (--protocol)"
        )
    return LyingMessage(body, sent_ms_of(shown))


def body_of(message: Mapping[str, Any]) -> bytes:
    """The beginning of a body; empty where management shows none.

    A message that an AMQP link brought is shown as text: ``Data{bb\\x00…}``, with each odd byte and each backslash as
    ``\\xNN``.
    """
    text = str(message.get("text", ""))
    if text.startswith(AMQP_DATA):
        shown = _AMQP_BYTE.findall(text.removeprefix(AMQP_DATA))
        return bytes(int(odd, 16) if odd else ord(plain) for odd, plain in shown if odd or plain)
    return bytes(byte & 0xFF for byte in message.get("BodyPreview") or ())


def sent_ms_of(message: Mapping[str, Any]) -> int:
    """The send time of a message, as its sender set it; 0 if it is not known."""
    created = (message.get("LongProperties") or {}).get("properties.creationTime", 0)
    return int(message.get("timestamp") or created)
