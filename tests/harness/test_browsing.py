"""Checks that queues of clients that cannot browse are browsed by another protocol, to the last message."""

from pathlib import Path
from typing import Any, cast

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import Browsed, DriverError
from drivers.jvm import vm
from drivers.protocols import connector_of
from drivers.stomp.connector import StompConnector
from harness.java_parts import find_java_parts
from harness.run.watch import ManagedWatch, OtherProtocolBrowser
from records.loads import identity
from tests.drivers.doubles import Control, KeepingRecorder
from tests.drivers.java_bench import BROKER, RUN, bench_on, every_ms
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

JAVA = {
    "openwire": ("openwire", "single_broker", "single"),
    "core": ("core", "single_artemis", "artemis-single"),
    "openwire-on-artemis": ("openwire", "single_artemis", "artemis-single"),
}
MORE_THAN_A_PAGE = 3_000
vm.use(find_java_parts)


class LeftQueue:
    """A queue with messages that a Java client left."""

    def __init__(self, runtime: Runtime, protocol: str, entry: str, folder: Path) -> None:
        self.runtime, self.protocol, self.entry, self.orders = runtime, protocol, entry, queue("left")
        self._folder = folder

    def leave(self, messages: int, body_bytes: int = 64) -> None:
        bench = bench_on(self.runtime, self._folder, [BROKER], protocol=self.protocol)
        producer = bench.opened().producer(self.orders, ProducerSettings(body_bytes=body_bytes, in_flight=500), run=RUN)
        assert producer.run(every_ms(messages), Control()) == messages
        until(lambda: bench.statistics.settled == messages)
        bench.tables()

    def browse(self) -> list[Browsed]:
        """Browse like a run."""
        watch = ManagedWatch(build(self.entry), self.runtime, cast("Any", KeepingRecorder()), "main")
        browser = watch.browser(connector_of(self.protocol, Trust()), Trust())
        endpoint, credentials = self.runtime.endpoint(BROKER, self.protocol), self.runtime.credentials()
        return browser.browse(endpoint, credentials, self.orders.name, timeout_s=60)


@pytest.fixture(params=JAVA)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> LeftQueue:
    protocol, broker, entry = JAVA[request.param]
    return LeftQueue(request.getfixturevalue(broker), protocol, entry, tmp_path)


@pytest.mark.brokers
@pytest.mark.nightly
def test_every_message_of_a_java_client_is_shown_with_its_identity_and_none_is_taken(stage: LeftQueue) -> None:
    stage.leave(MORE_THAN_A_PAGE)
    for _ in range(2):
        messages = stage.browse()
        assert sorted(identity.read(message.body, RUN).seq for message in messages) == list(range(MORE_THAN_A_PAGE))
        assert all(message.age_ns is not None and -1e9 < message.age_ns < 300e9 for message in messages)


@pytest.mark.brokers
@pytest.mark.nightly
def test_a_large_message_is_shown_or_it_is_said_that_it_cannot_be(stage: LeftQueue) -> None:
    stage.leave(1, 200 * 1024)
    if stage.protocol != "core":
        assert [identity.read(message.body, RUN).seq for message in stage.browse()] == [0]
    else:
        words = rf"broker '{BROKER}', queue {stage.orders.name}: management shows no body of a large message"
        with pytest.raises(DriverError, match=words):
            stage.browse()


class RuntimeWithoutStomp:
    """A runtime of existing brokers without a STOMP connector."""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        raise KeyError(f"broker {broker!r} has no {protocol} URI in brokers.yaml; it has openwire")


def test_a_broker_without_the_protocol_that_browses_is_told() -> None:
    here = Endpoint("b", "openwire", "tcp://127.0.0.1:1")
    words = "queues of openwire consumers are browsed by stomp, but broker 'b' has no stomp URI in brokers.yaml"
    with pytest.raises(DriverError, match=words):
        OtherProtocolBrowser(RuntimeWithoutStomp(), StompConnector(), "stomp").browse(
            here, Credentials("u", "p"), "orders", timeout_s=1
        )
