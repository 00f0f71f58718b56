"""Reads an Artemis broker's MBeans as values.

One bulk request fetches all sampled figures (`figure_requests`), and this module parses the answers. Only functions
that take an agent send requests; all others are pure.

Links are identified by the queues that Artemis keeps for them: one for each cluster member and one for each mirror.
Senders and receivers are consumers, so their figures come from the list of consumers. A mirror's queue holds events
(sends, acknowledgments, created queues), so its figures count events, not messages.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topologies.artemis.links import BrokerConnection, ClusterLink
from topologies.management.jolokia import (
    HEAP,
    Answer,
    Jolokia,
    Request,
    execute,
    heap_figures,
    named_figures,
    read,
    value_of,
)
from topologies.model.management import Bridge, Figures, ManagementFailed, QueuedMessage
from topologies.model.site import BRIDGE_USER
from topologies.model.topology import Topology

DOMAIN = "org.apache.activemq.artemis"
CLUSTER_QUEUE = "$.artemis.internal.sf."  # followed by the cluster's name, a dot and the other member's node id
MIRROR_QUEUE = "$ACTIVEMQ_ARTEMIS_MIRROR_"  # followed by the link's name
BROKER_STARTS = re.compile("AMQ221000: ")
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
    "connections": "ConnectionCount",  # including links
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
    """Data from the topology about a broker's links that its MBeans lack.

    ``members``: other members of the broker's clusters, with the link to each; ``sends_on``, ``sent_from``: links, with
    their other ends, that take messages from a queue of this broker by its sender or by the other end's receiver.
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
    """Return the name of a queue's MBean. ``*`` matches any address, queue or routing.

    Special characters are quoted.
    """
    name = queue if queue == "*" else quoted(queue)
    of_queue = f'address="{address}",subcomponent=queues,routing-type="{routing}",queue="{name}"'
    return f"{broker_mbean(broker)},component=addresses,{of_queue}"


def quoted(name: str) -> str:
    """Quote a name for use inside an MBean's name, like Java's ``ObjectName.quote``.

    Without quoting, ``*`` and ``?`` would match other queues, and a backslash (in durable subscriptions) would match
    none.
    """
    return re.sub(r'([\\"*?])', r"\\\1", name).replace("\n", "\\n")


def figures_of(agent: Jolokia, links: LinksOfBroker) -> Figures:
    """Return the broker's current figures, by one request. Raises ManagementFailed."""
    answers = agent.bulk(figure_requests(agent.calls_itself, links))
    try:
        return figures(agent.broker, answers, links)
    except (KeyError, TypeError, ValueError) as error:  # an MBean may disappear while it is read
        reason = f"{type(error).__name__}: {error}"
        raise ManagementFailed(
            f"broker {agent.broker!r}: its figures are not in the format of 2.44.0 ({reason})"
        ) from None


def figure_requests(broker: str, links: LinksOfBroker) -> tuple[Request, ...]:
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
    """Parse the answers to `figure_requests`. Raises ManagementFailed if one is an error."""
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
    """Return node ids with broker names, from a cluster connection's Topology: connectors are named after brokers."""
    return dict(_MEMBER.findall(topology))


def _holds_messages(queue: Mapping[str, Any]) -> bool:
    """Return whether a queue may hold clients' messages, including messages on their way to another cluster member."""
    return not queue["InternalQueue"] or str(queue["Name"]).startswith(CLUSTER_QUEUE)


def _queued(queues: Sequence[Mapping[str, Any]], nodes: Mapping[str, str], links: LinksOfBroker) -> Iterator[Bridge]:
    """Yield figures of links with queues.

    A cluster forgets a member that is down, but keeps its queue. If exactly one member and one queue are left over,
    they belong together.
    """
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
    """Yield figures of senders and receivers.

    ``queue_backlog``: messages on the queues a link reads; absent if it is down. If several links have the same
    direction, none has figures: the broker does not show which link carried what.
    """
    consumers = [consumer for text in listed for consumer in json.loads(text)["data"]]
    for of_links, logs_in in ((links.sends_on, False), (links.sent_from, True)):
        consumers_of_links = [
            consumer
            for consumer in consumers
            if is_of_link(user := str(consumer["user"]))
            and bool(user) is logs_in
            and not str(consumer["queue"]).startswith(MIRROR_QUEUE)
        ]
        if len(of_links) == 1:
            ((link, remote),) = of_links.items()
            carried = sum(int(consumer["messagesAcknowledged"]) for consumer in consumers_of_links)
            waiting = sum(depths[queue] for queue in {str(consumer["queue"]) for consumer in consumers_of_links})
            backlog = {"queue_backlog": waiting} if consumers_of_links else {}
            yield Bridge(link, remote, False, {"dequeue_count": carried, **backlog})


