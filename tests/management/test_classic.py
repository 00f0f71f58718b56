"""Checks how the management data of Classic brokers is read, with replies of 5.18.3."""

from dataclasses import dataclass, replace

import pytest

from topologies.classic.management import (
    BridgeClient,
    LinkEnd,
    NetworkSubscription,
    bridge_client_id,
    end_requests,
    figure_requests,
    figures,
    link_end,
    started_connectors,
)
from topologies.management.jolokia import Answer
from topologies.model.management import Bridge, ManagementFailed

B = "org.apache.activemq:type=Broker,brokerName=n2"
CONNECTION = f"{B},connector=clientConnectors,connectorName={{}},connectionViewType=clientId,connectionName={{}}"
QUEUE = {
    "Name": "orders",
    "QueueSize": 1,
    "InFlightCount": 2,
    "EnqueueCount": 3,
    "DequeueCount": 4,
    "ForwardCount": 5,
    "DispatchCount": 6,
    "ExpiredCount": 7,
    "ConsumerCount": 8,
    "ProducerCount": 9,
}
BRIDGE = {"EnqueueCounter": 3, "DequeueCounter": 2, "ReceivedCounter": 1}
OPENED = {f"{B},connector=networkConnectors,networkConnectorName=n2-to-n3,networkBridge=tcp_//127.0.0.1_1": {
    **BRIDGE, "RemoteBrokerName": "n3", "CreatedByDuplex": False}}  # fmt: skip
DUPLEX = {f"{B},connector=duplexNetworkConnectors,networkConnectorName=#0,networkBridge=tcp_//127.0.0.1_2": {
    **BRIDGE, "RemoteBrokerName": "n1", "CreatedByDuplex": True}}  # fmt: skip
COUNTERS = {"enqueue_count": 3, "dequeue_count": 2, "received_count": 1}
BRIDGES = (Bridge("n2-to-n3", "n3", False, COUNTERS), Bridge("#0", "n1", True, COUNTERS))
SUBSCRIPTION = f"{B},destinationType={{}},destinationName={{}},endpoint=Consumer,clientId={{}},consumerId={{}}"
TO_N3, BACK_TO_N1 = "n2-to-n3_n3_inbound_n2", "n1-to-n2_n1_inbound_n2"
OUTBOUND = {"n1-to-n2_n1_outbound": BridgeClient("n1-to-n2", "n1")}
ADVISORIES = "ActiveMQ.Advisory.Consumer.>_ActiveMQ.Advisory.TempQueue"


def waiting(dispatched: int, pending: int, sent: int) -> dict[str, int]:
    return {"DispatchedQueueSize": dispatched, "PendingQueueSize": pending, "DispatchedCounter": sent}


SUBSCRIPTIONS = {
    SUBSCRIPTION.format("Queue", "orders", TO_N3, 1): waiting(10, 0, sent=11),
    SUBSCRIPTION.format("Topic", "prices", TO_N3, 2): waiting(2, 30, sent=11),
    SUBSCRIPTION.format("Topic", ADVISORIES, BACK_TO_N1, 6): waiting(0, 0, sent=5),
    SUBSCRIPTION.format("Topic", ADVISORIES, TO_N3, 3): waiting(7, 0, sent=11),
    SUBSCRIPTION.format("Queue", "orders", "another_n3_inbound_n2", 4): waiting(100, 0, sent=11),
    SUBSCRIPTION.format("Queue", "orders", BACK_TO_N1, 5): waiting(4, 0, sent=11),
}
CONNECTIONS = [
    CONNECTION.format("openwire", "n1-to-n2_n1_outbound"),
    CONNECTION.format("stomp", "ID_vm-1_1"),
    CONNECTION.format("stomp", "ID_vm-1_2"),
    CONNECTION.format("openwire", "ID_vm-2_1"),
]
WHOLE = {
    "CurrentConnectionsCount": 9,
    "MemoryPercentUsage": 4,
    "StorePercentUsage": 5,
    "TotalMessageCount": 6,
    "TotalEnqueueCount": 7,
}
DURABLE = {
    "mbean": {
        "ClientId": "consumers-0",
        "SubscriptionName": "Taker-0",
        "DestinationName": "prices",
        "Selector": None,
        "Active": False,
        "PendingQueueSize": 12,
    }
}
HEAP = {"HeapMemoryUsage": {"init": 1, "committed": 2, "used": 3, "max": 4}}


def answered(*values: object) -> list[Answer]:
    return [Answer("a:b=c", 200, value) for value in values]


NONE = Answer("a:b=*", 404, error="No MBean with pattern")


@dataclass
class ConnectorsAgent:
    """Replies with the requested attributes that the connectors have, as Jolokia does for a pattern."""

    connectors: list[dict[str, bool]]
    broker: str = "n2"
    calls_itself: str = "n2"

    def read(self, _mbean: str, *attributes: str) -> dict[str, dict[str, bool]]:
        return {
            f"c{n}": {name: value for name, value in connector.items() if name in attributes}
            for n, connector in enumerate(self.connectors)
        }


def connectors_started(*connectors: dict[str, bool]) -> int:
    return started_connectors(ConnectorsAgent(list(connectors)))  # type: ignore[arg-type]


