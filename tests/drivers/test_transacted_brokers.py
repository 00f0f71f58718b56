"""Checks transactions on a real broker while their connections are cut."""

import random
import threading
import time
from collections import Counter
from typing import cast

import pytest

from drivers.client.client import Client
from drivers.client.contract import ProducerSettings, ScheduledSend
from drivers.client.transacted_producer import TransactedProducer
from drivers.contract import Outcome, Subscription
from drivers.failover.uri import FailoverUri
from drivers.protocols import connector_of
from records.store.writer import Recorder
from records.tables.schemas import ReceiptRow, SendRow
from tests.drivers.conformance.stages import BROKER, RUN, queue
from tests.drivers.doubles import KeepingRecorder, eventually
from tests.support.relay import Relay
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
PROTOCOLS = ("stomp", "amqp")  # Java clients: jvm/test_transactions.py
SIZE, LAST, MESSAGES = 5, 14, 500


def client_to(runtime: Runtime, protocol: str, port: int, number: int) -> tuple[Client, KeepingRecorder]:
    recorder = KeepingRecorder()
    options = "initialReconnectDelay=20&maxReconnectDelay=50"
    client = Client(
        number=number,
        group="producers",
        uri=FailoverUri.parse(f"failover:({protocol}://127.0.0.1:{port})?{options}"),
        brokers={f"127.0.0.1:{port}": BROKER},
        connector=connector_of(protocol, Trust()),
        credentials=runtime.credentials(),
        recorder=cast(Recorder, recorder),
        rng=random.Random(1),
    )
    client.open()
    return client, recorder


def port_of(runtime: Runtime, protocol: str) -> int:
    return int(runtime.endpoint(BROKER, protocol).uri.partition("?")[0].rpartition(":")[2])


@pytest.mark.parametrize("shared", ["single_broker", "single_artemis"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_acked_messages_arrive_once_and_beside_them_only_what_is_in_doubt(
    request: pytest.FixtureRequest, protocol: str, shared: str
) -> None:
    outcomes: list[SendRow] = []
    rng = random.Random(7)
    received: list[ReceiptRow] = []
    runtime: Runtime = request.getfixturevalue(shared)
    with Relay(("127.0.0.1", port_of(runtime, protocol))) as relay:
        orders = queue("transacted")
        taker, _ = client_to(runtime, "stomp", port_of(runtime, "stomp"), number=2)
        taker.consumer(
            Subscription(orders, prefetch=1_000), run=RUN, on_receipt=lambda row, _body: received.append(row)
        )
        client, recorder = client_to(runtime, protocol, relay.port, number=1)
        producer = client.producer(
            orders, ProducerSettings(transaction_size=SIZE), run=RUN, on_settled=lambda row, *_: outcomes.append(row)
        )
        assert isinstance(producer, TransactedProducer)
        for seq in range(MESSAGES):
            if seq % 50 == LAST:  # this one commits: the connection goes about then
                threading.Timer(rng.uniform(0, 0.005), relay.cut).start()
            producer.send_batch((ScheduledSend(seq, time.perf_counter_ns()),), 64)
            if seq % 50 == LAST + SIZE - 1:  # the next one would commit: it goes in the midst of a transaction
                relay.cut()
        producer.commit()
        eventually(lambda: not producer.outstanding, 30)
        eventually(lambda: len({receipt.seq for receipt in received}) == MESSAGES, 30)
        time.sleep(1)
        client.close()
        taker.close()
    arrived = Counter((receipt.seq, receipt.attempt) for receipt in received)
    outcome_by_send = {(row.seq, row.attempt): row.outcome for row in recorder.sends}
    acked = {sent for sent, outcome in outcome_by_send.items() if outcome == Outcome.ACKED}
    doubted = {sent for sent, outcome in outcome_by_send.items() if outcome == Outcome.IN_DOUBT}
    assert len(acked) == MESSAGES
    assert all(arrived[sent] == 1 for sent in acked)
    assert set(arrived) <= acked | doubted
    assert len(doubted) >= MESSAGES // 50
