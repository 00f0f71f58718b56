"""Reads a Classic broker's MBeans.

One bulk request fetches all sampled figures (`figure_requests`), and another everything that proves a link
(`end_requests`); this module parses the answers. Only functions that take an agent send requests; all others are pure.

Bridges are distinguished from clients by their client id, ``<link>_<opener>_outbound``: the attribute NetworkConnection
is false for the connection of a duplex bridge (seen on 5.18.3), and a read per connection would cost the broker more.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from topologies.management.jolokia import (
    HEAP,
    Answer,
    Jolokia,
    Request,
    heap_figures,
    named_figures,
    object_name,
    read,
    search,
    value_of,
)
from topologies.model.management import Bridge, DurableSubscription, Figures, ManagementFailed

QUEUE_FIGURES = {
    "depth": "QueueSize",
    "in_flight": "InFlightCount",
    "enqueue_count": "EnqueueCount",
    "dequeue_count": "DequeueCount",
    "forward_count": "ForwardCount",
    "dispatch_count": "DispatchCount",
    "expired_count": "ExpiredCount",
    "consumers": "ConsumerCount",
    "producers": "ProducerCount",
}
BRIDGE_FIGURES = {
    "enqueue_count": "EnqueueCounter",
    "dequeue_count": "DequeueCounter",
    "received_count": "ReceivedCounter",
}
BROKER_FIGURES = {
    "connections": "CurrentConnectionsCount",  # including bridges
    "memory_percent": "MemoryPercentUsage",
    "store_percent": "StorePercentUsage",
    "total_messages": "TotalMessageCount",
    "total_enqueues": "TotalEnqueueCount",  # of all destinations, including advisories
}
WAITING = ("DispatchedQueueSize", "PendingQueueSize")
"""A subscription's dispatched but unacknowledged messages, and messages (of topics) that are stored for it."""
SENT = "DispatchedCounter"
"""A subscription's messages so far."""
ADVISORIES = "ActiveMQ.Advisory."
_CONSUMERS = "destinationName=*,endpoint=Consumer,clientId=*"
_BRIDGES_CONSUMERS = "destinationName=*,endpoint=Consumer,clientId=*bound*,consumerId=*"
BROKERS = "org.apache.activemq:type=Broker,brokerName=*"  # every broker of a JVM


@dataclass(frozen=True)
class NetworkSubscription:
    """A subscription of a broker, with the client id that created it."""

    client_id: str
    destination: str


@dataclass(frozen=True)
class LinkEnd:
    """A broker's data on all links that begin or end there. ``broker``: its own name, which bridges to it show."""

    broker: str
    bridges: tuple[Bridge, ...] = ()
    client_ids: frozenset[str] = frozenset()
    subscriptions: tuple[NetworkSubscription, ...] = ()
    failure: str = ""  # why there is no data


class BridgeClient(NamedTuple):
    """The link of a bridge, and the own name of the broker that opened it."""

    link: str
    opened_by: str


def broker_mbean(broker: str) -> str:
    return f"org.apache.activemq:type=Broker,brokerName={broker}"


def bridge_client_id(link: str, opened_by: str, token: str = "_") -> str:
    """Return the client id that a link's opening broker uses to log in at the other end."""
    return token.join((link, opened_by, "outbound"))


def started_connectors(agent: Jolokia) -> int:
    """Return the number of transport connectors that the broker has started.

    Raises ManagementFailed while there are none. Connectors of 5.16 do not show whether they are started, so each
    counts once it has its port. Every version has an attribute that finds them.
    """
    connectors = f"{broker_mbean(agent.calls_itself)},connector=clientConnectors,connectorName=*"
    answers = agent.read(connectors, "Started", "StatisticsEnabled")
    return sum(bool(connector.get("Started", True)) for connector in answers.values())


def figures_of(agent: Jolokia, bridge_client_ids: Mapping[str, BridgeClient]) -> Figures:
    """Return the broker's current figures, by one request. Bridges have the brokers' own names.

    Raises ManagementFailed.
    """
    answers = agent.bulk(figure_requests(agent.calls_itself))
    try:
        return figures(agent.calls_itself, answers, bridge_client_ids)
    except (KeyError, TypeError, ValueError) as error:  # an MBean may disappear while it is read
        reason = f"{type(error).__name__}: {error}"
        raise ManagementFailed(
            f"broker {agent.broker!r}: its figures are not in the format of 5.18.3 ({reason})"
        ) from None


def end_of(agent: Jolokia) -> LinkEnd:
    """Return the broker's data on its links, by one request; a broker that does not answer has a ``failure``."""
    try:
        return link_end(agent.calls_itself, agent.bulk(end_requests(agent.calls_itself)))
    except ManagementFailed as error:
        return LinkEnd(agent.calls_itself, failure=str(error))


