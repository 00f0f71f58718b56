"""Checks that messages in transactions are recorded with the broker's answer to each transaction."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from drivers.client.client import Client
from drivers.client.contract import ProducerSettings, ScheduledSend
from drivers.client.transacted_producer import TransactedProducer
from drivers.contract import Destination, Outcome, Refused, Subscription
from drivers.failover.client_connection import ClientConnection
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.tables.schemas import ReceiptRow
from tests.drivers.doubles import RUN, KeepingRecorder, ScriptedConnection, Settled, client_of, eventually, memory_uri

ORDERS = Destination.parse("queue://orders")
BODY_BYTES, S = 64, 1_000_000_000


class TransactedBench:
    """A producer of transactions of three, and a consumer, on brokers a and b in memory."""

    def __init__(
        self, *, durable: bool = True, resend: bool = True, clock: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self.network = MemoryNetwork("ab", clock=clock)
        self.recorder, self.outcomes = KeepingRecorder(), list[Settled]()
        self.received: list[ReceiptRow] = []
        connector = MemoryConnector(self.network)
        self.client: Client = client_of(connector, self.recorder, memory_uri(), clock=clock)
        self.client.open()
        producer = self.client.producer(
            ORDERS,
            ProducerSettings(durable=durable, resend_in_doubt=resend, transaction_size=3),
            run=RUN,
            on_settled=lambda *settled: self.outcomes.append(Settled(*settled)),
        )
        assert isinstance(producer, TransactedProducer)
        self.producer = producer
        self.taker: Client = client_of(connector, KeepingRecorder(), memory_uri("b"), number=2)
        self.taker.open()
        self.taker.consumer(Subscription(ORDERS), run=RUN, on_receipt=lambda row, _body: self.received.append(row))

    def send(self, *seqs: int, due_ns: int = 0) -> None:
        self.producer.send_batch([ScheduledSend(seq, due_ns) for seq in seqs], BODY_BYTES)

    def arrived(self, count: int) -> list[tuple[int, int]]:
        """Wait for this number of deliveries, and return their (seq, attempt)."""
        eventually(lambda: len(self.received) >= count)
        return [(receipt.seq, receipt.attempt) for receipt in self.received]

    def once_arrived(self, count: int, act: Callable[[], None]) -> None:
        """Runs in parallel to the test, which waits in a commit."""
        threading.Thread(target=lambda: (self.arrived(count), act())).start()

    def close(self) -> None:
        self.client.close()
        self.taker.close()
        self.network.close()


@pytest.fixture
def bench() -> Iterator[TransactedBench]:
    new_bench = TransactedBench()
    yield new_bench
    new_bench.close()


def test_messages_wait_for_the_last_of_their_transaction_and_are_acked_together(bench: TransactedBench) -> None:
    bench.send(0)
    bench.send(1)
    assert (bench.recorder.sends, bench.producer.outstanding) == ([], 2)
    assert bench.network.depths().get("orders", 0) == 0
    bench.send(2)
    assert [(row.seq, row.outcome) for row in bench.recorder.sends] == [(seq, "acked") for seq in range(3)]
    assert len({row.settled_ns for row in bench.recorder.sends}) == 1
    assert bench.arrived(3) == [(0, 1), (1, 1), (2, 1)]


def test_a_batch_fills_as_many_transactions_as_it_has_messages_for(bench: TransactedBench) -> None:
    bench.send(*range(8))
    assert [row.seq for row in bench.recorder.sends] == list(range(6))
    bench.producer.commit()
    assert bench.producer.outstanding == 0
    assert bench.arrived(8) == [(seq, 1) for seq in range(8)]


def test_a_producer_without_an_open_transaction_has_nothing_to_commit(bench: TransactedBench) -> None:
    bench.send(0, 1, 2)
    bench.producer.commit()
    assert len(bench.recorder.sends) == 3


def test_what_is_not_durable_is_acked_too() -> None:
    bench = TransactedBench(durable=False)
    bench.send(0, 1, 2)
    assert [row.outcome for row in bench.recorder.sends] == ["acked"] * 3
    bench.close()


def test_what_was_due_while_a_commit_was_waited_for_went_late_because_it_was_blocked(bench: TransactedBench) -> None:
    due_ns = bench.network.clock()
    bench.send(0, 1, 2, 3, due_ns=due_ns)
    bench.send(4, 5, due_ns=bench.network.clock())
    assert [row.blocked for row in sorted(bench.recorder.sends)] == [False, False, False, True, False, False]


def test_an_open_transaction_is_in_doubt_with_its_connection_and_goes_again_as_one(bench: TransactedBench) -> None:
    bench.send(0, 1)
    bench.network.kill("a")
    eventually(lambda: bench.client.broker == "b" and bench.producer.outstanding == 0)
    assert bench.recorder.attempts(0) == bench.recorder.attempts(1) == [(1, "in_doubt"), (2, "acked")]
    bench.send(2, 3, 4)
    assert bench.arrived(5) == [(0, 2), (1, 2), (2, 1), (3, 1), (4, 1)]


def test_a_connection_lost_in_the_commit_leaves_doubt_and_perhaps_duplicates(bench: TransactedBench) -> None:
    bench.network.hold_answers("a")
    bench.once_arrived(3, lambda: bench.network.kill("a"))
    bench.send(0, 1, 2)
    eventually(lambda: bench.producer.outstanding == 0)
    assert [bench.recorder.attempts(seq) for seq in range(3)] == [[(1, "in_doubt"), (2, "acked")]] * 3
    assert sorted(bench.arrived(6)) == [(seq, attempt) for seq in range(3) for attempt in (1, 2)]


def test_without_resending_the_doubt_is_the_end() -> None:
    bench = TransactedBench(resend=False)
    bench.send(0, 1)
    bench.network.kill("a")
    eventually(lambda: bench.client.broker == "b")
    bench.send(2, 3, 4)
    assert bench.recorder.attempts(1) == [(1, "in_doubt")]
    assert bench.arrived(3) == [(2, 1), (3, 1), (4, 1)]
    assert [attempt.final for attempt in bench.outcomes] == [True] * 5
    bench.close()


def test_a_refused_destination_fails_the_whole_transaction(bench: TransactedBench) -> None:
    bench.network.refuse("queue://orders")
    bench.send(0, 1, 2)
    assert [attempt.row.outcome for attempt in bench.outcomes] == [Outcome.FAILED] * 3
    assert all("queue://orders" in attempt.reason for attempt in bench.outcomes)


def test_a_client_that_leaves_with_a_transaction_open_leaves_its_messages_in_doubt() -> None:
    bench = TransactedBench()
    bench.send(0, 1)
    bench.client.close()
    assert [(row.seq, row.outcome) for row in bench.recorder.sends] == [(0, "in_doubt"), (1, "in_doubt")]
    bench.close()
    assert bench.received == []


def test_a_commit_without_an_answer_at_the_close_is_in_doubt_and_the_close_says_so() -> None:
    bench = TransactedBench()
    bench.network.hold_answers("a")
    sending = threading.Thread(target=bench.send, args=(0, 1, 2))
    sending.start()
    bench.arrived(3)
    bench.client.close()
    sending.join(60)
    assert [(row.seq, row.outcome) for row in bench.recorder.sends] == [(seq, "in_doubt") for seq in range(3)]
    ended = [
        (row.event, row.broker, row.reason) for row in bench.recorder.connections if row.event in ("lost", "closed")
    ]
    assert ended == [("closed", "a", "3 messages are in doubt")]
    bench.close()


def test_a_client_leaves_the_connection_by_which_a_transaction_was_on_its_way_again() -> None:
    bench = TransactedBench()
    bench.send(0, 1)
    bench.network.hold_answers("b")
    bench.network.kill("a")
    bench.arrived(2)
    assert bench.client.broker is None
    bench.client.close()
    assert [bench.recorder.attempts(seq) for seq in range(2)] == [[(1, "in_doubt"), (2, "in_doubt")]] * 2
    ended = [
        (row.event, row.broker, row.reason) for row in bench.recorder.connections if row.event in ("lost", "closed")
    ]
    assert ended == [("lost", "a", "broker a was killed"), ("closed", "b", "2 messages are in doubt")]
    assert bench.network.connections("b") == 1  # the consumer's
    bench.close()


def test_an_unanswered_commit_blocks_but_an_open_transaction_does_not() -> None:
    now_ns = [S]
    bench = TransactedBench(clock=lambda: now_ns[0])
    bench.send(0, 1)
    now_ns[0] += 5 * S
    bench.send(2, 3)
    bench.network.hold_answers("a")

    def lose_later() -> None:
        now_ns[0] += 3 * S
        bench.network.kill("a")

    bench.once_arrived(4, lose_later)
    bench.producer.commit()
    blocked = [(row.event, row.broker, row.at_ns) for row in bench.recorder.connections if "blocked" in row.event]
    assert blocked == [("blocked", "a", 6 * S), ("unblocked", "a", 9 * S)]
    bench.close()


def test_a_connection_without_transactions_refuses_to_begin_one() -> None:
    connection = ClientConnection("b1")
    connection.carry(ScriptedConnection("b1", "", lambda *_: None, lambda _: None))
    with pytest.raises(Refused, match=r"broker b1: .* has no transactions"):
        connection.begin()
