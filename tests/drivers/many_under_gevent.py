"""Checks that one process can hold more AMQP connections than select() can handle descriptors."""

import itertools
import threading
from pathlib import Path

import pytest

from drivers.contract import Connection, Delivery, Outcome, Outgoing, Subscription
from drivers.protocols import connector_of
from tests.support.brokers import running
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.model.trust import Trust

CONNECTIONS, AT_ONCE, DESCRIPTORS = 1_100, 10, 1_024
HEAP_MB = 2_048  # of the broker: Classic takes some 350 KB for each AMQP connection


@pytest.mark.amqp
@pytest.mark.brokers
@pytest.mark.nightly
def test_more_amqp_connections_than_select_has_descriptors_send_and_receive(tmp_path: Path) -> None:
    with running("single", tmp_path, HEAP_MB) as runtime:
        endpoint, credentials, connector = (
            runtime.endpoint("broker-1", "amqp"), runtime.credentials(), connector_of("amqp", Trust()),
        )  # fmt: skip
        settled: list[Outcome] = []
        lost: list[str] = []
        opened: list[Connection] = []
        numbers = itertools.count()

        def open_some() -> None:
            while (number := next(numbers)) < CONNECTIONS:
                opened.append(
                    connector.connect(
                        endpoint, credentials, client_id=f"many-{number}", timeout_s=60,
                        on_settled=lambda _token, outcome, _at, _reason: settled.append(outcome), on_lost=lost.append,
                    )
                )  # fmt: skip

        threads = [threading.Thread(target=open_some) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == CONNECTIONS
        assert len(list(Path("/proc/self/fd").iterdir())) > DESCRIPTORS
        place, got = queue("many"), list[Delivery]()
        opened[-1].subscribe(Subscription(place), got.append)
        for connection in (opened[0], opened[-2]):
            connection.send(Outgoing(place, b"x" * 64, True, None))
        until(lambda: len(got) == 2)
        until(lambda: settled == [Outcome.ACKED] * 2)
        assert lost == []
        for connection in opened[:5]:
            connection.close()
