"""Checks that a Classic broker with a lowered store limit blocks durable messages until the limit is restored."""

from contextlib import closing

import pytest

from drivers.contract import Outcome
from harness.faults.probe import RuntimeProbe
from tests.support.stomp_clients import StompClient, body, queue
from topologies.catalogue.lookup import build
from topologies.classic.management import broker_mbean
from topologies.management.jolokia import Jolokia
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import operations_of

pytestmark = pytest.mark.brokers

NAME = "broker-1"


def limit_bytes(runtime: Runtime) -> int:
    with closing(Jolokia(runtime.management(NAME))) as agent:
        return int(agent.read(broker_mbean(NAME), "StoreLimit")["StoreLimit"])


def client(runtime: Runtime) -> StompClient:
    return StompClient(runtime.endpoint(NAME, "stomp"), runtime.credentials())


def test_durable_messages_wait_while_the_store_is_full_and_others_do_not(single_broker: Runtime) -> None:
    probe, before_bytes = RuntimeProbe(single_broker, build("single"), {}), limit_bytes(single_broker)
    with closing(client(single_broker)) as waiting, closing(client(single_broker)) as passing:
        operations_of(single_broker).lower_store_limit(NAME)
        try:
            full_percent = probe.store_percent(NAME)
            waiting.send(queue("durable"), body(1))
            to = queue("fleeting")
            passing.listen(to)
            passing.send(to, body(2), durable=False)
            assert [reading.seq for reading in passing.received(1)] == [2]
            assert waiting.settled == []
        finally:
            operations_of(single_broker).restore_store_limit(NAME)
        assert waiting.outcomes(1) == [Outcome.ACKED]
    assert full_percent is not None
    assert full_percent >= 100
    assert probe.store_percent(NAME) < 100
    assert limit_bytes(single_broker) == before_bytes