def test_a_connector_counts_when_it_says_that_it_is_started() -> None:
    attributes = [{"StatisticsEnabled": True, "Started": started} for started in (True, False, True)]
    assert connectors_started(*attributes) == 2


def test_connectors_of_5_16_which_cannot_say_so_count_from_when_they_are_there() -> None:
    assert connectors_started({"StatisticsEnabled": True}, {"StatisticsEnabled": True}) == 2


def test_one_request_asks_for_what_is_sampled_and_its_answer_is_understood() -> None:
    sampled = figures(
        "n2",
        answered(WHOLE, HEAP, {"q": QUEUE}, SUBSCRIPTIONS, DURABLE, OPENED, DUPLEX, CONNECTIONS),
        OUTBOUND,
    )
    assert sampled.broker == {
        "connections": 9,
        "memory_percent": 4,
        "store_percent": 5,
        "total_messages": 6,
        "total_enqueues": 7,
        "heap_used_bytes": 3,
        "heap_max_bytes": 4,
    }
    assert sampled.queues == {"orders": {
        "depth": 1, "in_flight": 2, "enqueue_count": 3, "dequeue_count": 4, "forward_count": 5, "dispatch_count": 6,
        "expired_count": 7, "consumers": 8, "producers": 9}}  # fmt: skip
    assert [replace(bridge, counters=COUNTERS) for bridge in sampled.bridges] == list(BRIDGES)
    assert sampled.subscriptions == {"consumers-0.Taker-0": 12}
    assert len(figure_requests("n2")) == 8


def test_a_bridge_has_what_its_own_subscriptions_hold_without_advisories() -> None:
    sampled = figures("n2", answered(WHOLE, HEAP, {}, SUBSCRIPTIONS, {}, OPENED, DUPLEX, CONNECTIONS), {})
    assert [bridge.counters["unconfirmed"] for bridge in sampled.bridges] == [42, 4]
    assert [{**bridge.counters, **COUNTERS} for bridge in sampled.bridges] == [
        bridge.counters for bridge in sampled.bridges
    ]


def test_advisories_are_counted_for_each_link_and_only_for_bridges_that_are_connected() -> None:
    away = {"n4-to-n2_n4_outbound": BridgeClient("n4-to-n2", "n4")}
    duplex = answered(WHOLE, HEAP, {}, SUBSCRIPTIONS, {}, OPENED, DUPLEX, CONNECTIONS)
    both = figures("n2", duplex, {**OUTBOUND, **away}).bridges
    assert [(it.remote_broker, it.counters["advisory_count"]) for it in both] == [("n3", 11), ("n1", 5)]
    incoming = {SUBSCRIPTION.format("Topic", ADVISORIES, "n1-to-n2_n1_outbound", 7): waiting(0, 0, sent=6)}
    for subscriptions, count in ((incoming, 6), ({}, 0)):  # a static link has no subscription
        one_way = answered(WHOLE, HEAP, {}, subscriptions, {}, OPENED, {}, CONNECTIONS)
        opened, other = figures("n2", one_way, {**OUTBOUND, **away}).bridges
        assert other == Bridge("n1-to-n2", "n1", False, {"advisory_count": count})
        assert "advisory_count" not in opened.counters


def test_bridges_are_no_clients() -> None:
    sampled = figures("n2", answered(WHOLE, HEAP, {}, {}, {}, {}, {}, CONNECTIONS), OUTBOUND)
    assert sampled.clients == {"openwire": 1, "stomp": 2}


def test_a_broker_without_queues_bridges_and_clients_has_none() -> None:
    sampled = figures("n2", [*answered(WHOLE, HEAP), NONE, NONE, NONE, NONE, NONE, *answered([])], {})
    assert (sampled.queues, sampled.subscriptions, sampled.bridges, sampled.clients) == ({}, {}, (), {})


def test_a_broker_whose_own_mbean_is_missing_is_an_error_that_names_it() -> None:
    missing = Answer(B, 404, error="No MBean")
    with pytest.raises(ManagementFailed, match=f"broker 'n2', MBean {B}: No MBean"):
        figures("n2", [missing, *answered(HEAP, {}, {}, {}, {}, {}, [])], {})


def test_what_links_show_at_one_end_is_understood() -> None:
    topic = f"{B},destinationType=Topic,destinationName=ActiveMQ.Advisory.Consumer.>"
    subscription = f"{topic},endpoint=Consumer,clientId=c,consumerId=i"
    assert link_end("n2", answered(OPENED, DUPLEX, CONNECTIONS[:1], [subscription])) == LinkEnd(
        "n2",
        BRIDGES,
        frozenset({"n1-to-n2_n1_outbound"}),
        (NetworkSubscription("c", "ActiveMQ.Advisory.Consumer.>"),),
    )
    assert len(end_requests("n2")) == 4


def test_a_bridge_that_does_not_know_its_far_end_yet_is_shown_without_name() -> None:
    (mbean,) = OPENED
    opened = {mbean: {**OPENED[mbean], "RemoteBrokerName": None}}
    (bridge,) = link_end("n2", answered(opened, {}, [], [])).bridges
    assert bridge.remote_broker == ""


def test_a_bridge_logs_in_by_the_name_of_its_link_and_opener() -> None:
    assert bridge_client_id("n1-to-n2", "n1") == "n1-to-n2_n1_outbound"
    assert bridge_client_id("l", "n1", "#") == "l#n1#outbound"
