"""Checks that a Python producer keeps its schedule, within its cap, until producing ends."""

import threading
from collections.abc import Iterator

import pytest

from drivers.client.contract import NoStatistics, ProducerSettings
from drivers.client.producer import Producer
from drivers.contract import Destination
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.send_schedule import Schedule
from tests.drivers.doubles import BENCH, RUN, KeepingRecorder, client_of, eventually, memory_uri

ORDERS = Destination.parse("queue://orders")


class Counting(NoStatistics):
    """Return the number of messages that were begun."""

    def __init__(self) -> None:
        self.begun = 0

    def counted(self, begun: int, settled: int) -> None:
        self.begun += begun


class Control:
    """Continue until stopped."""

    def __init__(self) -> None:
        self.producing = True
        self._stopped = threading.Event()

    def stop(self) -> None:
        self.producing = False
        self._stopped.set()

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        return self._stopped.wait(timeout_s)


class Bench:
    """A client of one broker in memory."""

    def __init__(self) -> None:
        self.network, self.recorder = MemoryNetwork(["a"], credentials=BENCH), KeepingRecorder()
        self.statistics, self.control = Counting(), Control()
        self.client = client_of(
            MemoryConnector(self.network), self.recorder, memory_uri("a"), statistics=self.statistics
        )
        self.client.open()

    def producer(self, in_flight: int = 1_000, transaction_size: int = 0) -> Producer:
        settings = ProducerSettings(64, in_flight, transaction_size=transaction_size)
        return self.client.producer(ORDERS, settings, run=RUN)

    def now_ns(self) -> int:
        return self.network.clock()


@pytest.fixture
def bench() -> Iterator[Bench]:
    new_bench = Bench()
    yield new_bench
    new_bench.client.close()
    new_bench.network.close()


def test_each_message_is_sent_once_and_never_before_it_is_due(bench: Bench) -> None:
    schedule, producer = Schedule(bench.now_ns() + 20_000_000, 500.0, 0, 40), bench.producer()
    assert producer.run(schedule, bench.control) == 40
    assert producer.begun == bench.statistics.begun == 40
    assert producer.wait_settled(60)
    assert [row.seq for row in bench.recorder.sends] == list(range(40))
    assert [row.due_ns for row in bench.recorder.sends] == [schedule.due_ns(slot) for slot in range(40)]
    assert all(row.sent_ns >= row.due_ns for row in bench.recorder.sends)
    assert not any(row.blocked for row in bench.recorder.sends)
    assert not producer.held_back


def test_what_finds_the_cap_reached_waits_for_answers_and_is_blocked(bench: Bench) -> None:
    bench.network.freeze("a")
    producer = bench.producer(in_flight=2)
    keep = threading.Thread(target=producer.run, args=(Schedule(bench.now_ns(), 1e6, 0, 5), bench.control), daemon=True)
    keep.start()
    eventually(lambda: producer.outstanding == 2)
    eventually(lambda: producer.held_back)
    bench.network.thaw("a")
    keep.join(60)
    assert producer.wait_settled(60)
    assert [row.blocked for row in sorted(bench.recorder.sends, key=lambda row: row.seq)][:3] == [False, False, True]
    assert producer.begun == 5


def test_a_producer_that_waits_for_its_connection_when_producing_ends_was_held_back(bench: Bench) -> None:
    bench.network.kill("a")
    producer = bench.producer(in_flight=2)
    keep = threading.Thread(target=producer.run, args=(Schedule(bench.now_ns(), 1_000.0), bench.control), daemon=True)
    keep.start()
    eventually(lambda: producer.held_back)
    bench.control.stop()
    bench.network.restore("a")
    keep.join(60)
    assert not keep.is_alive()
    assert producer.wait_settled(60)
    assert producer.held_back


def test_it_ends_when_producing_ends_though_the_schedule_goes_on(bench: Bench) -> None:
    producer = bench.producer(in_flight=2)
    keep = threading.Thread(target=producer.run, args=(Schedule(bench.now_ns(), 100.0), bench.control), daemon=True)
    keep.start()
    eventually(lambda: producer.begun > 2)
    bench.control.stop()
    keep.join(60)
    assert not keep.is_alive()
    assert producer.wait_settled(60)
    assert len(bench.recorder.sends) == producer.begun


def test_the_last_transaction_is_committed_though_it_is_not_full(bench: Bench) -> None:
    schedule, producer = Schedule(bench.now_ns(), 1e6, 0, 10), bench.producer(transaction_size=4)
    assert producer.run(schedule, bench.control) == 10
    assert [row.outcome for row in bench.recorder.sends] == ["acked"] * 10