def figure_requests(broker: str) -> tuple[Request, ...]:
    mbean = broker_mbean(broker)
    return (
        read(mbean, *BROKER_FIGURES.values()),
        read(HEAP, "HeapMemoryUsage"),
        read(f"{mbean},destinationType=Queue,destinationName=*", "Name", *QUEUE_FIGURES.values()),
        read(f"{mbean},destinationType=*,{_BRIDGES_CONSUMERS}", *WAITING, SENT),
        _durable_subscriptions_asked(mbean),
        *_bridges_asked(mbean),
        connection_request(mbean),
    )


def figures(broker: str, answers: Sequence[Answer], bridge_client_ids: Mapping[str, BridgeClient]) -> Figures:
    """Parse the answers to `figure_requests`. Raises ManagementFailed if one is an error."""
    whole, heap, queues, subscriptions, durable, *bridges, connections = (
        value_of(broker, answer) for answer in answers
    )
    return Figures(
        broker=named_figures(BROKER_FIGURES, whole) | heap_figures(heap),
        queues={queue["Name"]: named_figures(QUEUE_FIGURES, queue) for queue in queues.values()},
        bridges=(
            *_with_subscriptions(broker, _bridges(bridges), subscriptions),
            *_incoming(connections, bridge_client_ids, subscriptions, _bridges(bridges)),
        ),
        clients=_clients(connections, bridge_client_ids),
        subscriptions={held.queue: held.waiting for held in map(_durable_subscription, durable.values())},
    )


def _with_subscriptions(
    broker: str, bridges: Sequence[Bridge], subscriptions: Mapping[str, Mapping[str, Any]]
) -> tuple[Bridge, ...]:
    """Add ``unconfirmed``, messages in the bridge's subscriptions that the other broker has not confirmed, and
    ``advisory_count`` if it subscribes to advisories of its own broker for the far end, as for a duplex link.

    A bridge's own counters cannot show this: they count received advisories, and not whether messages were forwarded.
    """
    held = Counter[str]()  # by client id
    for name, figures in subscriptions.items():
        keys = object_name(name)
        if not keys["destinationName"].startswith(ADVISORIES):
            held[keys["clientId"]] += sum(int(figures[waiting]) for waiting in WAITING)
    sent = _advisories_sent(subscriptions)
    added: list[Bridge] = []
    for bridge in bridges:
        client_id = _inbound_client_id(broker, bridge)
        counters = {**bridge.counters, "unconfirmed": sum(_matching(held, client_id))}
        if advisories := _matching(sent, client_id):
            counters["advisory_count"] = sum(advisories)
        added.append(replace(bridge, counters=counters))
    return tuple(added)


def _inbound_client_id(broker: str, bridge: Bridge) -> re.Pattern[str]:
    """Match a bridge's client id at its broker: ``<link>_<other broker>_inbound_<this broker>``."""
    link = ".+?" if bridge.created_by_duplex else re.escape(bridge.connector)
    return re.compile(rf"{link}(.+?){re.escape(bridge.remote_broker)}\1inbound\1{re.escape(broker)}")


def _matching(counts: Mapping[str, int], client_id: re.Pattern[str]) -> list[int]:
    return [count for name, count in counts.items() if client_id.fullmatch(name)]


def _incoming(
    connections: Sequence[str],
    bridge_client_ids: Mapping[str, BridgeClient],
    subscriptions: Mapping[str, Mapping[str, Any]],
    bridges: Sequence[Bridge],
) -> list[Bridge]:
    """Return one-way links that other brokers opened to this broker, with ``advisory_count``: advisories sent over
    them.

    The far end of a duplex link has a bridge, and its subscription belongs to that. A static link has none.
    """
    sent = _advisories_sent(subscriptions)
    duplex = {bridge.remote_broker for bridge in bridges if bridge.created_by_duplex}
    logged_in = {object_name(name)["connectionName"] for name in connections}
    return [
        Bridge(link, opened_by, created_by_duplex=False, counters={"advisory_count": sent[client_id]})
        for client_id, (link, opened_by) in bridge_client_ids.items()
        if client_id in logged_in and (client_id in sent or opened_by not in duplex)
    ]


