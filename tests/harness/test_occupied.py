"""Checks that a run on brokers that ran before begins on empty and unused queues only."""

from pathlib import Path

import pytest

from harness.run.leftovers import NO_SUBSCRIBERS, DeadLetterQueues, Subscribers
from harness.run.occupied import Occupied, OwnQueues, refusal
from records.errors import UserError
from records.run import UserInfo
from tests.support.brokers import running
from tests.support.stomp_clients import StompClient, queue
from tests.support.waiting import until
from topologies.artemis.management import queue_mbean, quoted
from topologies.catalogue.lookup import build
from topologies.model.management import BrokerConsumer, DurableSubscription

OTHER = BrokerConsumer("orders", "ID:other-1\n", "tcp://10.0.0.7:5111")
HELD = DurableSubscription("consumers-3", "Taker-3", "prices", "", active=False, waiting=4)
TAKERS = Subscribers(frozenset({("Ta.ker", "consumers")}))


def test_queues_that_are_empty_and_unused_are_no_reason() -> None:
    assert refusal([Occupied("broker-1"), Occupied("broker-2")], may_empty=False) == ""


def test_a_queue_with_messages_is_named_with_its_broker_and_count() -> None:
    found = [Occupied("broker-1", queues=(("orders", 1_050),), subscriptions=(HELD,))]
    assert refusal(found, may_empty=False) == (
        "queue 'orders' of broker-1 holds 1,050 messages, durable subscription 'Taker-3' of client 'consumers-3' to "
        "topic 'prices' on broker-1 holds 4 messages; the run would receive them as foreign messages: use destinations "
        "that no other client uses, or remove these messages with --empty-queues"
    )
    assert refusal(found, may_empty=True) == ""


def test_a_consumer_is_an_error_even_if_queues_may_be_emptied() -> None:
    """Its client id is escaped, as other users choose it."""
    found = [Occupied("broker-1", consumers=(OTHER,))]
    problem = refusal(found, may_empty=True)
    assert problem.startswith(r"queue 'orders' of broker-1 has the consumer 'ID:other-1\n' at tcp://10.0.0.7:5111; ")
    assert problem.isprintable()


def test_of_many_occupied_queues_five_are_named() -> None:
    found = [Occupied("broker-1", queues=tuple((f"orders.{number}", 1) for number in range(8)))]
    assert "'orders.4' of broker-1 holds 1 messages, and 3 more; " in refusal(found, may_empty=False)


@pytest.mark.parametrize(
    ("name", "is_theirs"),
    [
        ("consumers-12.Ta.ker-7", True),
        (r"consumers-12.Ta\.ker-7", True),
        (r"consumers-12.Ta\.ker-7-prices\.1", True),
        ("others-12.Ta.ker-7", False),
        ("consumers-12.Taxker-7", False),
        ("Ta.ker-7", False),
        ("shop.consumers-12.Ta.ker-7", False),
    ],
)
def test_the_queue_of_a_durable_subscription_is_known_by_its_whole_name(name: str, is_theirs: bool) -> None:
    """Artemis has a queue for each durable subscription. On existing brokers it is checked like the run's queues."""
    assert TAKERS.owns_queue(name) is is_theirs
    assert DeadLetterQueues().select_run_queues({name: 3}, ["topic://prices"], TAKERS) == (
        {name: 3} if is_theirs else {}
    )


def test_a_queue_that_producers_send_to_holds_no_dead_letters() -> None:
    """Its name does not matter: the drain waits for it, and messages left there are stranded."""
    topology = build("single")
    named = DeadLetterQueues.of(topology, ["queue://DLQ.shop", "topic://DLQ.prices"])
    assert (named.has("DLQ.shop"), named.has("DLQ.prices"), named.has("ActiveMQ.DLQ")) == (False, True, True)
    assert named.waiting({"DLQ.shop": 3, "DLQ": 2}) == 3


def test_names_in_artemis_mbeans_are_quoted_as_java_does() -> None:
    """Unquoted, ``*`` and ``?`` would match other queues as well."""
    assert quoted('a*b?c"d\\.e') == 'a\\*b\\?c\\"d\\\\.e'
    assert 'queue="a\\*"' in queue_mbean("b", "*", "a*", "*")
    assert 'address="*"' in queue_mbean("b", "*", "a*", "*")
    assert 'queue="*"' in queue_mbean("b", "*", "*", "*")


@pytest.mark.brokers
@pytest.mark.parametrize("entry", ["single", "artemis-single"])
def test_brokers_report_consumers_and_messages_of_own_queues_only(entry: str, tmp_path: Path) -> None:
    """The queues are emptied only if that is permitted. Other queues keep their messages."""
    topology, told = build(entry), list[str]()
    with running(topology, tmp_path, memory_mb=200) as broker:
        where, credentials = broker.endpoint("broker-1", "stomp"), broker.credentials()
        ours, theirs = queue("ours"), queue("theirs")
        client = StompClient(where, credentials)
        for destination in (ours, theirs):
            client.send(destination, b"hello", b"hello again")
        client.outcomes(4)
        own = OwnQueues(topology, broker.management, [ours.name], NO_SUBSCRIBERS)
        with pytest.raises(UserError, match=rf"^queue '{ours.name}' of broker-1 holds 2 messages; the run would"):
            own.require_unused(told.append, may_empty=False)
        own.require_unused(told.append, may_empty=True)
        assert told == [f"emptied because of --empty-queues: queue '{ours.name}' of broker-1 holds 2 messages"]
        own.require_unused(told.append, may_empty=False)
        listener = StompClient(where, credentials, client_id="a, stranger=*?")
        listener.listen(ours)
        with pytest.raises(UserError, match=r"has the consumer 'a, stranger=\*\?' at (tcp://|/)?127\.0\.0\.1:\d+; "):
            own.require_unused(told.append, may_empty=True)
        listener.close()
        client.listen(theirs)
        until(lambda: len(client.got) == 2)
        client.close()


def test_plain_subscribers_have_no_queues() -> None:
    plain = UserInfo("Taker", "consumer", "consumers", "topic://prices", 2, {"durable": False})
    assert not Subscribers.of([plain]).owns_queue("consumers-1.Taker-1")
