"""Checks the report of a blocked producer: the broker, the producer, and from when until when."""

from collections.abc import Iterator

import pytest

from drivers.client.backpressure import BLOCKED_AFTER_NS
from drivers.client.contract import ProducerSettings
from drivers.contract import Destination, Outcome
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
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
S = BLOCKED_AFTER_NS


class BlockedBench:
    """Producers of one client, on a scripted broker and by a clock of the test's own."""

    def __init__(self) -> None:
        self.now_ns = 1
        self.recorder, self.connector = KeepingRecorder(), ScriptedConnector()
        self.client = client_of(self.connector, self.recorder, stomp_uri("a"), clock=lambda: self.now_ns)
        self.client.open()
        self.durable, self.one_way = (
            self.client.producer(
                ORDERS, ProducerSettings(durable=durable), number=number, run=RUN, on_settled=lambda *_: None
            )
            for number, durable in ((7, True), (8, False))
        )

    @property
    def connection(self) -> ScriptedConnection:
        return self.connector.connections[-1]

    def answer(self, nth: int) -> None:
        token = self.connection.sent[nth].token
        self.connection.on_settled(token, Outcome.ACKED, self.now_ns, "")

    def blocked_events(self) -> list[tuple[str, str | None, int, str]]:
        rows = [row for row in self.recorder.connections if "blocked" in row.event]
        assert {(row.client, row.group, row.protocol) for row in rows} <= {(1, "producers", "stomp")}
        return [(row.event, row.broker, row.at_ns, row.reason) for row in rows]


@pytest.fixture
def bench() -> Iterator[BlockedBench]:
    new_bench = BlockedBench()
    yield new_bench
    new_bench.client.close()


def test_a_broker_that_withholds_answers_is_recorded_as_blocking(bench: BlockedBench) -> None:
    bench.durable.send(0, 64, due_ns=0)
    bench.now_ns += S // 2
    bench.durable.send(1, 64, due_ns=0)
    bench.now_ns += S
    bench.answer(0)
    bench.answer(1)
    reason = "producer 7: no answer"
    assert bench.blocked_events() == [("blocked", "a", 1, reason), ("unblocked", "a", 1 + S // 2 + S, reason)]


def test_a_broker_that_answers_each_send_within_a_second_blocks_nobody(bench: BlockedBench) -> None:
    for seq in range(20):
        bench.durable.send(seq, 64, due_ns=0)
        bench.now_ns += S // 2
        bench.answer(seq)
        bench.now_ns += 5 * S  # nothing is due
    assert bench.blocked_events() == []


def test_a_write_that_waits_is_told_where_no_answer_is_expected(bench: BlockedBench) -> None:
    def wait(_: object) -> None:
        bench.now_ns += 3 * S

    bench.connection.on_send = wait
    bench.one_way.send(0, 64, due_ns=0)
    reason = "producer 8: the write waited"
    assert bench.blocked_events() == [("blocked", "a", 1, reason), ("unblocked", "a", 1 + 3 * S, reason)]


def test_a_write_that_waited_and_broke_is_told_too(bench: BlockedBench) -> None:
    def wait(_: object) -> None:
        bench.connection.on_send = lambda _: None
        bench.now_ns += 2 * S
        raise BrokenPipeError("broken pipe")

    bench.connection.on_send = wait
    bench.one_way.send(0, 64, due_ns=0)
    assert [event for event, *_ in bench.blocked_events()] == ["blocked", "unblocked"]


def test_what_is_unanswered_when_the_client_leaves_was_waited_for_until_then(bench: BlockedBench) -> None:
    bench.durable.send(0, 64, due_ns=0)
    bench.now_ns += 4 * S
    bench.client.close()
    assert [at_ns for _, _, at_ns, _ in bench.blocked_events()] == [1, 1 + 4 * S]


def test_a_loss_ends_the_wait(bench: BlockedBench) -> None:
    bench.durable.send(0, 64, due_ns=0)
    bench.now_ns += 4 * S
    bench.connection.on_lost("reset by peer")
    eventually(lambda: len(bench.blocked_events()) == 2)
    assert bench.blocked_events() == [
        ("blocked", "a", 1, "producer 7: no answer"),
        ("unblocked", "a", 1 + 4 * S, "producer 7: no answer"),
    ]


def test_a_frozen_memory_broker_blocks_its_producer_for_a_while() -> None:
    """Afterwards it accepts everything."""
    now_ns = [1]
    network, recorder = MemoryNetwork(["a"], credentials=BENCH, clock=lambda: now_ns[0]), KeepingRecorder()
    client = client_of(MemoryConnector(network), recorder, memory_uri("a"), clock=lambda: now_ns[0])
    client.open()
    producer = client.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None)
    network.freeze("a")
    for seq in range(5):
        producer.send(seq, 64, due_ns=0)
    now_ns[0] += 7 * S
    network.thaw("a")
    assert producer.wait_settled(60)
    changes = [(row.event, row.broker, row.at_ns) for row in recorder.connections if "blocked" in row.event]
    assert changes == [("blocked", "a", 1), ("unblocked", "a", 1 + 7 * S)]
    assert network.depths() == {"orders": 5}
    client.close()
    network.close()
