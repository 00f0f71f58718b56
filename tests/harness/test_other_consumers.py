"""Checks that, during a run, consumers of other clients on its queues are distinguished from the run's consumers."""

import socket
from pathlib import Path

import pytest

from drivers.users.session import tag_of
from harness.run.other_consumers import (
    METRIC,
    NamelessConsumers,
    OtherConsumers,
    OwnClients,
    own_sockets,
    sentence,
)
from tests.support.brokers import running
from tests.support.stomp_clients import StompClient, queue
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.management.sampling import Sampler
from topologies.model.management import BrokerConsumer

RUN = 0x1A2B3C4D
OWN = OwnClients(tag_of(RUN), frozenset({"consumers"}))


@pytest.mark.parametrize(
    ("client_id", "is_own"),
    [
        ("brokerbench-1a2b3c4d-consumers-7-0a0b0c0d-1", True),
        ("brokerbench-1a2b3c4e-consumers-7-0a0b0c0d-1", False),  # of another run
        ("consumers-12", True),  # of a durable subscriber
        ("producers-12", False),
        ("my-consumers-12", False),
        ("consumers-12-1", False),
        ("ID:host-1", False),
        ("", False),
    ],
)
def test_own_clients_are_known_by_their_ids(client_id: str, is_own: bool) -> None:
    assert OWN.owns_client(client_id) is is_own


def test_the_reason_names_each_consumer_escaped() -> None:
    consumer = BrokerConsumer("orders", "x\n\u202e", "tcp://10.0.0.7:1")
    words = sentence({("broker-1", consumer)})
    assert r"'x\n\u202e' at tcp://10.0.0.7:1 of queue 'orders' on broker-1; stop them" in words
    many = sentence({(f"broker-{number}", consumer) for number in range(9)})
    assert ", and 4 more; " in many


class Samples(list[tuple[object, ...]]):
    def sample(self, *row: object) -> None:
        self.append(row)


@pytest.mark.brokers
@pytest.mark.parametrize("entry", ["single", "artemis-single"])
def test_a_consumer_of_another_client_is_found_within_seconds(entry: str, tmp_path: Path) -> None:
    """It finds neither the run's consumers nor the consumers of other queues."""
    topology, taken = build(entry), Samples()
    with running(topology, tmp_path, memory_mb=200) as broker:
        where, credentials, ours = broker.endpoint("broker-1", "stomp"), broker.credentials(), queue("ours")
        sampler = Sampler(broker, topology, taken, process="main")
        watch = OtherConsumers(topology, broker.management, lambda: dict(sampler.latest), [ours.name], OWN, taken)
        clients = [
            StompClient(where, credentials, client_id=f"{OWN.tag}consumers-1-00-1"),
            StompClient(where, credentials, "x"),
        ]
        clients[0].listen(ours)
        clients[1].listen(queue("theirs"))
        sampler.start()
        watch.begin()
        until(lambda: any(row[2:5] == ("queue", ours.name, "consumers") and row[5] == 1 for row in taken))
        stranger = StompClient(where, credentials, client_id="stranger")
        stranger.listen(ours)
        until(lambda: watch.found)
        watch.end()
        sampler.stop()
        for client in (*clients, stranger):
            client.close()
    ((of_broker, consumer),) = watch.found
    assert (of_broker, consumer.queue, consumer.client_id) == ("broker-1", ours.name, "stranger")
    assert "127.0.0.1:" in consumer.address
    assert {row[3:] for row in taken if row[4] == METRIC} == {(ours.name, METRIC, 1)}


def _consumer(port: int, client_id: str = "") -> BrokerConsumer:
    return BrokerConsumer("orders", client_id, f"127.0.0.1:{port}")


def test_a_consumer_may_get_its_id_later() -> None:
    """A Core client does when it reconnects. A consumer that leaves without an id belongs to another client."""
    nameless = NamelessConsumers()
    nameless.update([_consumer(1), _consumer(2), _consumer(3)], set)
    assert nameless.waiting == {_consumer(1), _consumer(2), _consumer(3)}
    listed = [_consumer(1, f"{OWN.tag}consumers-1"), _consumer(2)]
    assert nameless.left(listed) == [_consumer(3)]
    nameless.update([_consumer(2)], set)
    assert nameless.left([]) == [*nameless.waiting] == [_consumer(2)]


def test_consumers_on_own_sockets_never_wait() -> None:
    """They are recognized once, so their connection may have closed at the next look."""
    nameless = NamelessConsumers()
    nameless.update([_consumer(1), _consumer(2)], lambda: {"127.0.0.1:1"})
    nameless.update([_consumer(1), _consumer(2)], set)
    assert nameless.waiting == {_consumer(2)}
    nameless.update([], set)
    nameless.update([_consumer(1)], set)
    assert nameless.waiting == {_consumer(1)}, "another connection may have the port now"


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_own_sockets_are_named_like_brokers_name_them(host: str) -> None:
    """Java connects IPv6 sockets to IPv4 addresses."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(family) as client:
        client.connect((host, server.getsockname()[1]))
        accepted, (ip, port) = server.accept()
        with accepted:
            assert f"{ip}:{port}" in own_sockets()
    assert f"{ip}:{port}" not in own_sockets()