def _clients(connections: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of clients per protocol."""
    return dict(Counter(str(connection["protocol"]).lower() for connection in of_clients(connections)))


def of_clients(connections: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the connections that have logged in and do not belong to brokers.

    A connection to another broker has no user.
    """
    return [connection for connection in connections if not is_of_link(str(connection["users"]))]


def is_of_link(user: str) -> bool:
    """Return whether a connection or a consumer with this user belongs to a link.

    The broker that opens a link shows no user.
    """
    return not user or user.startswith(BRIDGE_USER)


def start_connection(agent: Jolokia, link: str) -> None:
    """Start an AMQP connection with ``auto_start`` off. Raises ManagementFailed."""
    agent.execute(broker_mbean(agent.calls_itself), "startBrokerConnection(java.lang.String)", link)


def list_queues(agent: Jolokia) -> dict[str, int]:
    """Return all queues with their numbers of messages, including queues of mirrors. Raises ManagementFailed."""
    queues = agent.read(queue_mbean(agent.calls_itself, "*", "*", "*"), "Name", "MessageCount")
    return {str(queue["Name"]): int(queue["MessageCount"]) for queue in queues.values()}


def give_up_pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for AMQ111001, which names the connection in the third line of its log entry.

    ``names``: of the connection in the run.
    """
    return re.compile(rf"Could not re-establish AMQP Server Connection {_any(names)} on \S+ after \d+ retries")


def connected_pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for AMQ111003, the log entry that the connection is up."""
    return re.compile(rf"Connected on Server AMQP Connection {_any(names)} on \S+ after \d+ retries")


def _any(names: Sequence[str]) -> str:
    return rf"(?:{'|'.join(map(re.escape, names))})"


def stop_connection(agent: Jolokia, link: str) -> None:
    """Stop an AMQP connection; it does not restart automatically. Raises ManagementFailed."""
    agent.execute(broker_mbean(agent.calls_itself), "stopBrokerConnection(java.lang.String)", link)


def browse(agent: Jolokia, queue: str, *, page_messages: int = 500) -> list[QueuedMessage]:
    """Return every message on a queue, for protocols whose clients cannot browse. Raises ManagementFailed.

    It also raises for a large message: Artemis does not return its body, so the message cannot be identified.
    """
    pattern = queue_mbean(agent.calls_itself, "*", queue, "*")
    messages: list[QueuedMessage] = []
    for name in agent.search(pattern):
        page = 1
        while shown := agent.execute(name, "browse(int,int)", page, page_messages):
            messages += [_queued_message(agent.broker, queue, message) for message in shown]
            page += 1
    return messages


def fully_qualified_names(agent: Jolokia, queue: str) -> list[str]:
    """Return the name by which an AMQP client reaches a queue: ``address::queue``; [] if the broker lacks the queue.

    By its plain name, Artemis shows a browser only anycast queues, and multicast queues that it created automatically.
    A mirror creates the queues of durable subscriptions otherwise. Raises ManagementFailed.
    """
    found = agent.search(queue_mbean(agent.calls_itself, "*", queue, "*"))
    return [f"{agent.read(name, 'Address')['Address']}::{queue}" for name in found]


def _queued_message(broker: str, queue: str, shown: Mapping[str, Any]) -> QueuedMessage:
    body = body_of(shown)
    if shown.get("largeMessage") and not body:
        raise ManagementFailed(
            f"broker {broker!r}, queue {queue}: management shows no body of a large message (100 KiB and more); "
            "AMQP consumers can browse large messages too (--protocol)"
        )
    return QueuedMessage(body, sent_ms_of(shown))


def body_of(message: Mapping[str, Any]) -> bytes:
    """Return the beginning of a body; empty if management returns none.

    Artemis shows a message from an AMQP link as text: ``Data{bb\\x00…}``, with each odd byte and each backslash as
    ``\\xNN``.
    """
    text = str(message.get("text", ""))
    if text.startswith(AMQP_DATA):
        shown = _AMQP_BYTE.findall(text.removeprefix(AMQP_DATA))
        return bytes(int(odd, 16) if odd else ord(plain) for odd, plain in shown if odd or plain)
    return bytes(byte & 0xFF for byte in message.get("BodyPreview") or ())


def sent_ms_of(message: Mapping[str, Any]) -> int:
    """Return the sender's timestamp of the message in ms; 0 if unknown."""
    created = (message.get("LongProperties") or {}).get("properties.creationTime", 0)
    return int(message.get("timestamp") or created)
