"""Checks the link properties and broker settings that are quick to test, on brokers that all tests share."""

import time
from collections.abc import Iterator

import pytest

from drivers.contract import Destination, Outcome
from tests.support.stomp_clients import body
from tests.support.waiting import until
from tests.topologies.experiments import SETTLES_S, client, depth, shares, two, up
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers

TWO = two(
    decrease_network_consumer_priority=False,
    statically_included_destinations=("queue://forwarded.>",),
    excluded_destinations=("queue://private.>",),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with up(TWO, tmp_path_factory.mktemp("pair")) as runtime:
        yield runtime


def send_one(runtime: Runtime, *queues: str) -> None:
    """A message to each queue, at ``here``."""
    sender = client(runtime, "here")
    for queue in queues:
        sender.send(Destination("queue", queue), body(0))
    assert sender.outcomes(len(queues)) == [Outcome.ACKED] * len(queues)
    sender.close()


@pytest.mark.nightly  # as lifecycle/test_sharing.py, which has the same in a whole run
def test_conduit_subscriptions_count_all_consumers_of_a_broker_as_one(pair: Runtime) -> None:
    here, *there = shares(pair, "here", "there", "there")
    assert (here, sum(there)) == (15, 15)


@pytest.mark.nightly  # the test below has a wildcard that excludes
def test_what_a_wildcard_includes_statically_is_forwarded_though_nobody_consumes_it(pair: Runtime) -> None:
    send_one(pair, "forwarded.eu", "forwarded.eu.uk", "others")
    until(lambda: [depth(pair, TWO, "there", queue) for queue in ("forwarded.eu", "forwarded.eu.uk")] == [1, 1])
    time.sleep(SETTLES_S)
    assert depth(pair, TWO, "here", "others") == 1


def test_what_a_wildcard_excludes_stays_though_somebody_consumes_it_there(pair: Runtime) -> None:
    consumer = client(pair, "there")
    for queue in ("private.letters", "letters"):
        consumer.listen(Destination("queue", queue))
    send_one(pair, "private.letters", "letters")
    until(lambda: consumer.got)
    time.sleep(SETTLES_S)
    assert len(consumer.got) == 1
    assert depth(pair, TWO, "here", "private.letters") == 1
    consumer.close()


def test_subscribers_by_stomp_each_get_what_is_sent_to_their_topic_on_artemis(single_artemis: Runtime) -> None:
    """With its queues' routing as the rest is by default here, ANYCAST, they got nothing."""
    prices = Destination("topic", "prices.of.every.run")
    subscribers = [client(single_artemis, "broker-1") for _ in range(2)]
    for subscriber in subscribers:
        subscriber.listen(prices)
    sender = client(single_artemis, "broker-1")
    sender.send(prices, body(0), body(1))
    assert sender.outcomes(2) == [Outcome.ACKED] * 2
    assert [[reading.seq for reading in subscriber.received(2)] for subscriber in subscribers] == [[0, 1]] * 2
    for each in (sender, *subscribers):
        each.close()
