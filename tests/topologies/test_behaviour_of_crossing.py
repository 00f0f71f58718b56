"""Checks messages that cross a link: rate limits, replay, temporary queues, selectors and copies for topics."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import stomp

from drivers.contract import Subscription
from tests.support.crossings import observed, predicted
from tests.support.waiting import until
from tests.topologies.experiments import (
    MESSAGES,
    ORDERS,
    PRICES,
    SETTLES_S,
    client,
    clients,
    depth,
    here_to_there,
    send,
    up,
)
from topologies.classic.policies import BridgeFilter, DestinationPolicy
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]


def filtering(bridge_filter: BridgeFilter) -> DestinationPolicy:
    return DestinationPolicy("orders", bridge_filter=bridge_filter)


def test_a_rate_limit_lets_so_many_messages_pass_a_period(tmp_path: Path) -> None:
    topology = here_to_there(filtering(BridgeFilter(rate_limit=5, rate_duration_ms=600_000)))
    with up(topology, tmp_path) as runtime, clients(runtime, "there") as [consumer]:
        consumer.listen(ORDERS)
        send(runtime, "here")
        until(lambda: len(consumer.got) >= 5)
        time.sleep(SETTLES_S)
        assert len(consumer.got) == 5
        assert depth(runtime, topology, "here", "orders") == MESSAGES - 5


@pytest.mark.parametrize(("replay", "replays"), [((True, 0), True), ((True, 600_000), False), ((False, 0), False)])
def test_messages_go_back_only_after_the_replay_delay(replay: tuple[bool, int], replays: bool, tmp_path: Path) -> None:
    """Their consumers moved away. Without replay they never go back."""
    topology = here_to_there(filtering(BridgeFilter(*replay)), duplex=True, name="both-ways")
    with up(topology, tmp_path) as runtime:
        with clients(runtime, "there") as [consumer]:
            consumer.listen(ORDERS, settle=False)
            send(runtime, "here")
            consumer.received(MESSAGES)
        with clients(runtime, "here") as [consumer_here]:
            consumer_here.listen(ORDERS)
            if replays:
                until(lambda: len(consumer_here.got) == MESSAGES)
            time.sleep(SETTLES_S)
            expected = (MESSAGES, 0) if replays else (0, MESSAGES)
            assert (len(consumer_here.got), depth(runtime, topology, "there", "orders")) == expected


@pytest.mark.parametrize(("conduit", "copies"), [(True, 1), (False, 2)])
def test_a_topic_without_conduit_subscriptions_is_copied_once_for_each_consumer(
    conduit: bool, copies: int, tmp_path: Path
) -> None:
    """Both consumers get every copy. The broker's audit is off, as it would hide this."""
    unaudited = DestinationPolicy("prices", kind="topic", enable_audit=False)
    topology = here_to_there(unaudited, conduit_subscriptions=conduit, suppress_duplicate_topic_subscriptions=False)
    with up(topology, tmp_path) as runtime, clients(runtime, "there", "there") as consumers:
        for consumer in consumers:
            consumer.listen(PRICES)
        time.sleep(SETTLES_S)
        send(runtime, "here", PRICES, count=1)
        until(lambda: all(len(consumer.got) >= copies for consumer in consumers))
        time.sleep(SETTLES_S)
        assert [len(consumer.got) for consumer in consumers] == [copies, copies]


def test_a_destination_filter_says_of_which_consumers_a_link_hears(tmp_path: Path) -> None:
    topology = here_to_there(destination_filter="Queue.open.>")
    with up(topology, tmp_path) as runtime:
        for prefix, passes in (("open.", True), ("closed.", False)):
            crossings = observed(runtime, topology, "queue", prefix)
            assert crossings == predicted(topology, "queue", prefix)
            assert (("here", "there") in crossings) is passes


class CrossingListener(stomp.ConnectionListener):
    def __init__(self) -> None:
        self.frames: list[stomp.utils.Frame] = []

    def on_message(self, frame: stomp.utils.Frame) -> None:
        self.frames.append(frame)


def connected(runtime: Runtime, broker: str, listener: CrossingListener) -> stomp.Connection12:
    where, login = urlsplit(runtime.endpoint(broker, "stomp").uri), runtime.credentials()
    connection = stomp.Connection12([(where.hostname, where.port)])
    connection.set_listener("", listener)
    connection.connect(login.username, login.password, wait=True)
    return connection


@pytest.mark.parametrize(("conduit", "waits_at"), [(True, "there"), (False, "here")])
def test_a_conduit_subscription_forgets_the_selectors_of_its_consumers(
    conduit: bool, waits_at: str, tmp_path: Path
) -> None:
    """A message that no consumer there selects still crosses, and waits there."""
    topology = here_to_there(conduit_subscriptions=conduit)
    with up(topology, tmp_path) as runtime:
        consumer, sender = client(runtime, "there"), connected(runtime, "here", CrossingListener())
        consumer.connection.subscribe(Subscription(ORDERS, selector="colour = 'blue'"), consumer.got.append)
        time.sleep(SETTLES_S)
        sender.send("/queue/orders", "for nobody", headers={"colour": "red", "persistent": "true"})
        sender.send("/queue/orders", "for you", headers={"colour": "blue", "persistent": "true"})
        until(lambda: consumer.got)
        time.sleep(SETTLES_S)
        assert [delivery.body for delivery in consumer.got] == [b"for you"]
        consumer.connection.settle(consumer.got[0])
        consumer.close()
        sender.disconnect()
        until(lambda: depth(runtime, topology, waits_at, "orders") == 1)
        assert {depth(runtime, topology, broker, "orders") for broker in ("here", "there")} == {0, 1}


@pytest.mark.parametrize("bridged", [True, False])
def test_an_answer_comes_back_over_a_link_that_bridges_temporary_destinations(bridged: bool, tmp_path: Path) -> None:
    topology = here_to_there(bridge_temp_destinations=bridged, duplex=True, name="both-ways")
    with up(topology, tmp_path) as runtime:
        requests, replies = CrossingListener(), CrossingListener()
        asking, answering = connected(runtime, "here", replies), connected(runtime, "there", requests)
        answering.subscribe("/queue/questions", id="1")
        asking.subscribe("/temp-queue/answers", id="1")
        asking.send("/queue/questions", "how much?", headers={"reply-to": "/temp-queue/answers"})
        until(lambda: len(requests.frames) == 1)
        time.sleep(SETTLES_S)
        answering.send(requests.frames[0].headers["reply-to"], "42")
        if bridged:
            until(lambda: len(replies.frames) == 1)
        time.sleep(SETTLES_S)
        assert [frame.body for frame in replies.frames] == (["42"] if bridged else [])
        for connection in (asking, answering):
            connection.disconnect()