def _advisories_sent(subscriptions: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """Return the number of advisories that each bridge was sent, by client id."""
    sent = Counter[str]()
    for name, figures in subscriptions.items():
        keys = object_name(name)
        if keys["destinationName"].startswith(ADVISORIES):
            sent[keys["clientId"]] += int(figures[SENT])
    return sent


def durable_subscriptions(agent: Jolokia) -> list[DurableSubscription]:
    """Return the durable subscriptions of clients and links. Raises ManagementFailed."""
    (answer,) = agent.bulk([_durable_subscriptions_asked(broker_mbean(agent.calls_itself))])
    return [_durable_subscription(subscription) for subscription in value_of(agent.broker, answer).values()]


def _durable_subscriptions_asked(mbean: str) -> Request:
    attributes = ("ClientId", "SubscriptionName", "DestinationName", "Selector", "Active", "PendingQueueSize")
    return read(f"{mbean},destinationType=Topic,{_CONSUMERS},consumerId=Durable*", *attributes)


def remove_subscription(agent: Jolokia, subscription: DurableSubscription) -> None:
    """Remove a durable subscription that no client uses, with its messages. Raises ManagementFailed."""
    operation = "destroyDurableSubscriber(java.lang.String,java.lang.String)"
    agent.execute(broker_mbean(agent.calls_itself), operation, subscription.client_id, subscription.name)


def _durable_subscription(attributes: Mapping[str, Any]) -> DurableSubscription:
    return DurableSubscription(
        client_id=attributes["ClientId"],
        name=attributes["SubscriptionName"],
        topic=attributes["DestinationName"],
        selector=attributes["Selector"] or "",
        active=bool(attributes["Active"]),
        waiting=int(attributes["PendingQueueSize"]),
    )


def end_requests(broker: str) -> tuple[Request, ...]:
    mbean = broker_mbean(broker)
    subscriptions = f"{mbean},destinationType=*,{_CONSUMERS},consumerId=*"
    return (*_bridges_asked(mbean), connection_request(mbean), search(subscriptions))


def link_end(broker: str, answers: Sequence[Answer]) -> LinkEnd:
    """Parse the answers to `end_requests`. Raises ManagementFailed if one is an error."""
    *bridges, connections, subscriptions = (value_of(broker, answer) for answer in answers)
    names = (object_name(name) for name in subscriptions)
    return LinkEnd(
        broker,
        _bridges(bridges),
        frozenset(object_name(name)["connectionName"] for name in connections),
        tuple(NetworkSubscription(name["clientId"], name["destinationName"]) for name in names),
    )


def _bridges_asked(mbean: str) -> tuple[Request, ...]:
    """Return requests for bridges that this broker opened, and for the far ends of duplex links."""
    attributes = ("RemoteBrokerName", "CreatedByDuplex", *BRIDGE_FIGURES.values())
    return tuple(
        read(f"{mbean},connector={kind},networkConnectorName=*,networkBridge=*", *attributes)
        for kind in ("networkConnectors", "duplexNetworkConnectors")
    )


def connection_request(mbean: str) -> Request:
    """Request only the names of connections, from the only view that exists as soon as a connection has logged in."""
    return search(f"{mbean},connector=clientConnectors,connectorName=*,connectionViewType=clientId,connectionName=*")


def _bridges(kinds: Sequence[Mapping[str, Mapping[str, Any]]]) -> tuple[Bridge, ...]:
    return tuple(
        Bridge(
            object_name(name)["networkConnectorName"],
            bridge["RemoteBrokerName"] or "",
            bool(bridge["CreatedByDuplex"]),
            named_figures(BRIDGE_FIGURES, bridge),
        )
        for bridges in kinds
        for name, bridge in sorted(bridges.items())
    )


def _clients(connections: Sequence[str], bridge_client_ids: Collection[str]) -> dict[str, int]:
    clients = of_clients(connections, bridge_client_ids)
    return dict(Counter(object_name(name)["connectorName"] for name in clients))


def of_clients(connections: Sequence[str], bridge_client_ids: Collection[str]) -> list[str]:
    return [name for name in connections if object_name(name)["connectionName"] not in bridge_client_ids]


def start_connector(agent: Jolokia, link: str) -> None:
    """Start a network connector. Raises ManagementFailed."""
    agent.execute(_connector_mbean(agent.calls_itself, link), "start")


def stop_connector(agent: Jolokia, link: str) -> None:
    """Stop a network connector and its bridge. Raises ManagementFailed."""
    agent.execute(_connector_mbean(agent.calls_itself, link), "stop")


def _connector_mbean(broker: str, link: str) -> str:
    return f"{broker_mbean(broker)},connector=networkConnectors,networkConnectorName={link}"


LIMIT, PERCENT = "StoreLimit", "StorePercentUsage"
# Less than an empty KahaDB holds (12 KiB in 5.18.3). Not 1 byte: the percentage is a 32-bit number, and with 1 byte a
# store of 21 MiB overflows it. The broker treats a negative percentage as free space. This limit works up to 80 GiB.
LOW_LIMIT_BYTES = 4096


def lower_store_limit(agent: Jolokia) -> int:
    """Lower the store limit below its current content. Producer flow control then blocks durable messages.

    Returns the previous limit in bytes. Raises ManagementFailed.
    """
    return int(agent.write(broker_mbean(agent.calls_itself), LIMIT, LOW_LIMIT_BYTES))


def restore_store_limit(agent: Jolokia, limit_bytes: int) -> None:
    """Set the store limit back. Raises ManagementFailed."""
    agent.write(broker_mbean(agent.calls_itself), LIMIT, limit_bytes)


def store_percent(agent: Jolokia) -> int:
    """Return the percentage of the limit that is used; the store is full at 100. Raises ManagementFailed."""
    return int(agent.read(broker_mbean(agent.calls_itself), PERCENT)[PERCENT])
