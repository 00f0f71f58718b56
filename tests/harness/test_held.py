"""Checks that messages held for durable subscriptions are recorded under their names, and stay at the broker."""

from pathlib import Path

import pytest

from drivers.contract import Destination, Outgoing, Subscription
from drivers.memory.connector import MemoryConnection, MemoryConnector
from drivers.memory.network import MemoryNetwork
from harness.run import leftovers
from harness.run.leftovers import SearchDoubts, Subscribers, record_held
from records.loads.identity import Identity, stamp
from records.run import RunInfo, UserInfo
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.drivers.doubles import BENCH, RUN
from topologies.model.management import DurableSubscription

TOPIC, NAME, CLIENT = Destination("topic", "prices"), "Taker-7", "consumers-7"
TAKERS = UserInfo("Taker", "consumer", "consumers", str(TOPIC), 2, {"durable": True})


def subscription_of(client_id: str = CLIENT, name: str = NAME, waiting: int = 3) -> DurableSubscription:
    return DurableSubscription(client_id, name, TOPIC.name, "", active=False, waiting=waiting)


@pytest.mark.parametrize(
    ("subscription", "is_theirs"),
    [
        (subscription_of(), True),
        (subscription_of("consumers-12"), True),  # users that share a connection share its client id
        (subscription_of(name="Taker-7-prices.3"), True),  # its class has several destinations
        (subscription_of("others-7"), False),
        (subscription_of(name="Takers-7"), False),
        (subscription_of("link_broker-1_inbound_broker-2", "NC-DS_broker-1_prices"), False),
    ],
)
def test_a_subscription_is_told_by_the_names_that_users_give(
    subscription: DurableSubscription, is_theirs: bool
) -> None:
    assert Subscribers.of([TAKERS]).owns_subscription(subscription) is is_theirs


def test_consumers_of_queues_and_of_plain_topics_have_no_durable_subscriptions() -> None:
    plain = UserInfo("Taker", "consumer", "consumers", str(TOPIC), 2, {"durable": False})
    assert Subscribers.of([plain]) == leftovers.NO_SUBSCRIBERS


class HeldStepBench:
    """A broker in memory that holds three messages for an unused durable subscription."""

    def __init__(self, parent: Path) -> None:
        self.directory = RunDirectory.create(parent, "run")
        self.directory.write_run(RunInfo("run", "s", "t", "processes", "memory"))
        self.recorder = Recorder(self.directory, "main")
        self.network = MemoryNetwork(["a"], credentials=BENCH)
        self.connector = MemoryConnector(self.network)
        subscriber = self.connect(CLIENT)
        subscriber.subscribe(Subscription(TOPIC, durable_name=NAME), lambda _: None)
        subscriber.close()
        producer = self.connect("producers-1")
        for seq in range(3):
            producer.send(Outgoing(TOPIC, stamp(Identity(RUN, 1, seq, 1), 64), True, seq))
        producer.close()

    def connect(self, client_id: str) -> MemoryConnection:
        return self.connector.connect(
            self.network.endpoint("a"),
            BENCH,
            client_id=client_id,
            timeout_s=5,
            on_settled=lambda *_: None,
            on_lost=lambda _: None,
        )

    def record(self, subscription: DurableSubscription) -> str:
        where = self.network.endpoint("a")
        return record_held(where, subscription, self.connector, BENCH, self.recorder, RUN)

    def rows(self) -> list[tuple[object, ...]]:
        self.recorder.close()
        seal(self.directory)
        rows = read_events(self.directory, "leftovers").to_pylist()
        return [(row["broker"], row["queue"], row["dead_letter"], row["producer"], row["seq"]) for row in rows]


def test_messages_held_for_a_subscription_are_recorded_and_stay(tmp_path: Path) -> None:
    bench = HeldStepBench(tmp_path)
    assert [bench.record(subscription_of()), bench.record(subscription_of())] == ["", ""]
    once = [("a", f"{CLIENT}.{NAME}", False, 1, seq) for seq in range(3)]
    assert bench.rows() == once + once


def test_a_subscription_that_gives_fewer_messages_than_it_holds_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "NOTHING_MORE_S", 0.3)
    sentence = HeldStepBench(tmp_path).record(subscription_of(waiting=5))
    assert sentence == "a: durable subscription Taker-7 of prices holds 5 messages, and gave 3"


def test_a_subscription_that_another_client_uses_is_told_with_the_brokers_words(tmp_path: Path) -> None:
    bench = HeldStepBench(tmp_path)
    bench.connect(CLIENT).subscribe(Subscription(TOPIC, durable_name=NAME), lambda _: None)
    sentence = bench.record(subscription_of())
    assert sentence.startswith("a: durable subscription Taker-7 of prices holds 3 messages, reading them failed: ")
    assert "in use" in sentence


def test_only_doubts_about_a_links_subscription_concern_any_message() -> None:
    doubts = SearchDoubts(["a: queue orders"])
    doubts.add("a: Taker-7", "consumers-7.Taker-7")
    doubts.add("b: Taker-7", "consumers-7.Taker-7")
    doubts.add("a: of a link", "")
    assert doubts.anywhere == ["a: queue orders", "a: of a link"]
    assert doubts.unread == {"consumers-7.Taker-7": "a: Taker-7; b: Taker-7"}
    assert doubts.sentences() == ["a: queue orders", "a: of a link", "a: Taker-7; b: Taker-7"]
