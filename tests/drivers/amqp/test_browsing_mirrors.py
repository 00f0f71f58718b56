"""Checks that AMQP browses durable subscriptions on both brokers of a real Artemis mirror."""

from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from drivers.amqp.connection import AmqpConnection
from drivers.amqp.connector import AmqpConnector
from drivers.broker_errors import retry_login
from drivers.contract import Destination, Outcome, Outgoing, Subscription
from harness.run.watch import ManagedWatch
from records.loads import identity
from tests.drivers.doubles import KeepingRecorder
from tests.support.brokers import running
from tests.support.stomp_clients import RUN, body
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.management.links import prove_links
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

PRICES, LARGE_BYTES = Destination("topic", "prices"), 200 * 1024


def connection(runtime: Runtime, settled: list[Outcome], client_id: str = "") -> AmqpConnection:
    log_in = partial(
        AmqpConnector().connect,
        runtime.endpoint("broker-1", "amqp"),
        runtime.credentials(),
        client_id=client_id,
        on_settled=lambda _token, outcome, *_: settled.append(outcome),
        on_lost=print,
    )
    return retry_login(log_in, 60)


@pytest.mark.brokers
def test_a_durable_subscription_is_browsed_on_both_brokers(tmp_path: Path) -> None:
    """A mirror creates the subscription's queue in its own way: a browser does not get it by its plain name."""
    settled: list[Outcome] = []
    with running("mirror", tmp_path) as runtime:
        prove_links(runtime, build("mirror"), timeout_s=60)
        subscriber = connection(runtime, [], client_id="desk")
        subscriber.subscribe(Subscription(PRICES, durable_name="book"), print)
        subscriber.close()
        sender = connection(runtime, settled)
        for seq in range(3):
            sender.send(Outgoing(PRICES, body(seq, LARGE_BYTES), True, seq))
        until(lambda: settled == [Outcome.ACKED] * 3)
        sender.close()
        watch = ManagedWatch(build("mirror"), runtime, cast("Any", KeepingRecorder()), "main")
        until(lambda: watch.depths("broker-2").get("desk.book") == 3)
        browse = partial(watch.browser(AmqpConnector(), Trust()).browse, credentials=runtime.credentials())
        for broker in ("broker-1", "broker-2"):
            where = runtime.endpoint(broker, "amqp")
            messages = browse(where, queue="desk.book", timeout_s=60)
            assert [identity.read(message.body, RUN).seq for message in messages] == [0, 1, 2]
            assert watch.depths(broker)["desk.book"] == 3, "browsing takes no message"
            assert browse(where, queue="desk.books", timeout_s=60) == [], "the broker has no queue with this name"
