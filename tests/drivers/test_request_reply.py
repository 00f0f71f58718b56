"""Checks that each request is answered by one reply, whose latency is the round trip."""

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from drivers.client.client import Client
from drivers.client.contract import ProducerSettings, ScheduledSend
from drivers.client.request_reply import replies_of
from drivers.contract import Delivery, Destination, DriverError, Outgoing, Subscription
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.loads.identity import Identity, stamp
from tests.drivers.doubles import (
    BENCH,
    RUN,
    KeepingRecorder,
    ScriptedConnection,
    ScriptedConnector,
    client_of,
    eventually,
    memory_uri,
    stomp_uri,
)

ORDERS = Destination.parse("queue://orders")
REPLIES = "queue://orders.replies"
REQUESTS = 50


class RequestReplyBench:
    """Two requesters at broker a and two repliers at broker b, each a separate client."""

    def __init__(self) -> None:
        self.network, self.recorder = MemoryNetwork(["a", "b"], credentials=BENCH), KeepingRecorder()
        self.connector = MemoryConnector(self.network)
        self.requesters = [self.client(number, "a") for number in (1, 2)]
        self.repliers = [self.client(number, "b") for number in (11, 12)]
        for client in self.requesters:
            client.consumer(Subscription(replies_of(ORDERS), temporary=True), run=RUN)
        for client in self.repliers:
            client.consumer(Subscription(ORDERS, replies=True), run=RUN)

    def client(self, number: int, broker: str) -> Client:
        client = client_of(self.connector, self.recorder, memory_uri(broker), number=number)
        client.open()
        return client

    def send(self, client: Client, *, requests: bool) -> None:
        """Requests due at 1,000 ns, 1,001 ns …"""
        producer = client.producer(ORDERS, ProducerSettings(requests=requests), run=RUN)
        producer.send_batch([ScheduledSend(seq, 1_000 + seq, False) for seq in range(REQUESTS)], 64)

    def close(self) -> None:
        for client in (*self.requesters, *self.repliers):
            client.close()
        self.network.close()


@pytest.fixture
def bench() -> Iterator[RequestReplyBench]:
    new_bench = RequestReplyBench()
    yield new_bench
    new_bench.close()


def test_each_request_gets_one_reply_on_the_connection_that_sent_it(bench: RequestReplyBench) -> None:
    for client in bench.requesters:
        bench.send(client, requests=True)
    eventually(lambda: len(bench.recorder.receipts) == 4 * REQUESTS)
    eventually(lambda: len(bench.recorder.sends) == 4 * REQUESTS)
    sent = Counter((row.destination, row.outcome) for row in bench.recorder.sends)
    assert sent == {("queue://orders", "acked"): 2 * REQUESTS, (REPLIES, "acked"): 2 * REQUESTS}
    replies = [row for row in bench.recorder.receipts if row.destination == REPLIES]
    assert Counter(row.consumer for row in replies) == {1: REQUESTS, 2: REQUESTS}
    assert len({(row.producer, row.seq) for row in replies}) == 2 * REQUESTS
    assert {row.producer for row in replies} <= {11, 12}


def test_a_reply_is_due_when_its_request_was_so_its_latency_is_the_round_trip(bench: RequestReplyBench) -> None:
    bench.send(bench.requesters[0], requests=True)
    eventually(lambda: len(bench.recorder.sends) == 2 * REQUESTS)
    due = sorted(row.due_ns for row in bench.recorder.sends if row.destination == REPLIES)
    assert due == [1_000 + seq for seq in range(REQUESTS)]
    assert {row.body_bytes for row in bench.recorder.sends} == {64}


def test_a_message_that_asks_for_no_reply_gets_none(bench: RequestReplyBench) -> None:
    bench.send(bench.requesters[0], requests=False)
    bench.send(bench.requesters[1], requests=True)
    eventually(lambda: len(bench.recorder.receipts) == 3 * REQUESTS)
    eventually(lambda: len(bench.recorder.sends) == 3 * REQUESTS)
    bench.close()
    replies = [row for row in bench.recorder.receipts if row.destination == REPLIES]
    assert Counter(row.consumer for row in replies) == {2: REQUESTS}


def test_a_rejected_reply_is_failed_and_its_request_acknowledged() -> None:
    def refuse_replies(connection: ScriptedConnection) -> None:
        def refuse(message: Outgoing) -> None:
            raise DriverError(f"{message.destination.name}: no such temporary queue")

        connection.on_send = refuse

    body = stamp(Identity(RUN, 1, 0, 1), 64)
    request = Delivery(body, time.perf_counter_ns(), False, 1, "token", Destination("temp-queue", "gone"), "1000")
    recorder, connector = KeepingRecorder(), ScriptedConnector(refuse_replies)
    client = client_of(connector, recorder, stomp_uri(), number=4)
    client.open()
    client.consumer(Subscription(ORDERS, replies=True), run=RUN)
    connection = connector.connections[0]
    connection.subscriptions[0][1](request)
    eventually(lambda: connection.settled == [request])
    client.close()
    assert [(row.producer, row.destination, row.outcome) for row in recorder.sends] == [(4, REPLIES, "failed")]
