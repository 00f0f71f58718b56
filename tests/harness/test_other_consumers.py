"""Checks that, during a run, consumers of other clients on its queues are distinguished from the run's consumers."""

from pathlib import Path

import pytest

from drivers.users.session import tag_of
from harness.run.other_consumers import METRIC, OtherConsumers, OwnClients, sentence
from tests.support.brokers import running
from tests.support.stomp_clients import Client, queue
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.management.queue_users import BrokerConsumer
from topologies.management.sampling import Sampler

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
    assert OWN.have(client_id) is is_own


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
        clients = [Client(where, credentials, client_id=f"{OWN.tag}consumers-1-00-1"), Client(where, credentials, "x")]
        clients[0].listen(ours)
        clients[1].listen(queue("theirs"))
        sampler.start()
        watch.begin()
        until(lambda: any(row[2:5] == ("queue", ours.name, "consumers") and row[5] == 1 for row in taken))
        stranger = Client(where, credentials, client_id="stranger")
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
