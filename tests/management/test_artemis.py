"""Checks how the management data of Artemis brokers is read, with shortened replies of 2.44.0."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.link_proof import ArtemisEnd, end_requests, link_end, missing
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterLink, Mirror
from topologies.artemis.management import (
    CLUSTER_QUEUE,
    MIRROR_QUEUE,
    LinksOfBroker,
    body_of,
    browse,
    figure_requests,
    figures,
    members,
    sent_ms_of,
)
from topologies.artemis.product import ARTEMIS
from topologies.artemis.router import Router
from topologies.management.contract import queries_of
from topologies.management.jolokia import Answer
from topologies.management.sampling import rows
from topologies.model.client_groups import ClientGroup
from topologies.model.link import Link
from topologies.model.management import Figures, ManagementFailed
from topologies.model.site import BRIDGE_USER
from topologies.model.topology import Topology

NODE_1, NODE_2 = "186c5c7e-e5d7-11f1-8eb0-02fc00000001", "1845257d-e5d7-11f1-a5be-02fc00000001"
CONNECTOR = "TransportConfiguration(name={}, factory=NettyConnectorFactory)?port=32020&host=127-0-0-1"
SHOWN_TOPOLOGY = (
    f"topology on Topology@5[owner=Impl@1[nodeUUID={NODE_1}, connector={CONNECTOR.format('broker-1')},"
    " address=, server=ActiveMQServerImpl::name=broker-1]]:\n"
    f"\t{NODE_2} => TopologyMember[id={NODE_2}, connector=Pair[a={CONNECTOR.format('broker-2')}, b=null]]\n"
    f"\t{NODE_1} => TopologyMember[id={NODE_1}, connector=Pair[a={CONNECTOR.format('broker-1')}, b=null]]\n"
    "\tnodes=2\tmembers=2"
)
WHOLE = {
    "ConnectionCount": 4,
    "AddressMemoryUsagePercentage": 3,
    "TotalMessageCount": 7,
    "PendingMirrorAcks": 0,
    "DiskStoreUsage": 0.777,
}
HEAP = {"HeapMemoryUsage": {"used": 100, "max": 256, "init": 1, "committed": 2}}
ONE, TWO = ArtemisBroker("broker-1"), ArtemisBroker("broker-2")


def queue(name: str, *, internal: bool = False, depth: int = 0, added: int = 0, consumers: int = 0) -> dict[str, Any]:
    return {
        "Name": name,
        "InternalQueue": internal,
        "MessageCount": depth,
        "DeliveringCount": 0,
        "MessagesAdded": added,
        "MessagesAcknowledged": added - depth,
        "MessagesExpired": 0,
        "ConsumerCount": consumers,
    }


def listed(*entries: Mapping[str, str]) -> str:
    return json.dumps({"data": entries, "count": len(entries)})


def topology(*links: Link) -> Topology:
    return Topology("t", (ONE, TWO), links, (ClientGroup("anybody", (ONE,)),), ARTEMIS)


def figures_shown(
    links: LinksOfBroker, *queues: dict[str, Any], connections: str = listed(), consumers: str = listed()
) -> Figures:
    values: list[Any] = [
        WHOLE,
        HEAP,
        {queue_values["Name"]: queue_values for queue_values in queues},
        {"c": {"Topology": SHOWN_TOPOLOGY}},
    ]
    values += [connections, consumers]
    requests = figure_requests("broker-1", links)
    return figures("broker-1", [Answer("m", 200, value) for value in values[: len(requests)]], links)


def test_members_of_a_cluster_are_told_by_their_connectors() -> None:
    assert members(SHOWN_TOPOLOGY) == {NODE_1: "broker-1", NODE_2: "broker-2"}


def test_a_clusters_internal_queue_counts_as_a_bridge() -> None:
    """Messages in the store-and-forward queue are on their way to the other member."""
    links = LinksOfBroker.in_topology(topology(ClusterLink(ONE, TWO)), "broker-1")
    shown = figures_shown(links, queue(f"{CLUSTER_QUEUE}cluster.{NODE_2}", internal=True, depth=2, added=5))
    bridge_metrics = {row.metric: row.value for row in rows("broker-1", 1, shown, {}) if row.kind == "bridge"}
    assert bridge_metrics == {"enqueue_count": 5, "dequeue_count": 3, "backlog": 2}
    assert {row.object for row in rows("broker-1", 1, shown, {}) if row.kind == "bridge"} == {
        "broker-1-to-broker-2|broker-2"
    }
    assert [figure["depth"] for figure in shown.queues.values()] == [2]


def test_a_missing_members_queue_is_reported_if_unambiguous() -> None:
    """The queue is left out if it may belong to either of two missing members."""
    waits = queue(f"{CLUSTER_QUEUE}cluster.{'f' * 36}", internal=True, depth=7, added=9)
    member_queue = queue(f"{CLUSTER_QUEUE}cluster.{NODE_2}", internal=True, depth=1, added=5)
    links = LinksOfBroker(members={"broker-2": "one-two", "broker-3": "one-three"})
    shown = figures_shown(links, waits, member_queue)
    backlogs = {bridge.remote_broker: bridge.counters["backlog"] for bridge in shown.bridges}
    assert backlogs == {"broker-2": 1, "broker-3": 7}
    links = LinksOfBroker(members={"broker-3": "one-three", "broker-4": "one-four"})
    assert figures_shown(links, waits).bridges == ()


def test_a_mirrors_queue_counts_events_and_holds_no_message_of_anybody() -> None:
    link = BrokerConnection(ONE, TWO, mirror=Mirror())
    shown = figures_shown(
        LinksOfBroker.in_topology(topology(link), "broker-1"),
        queue(f"{MIRROR_QUEUE}{link.name}", internal=True, depth=2, added=9),
        queue("$sys.mqtt.sessions", internal=True),
        queue("orders", depth=4, added=4),
    )
    assert [bridge.counters for bridge in shown.bridges] == [{"mirror_events": 9, "mirror_backlog": 2}]
    assert {name: figure["depth"] for name, figure in shown.queues.items()} == {"orders": 4}


@pytest.mark.parametrize(
    ("link", "user"),
    [
        (BrokerConnection(ONE, TWO, senders=(AddressMatch("#"),)), ""),
        (BrokerConnection(TWO, ONE, receivers=(AddressMatch("#"),)), BRIDGE_USER),
    ],
)
def test_what_a_sender_or_a_receiver_took_is_told_by_its_consumers(link: BrokerConnection, user: str) -> None:
    consumers = listed(
        {"user": user, "queue": "orders", "messagesAcknowledged": "5"},
        {"user": user, "queue": "prices", "messagesAcknowledged": "2"},
        {"user": user, "queue": f"{MIRROR_QUEUE}m", "messagesAcknowledged": "100"},
        {"user": "brokerbench", "queue": "orders", "messagesAcknowledged": "100"},
    )
    queues = (queue("orders", depth=3, added=9), queue("prices", depth=4, added=9), queue("others", depth=8, added=9))
    shown = figures_shown(LinksOfBroker.in_topology(topology(link), "broker-1"), *queues, consumers=consumers)
    (bridge,) = shown.bridges
    assert (bridge.connector, bridge.remote_broker) == (link.name, "broker-2")
    assert bridge.counters == {"dequeue_count": 7, "queue_backlog": 7}
    (down,) = figures_shown(LinksOfBroker.in_topology(topology(link), "broker-1"), *queues).bridges
    assert down.counters == {"dequeue_count": 0}


def test_clients_are_those_that_have_logged_in_and_are_no_brokers() -> None:
    connections = listed(
        {"protocol": "STOMP", "users": "brokerbench"},
        {"protocol": "STOMP", "users": "brokerbench"},
        {"protocol": "CORE", "users": ""},
        {"protocol": "AMQP", "users": BRIDGE_USER},
    )
    assert figures_shown(LinksOfBroker(), connections=connections).clients == {"stomp": 2}


def test_a_brokers_own_figures_are_whole_numbers() -> None:
    assert figures_shown(LinksOfBroker()).broker == {
        "connections": 4, "memory_percent": 3, "total_messages": 7, "pending_mirror_acks": 0, "store_percent": 78,
        "heap_used_bytes": 100, "heap_max_bytes": 256,
    }  # fmt: skip


def test_an_mbean_that_does_not_answer_is_told() -> None:
    with pytest.raises(ManagementFailed, match="broker 'broker-1', MBean m: gone"):
        figures("broker-1", [Answer("m", 404, error="gone")] * 5, LinksOfBroker())


def test_a_body_is_bytes_again() -> None:
    assert body_of({"BodyPreview": [98, 98, 0, -1]}) == b"bb\0\xff"
    assert body_of({"text": "none of ours"}) == b""


@given(st.binary(max_size=64))
def test_a_body_that_came_by_amqp_is_bytes_again(body: bytes) -> None:
    written = "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in body)
    assert body_of({"text": f"Data{{{written}"}) == body
    assert body_of({"text": f"Data{{{written}\\x0"}) == body, "cut off in the middle of a byte"


class PagingAgent:
    """The agent of a broker with one queue, which shows these messages in pages."""

    broker = calls_itself = "broker-1"

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self._messages = messages

    def search(self, _mbean: str) -> list[str]:
        return ["the queue"]

    def execute(self, _mbean: str, _operation: str, page: int, messages: int) -> list[dict[str, Any]]:
        return self._messages[(page - 1) * messages : page * messages]


def test_a_queue_is_browsed_page_by_page_to_its_end() -> None:
    agent = PagingAgent([{"BodyPreview": [number], "timestamp": number} for number in range(100)])
    messages = browse(agent, "orders", page_messages=30)  # type: ignore[arg-type]
    assert [(message.body, message.sent_ms) for message in messages] == [
        (bytes([number]), number) for number in range(100)
    ]


def test_a_large_message_that_management_does_not_show_is_told_by_queue() -> None:
    large = PagingAgent([{"BodyPreview": [], "largeMessage": True}])
    with pytest.raises(ManagementFailed, match="broker 'broker-1', queue orders: management shows no body of a large"):
        browse(large, "orders")  # type: ignore[arg-type]


def test_a_message_was_sent_when_its_sender_says() -> None:
    assert sent_ms_of({"timestamp": 5}) == 5
    assert sent_ms_of({"LongProperties": {"properties.creationTime": 7}}) == 7
    assert sent_ms_of({"LongProperties": None}) == 0


def end(*queues: str, connected: tuple[str, ...] = ()) -> ArtemisEnd:
    shown = {name: {"Name": name, "ConsumerCount": 1} for name in queues}
    connections = {name: {"Name": name, "Connected": True} for name in connected}
    values = (shown, {"c": {"Topology": SHOWN_TOPOLOGY}}, connections)
    assert len(end_requests("broker-1")) == len(values)
    return link_end("broker-1", [Answer("m", 200, value) for value in values])


def test_ends_are_read_off_queues_that_somebody_reads() -> None:
    shown = end(f"{CLUSTER_QUEUE}cluster.{NODE_2}", f"notif.{NODE_2}.ActiveMQServerImpl_name=broker-2")
    assert (shown.sends_to, shown.heard_by) == ({"broker-2"}, {"broker-2"})
    shown = end(f"{MIRROR_QUEUE}m", connected=("m",))
    assert (shown.mirroring, shown.connected) == ({"m"}, {"m"})


def test_a_link_to_a_router_is_proven_by_the_broker_that_opened_it() -> None:
    """A router has no management agent."""
    link = BrokerConnection(ONE, Router("router", waypoints=("q",)), peers=(AddressMatch("q"),))
    assert missing(link, {"broker-1": end(connected=(link.name,))}) == ()
    assert missing(link, {"broker-1": end()}) == ("broker-1 is not connected to router",)


def joined(broker: str, peer: str) -> ArtemisEnd:
    return ArtemisEnd(broker, sends_to=frozenset({peer}), heard_by=frozenset({peer}))


def test_two_members_that_send_and_listen_to_each_other_are_joined() -> None:
    ends = {"broker-1": joined("broker-1", "broker-2"), "broker-2": joined("broker-2", "broker-1")}
    assert missing(ClusterLink(ONE, TWO), ends) == ()


def test_a_member_is_known_to_others_by_its_own_name() -> None:
    first, second = joined("broker-1", "broker-2"), joined("broker-2", "broker-1")
    renamed = dataclasses.replace(first, own_name="renamed")
    heard = dataclasses.replace(second, heard_by=frozenset({"renamed"}))
    assert missing(ClusterLink(ONE, TWO), {"broker-1": renamed, "broker-2": heard}) == ()
    assert missing(ClusterLink(ONE, TWO), {"broker-1": renamed, "broker-2": second}) == (
        "broker-1 does not listen for the consumer notifications of broker-2",
    )


def test_a_bridge_one_way_is_half_a_cluster() -> None:
    ends = {"broker-1": joined("broker-1", "broker-2"), "broker-2": ArtemisEnd("broker-2")}
    assert missing(ClusterLink(ONE, TWO), ends) == (
        "broker-1 does not listen for the consumer notifications of broker-2",
        "broker-2 has no bridge to broker-1",
    )


def test_a_mirror_is_up_when_it_is_attached() -> None:
    link, far = BrokerConnection(ONE, TWO, "m", mirror=Mirror()), ArtemisEnd("broker-2")
    states = {
        ArtemisEnd("broker-1"): ("broker-1 is not connected to broker-2",),
        ArtemisEnd("broker-1", connected=frozenset({"m"})): ("the mirror of broker-1 is not attached to broker-2",),
        ArtemisEnd("broker-1", connected=frozenset({"m"}), mirroring=frozenset({"m"})): (),
        ArtemisEnd("broker-1", failure="no answer"): ("no answer",),
    }
    for opener, why in states.items():
        assert missing(link, {"broker-1": opener, "broker-2": far}) == why


def test_each_kind_of_broker_has_its_view() -> None:
    assert type(queries_of(topology(), "broker-1")).__name__ == "ArtemisQueries"
