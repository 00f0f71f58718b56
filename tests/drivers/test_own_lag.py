"""Checks when producers in Python count as late: only for their own delay. The clock is the test's."""

import threading
from collections.abc import Callable, Iterator

import pytest

from drivers.client.contract import NoStatistics, ProducerSettings
from drivers.client.per_message import PerMessageProducer
from drivers.client.producer import Producer
from drivers.contract import Destination, Outgoing
from drivers.memory.connector import MemoryConnection, MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.loads.send_schedule import Schedule
from tests.drivers.doubles import BENCH, RUN, KeepingRecorder, SendRow, client_of, eventually, memory_uri

ORDERS = Destination.parse("queue://orders")
MS, S = 1_000_000, 1_000_000_000


class Time:
    """A clock that only a test moves, and waits that end at once. ``oversleeps``: by this time (ns), the next time."""

    def __init__(self) -> None:
        self.now_ns, self.oversleeps, self.producing = 10 * S, 0, True

    def clock(self) -> int:
        return self.now_ns

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        self.now_ns += round(timeout_s * S) + self.oversleeps
        self.oversleeps = 0
        return False


class OwnLagBench:
    """One client of a broker in memory, connected a second ago. Ten messages are due at once."""

    def __init__(self) -> None:
        self.time = Time()
        self.network = MemoryNetwork(["a"], credentials=BENCH, clock=self.time.clock)
        self.recorder = KeepingRecorder()
        self.client = self.made(1)
        self.client.open()
        self.time.now_ns += S

    def made(self, number: int):  # type: ignore[no-untyped-def]
        connector = MemoryConnector(self.network)
        return client_of(connector, self.recorder, memory_uri("a"), number=number, clock=self.time.clock)

    def producer(self, *, in_flight: int = 100, durable: bool = True, transaction_size: int = 0) -> Producer:
        settings = ProducerSettings(64, in_flight, durable, transaction_size=transaction_size)
        return self.client.producer(ORDERS, settings, run=RUN)

    def due_now(self) -> Schedule:
        return Schedule(self.time.now_ns - 10, 1e9, 0, 10)

    def keep_while(self, producer: Producer | PerMessageProducer, until: Callable[[], None]) -> None:
        """Keep the schedule on another thread. ``until`` waits for the thread to be held back, and lets it go on."""
        keep = threading.Thread(target=producer.run, args=(self.due_now(), self.time), daemon=True)
        keep.start()
        eventually(lambda: producer.begun > 0)
        until()
        keep.join(60)
        assert not keep.is_alive()
        eventually(lambda: len(self.recorder.sends) >= 10)

    @property
    def sends(self) -> list[SendRow]:
        """The first attempts, by number."""
        return sorted((row for row in self.recorder.sends if row.attempt == 1), key=lambda row: row.seq)

    @property
    def lags_ns(self) -> list[int]:
        return [row.sent_ns - row.ready_ns for row in self.sends]


@pytest.fixture
def bench() -> Iterator[OwnLagBench]:
    new_bench = OwnLagBench()
    yield new_bench
    new_bench.client.close()
    new_bench.network.close()


def test_a_producer_that_wakes_late_is_late_with_all_that_was_due_meanwhile(bench: OwnLagBench) -> None:
    bench.time.oversleeps = 150 * MS
    due_ns = bench.time.now_ns + 20 * MS
    bench.producer().run(Schedule(due_ns, 20.0, 0, 6), bench.time)
    eventually(lambda: len(bench.sends) == 6)
    assert [lag // MS for lag in bench.lags_ns] == [150, 100, 50, 0, 0, 0]
    assert all(row.ready_ns == row.due_ns for row in bench.sends)


def test_a_producer_that_waits_for_room_in_flight_is_not_late(bench: OwnLagBench) -> None:
    producer = bench.producer(in_flight=2)
    bench.network.freeze("a")

    def thaw() -> None:
        eventually(lambda: producer.held_back and producer.outstanding == 2)
        bench.time.now_ns += 3 * S
        bench.network.thaw("a")

    frozen_ns = bench.time.now_ns
    bench.keep_while(producer, thaw)
    assert bench.lags_ns[2:] == [0] * 8
    assert [row.ready_ns - frozen_ns for row in bench.sends[2:]] == [3 * S] * 8
    assert [row.blocked for row in bench.sends[:3]] == [False, False, True]


@pytest.mark.parametrize("durable", [True, False])
def test_a_producer_that_waits_for_its_connection_is_not_late(bench: OwnLagBench, durable: bool) -> None:
    producer = bench.producer(durable=durable)
    bench.network.kill("a")
    eventually(lambda: bench.client.broker is None)

    def restore() -> None:
        bench.time.now_ns += 3 * S
        bench.network.restore("a")

    killed_ns = bench.time.now_ns
    bench.keep_while(producer, restore)
    assert bench.lags_ns == [0] * 10
    assert all(row.ready_ns >= killed_ns + 3 * S for row in bench.sends)


@pytest.mark.parametrize("durable", [True, False])
def test_a_producer_whose_write_a_broker_blocks_is_not_late(
    bench: OwnLagBench, durable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, unblocked = [], MemoryConnection.send

    def send(connection: MemoryConnection, message: Outgoing) -> int:
        written.append(unblocked(connection, message))
        bench.time.now_ns += 3 * S if len(written) == 1 else MS
        return written[-1]

    monkeypatch.setattr(MemoryConnection, "send", send)
    began_ns = bench.time.now_ns
    schedule = Schedule(began_ns, 2.0, 0, 10)  # seven are due while the first one is written
    bench.producer(durable=durable).run(schedule, bench.time)
    eventually(lambda: len(bench.recorder.sends) == 10)
    assert [row.ready_ns - began_ns for row in bench.sends[1:7]] == [3 * S + seq * MS for seq in range(6)]
    assert bench.lags_ns == [0] * 10


@pytest.mark.parametrize("for_credit", [True, False])
def test_a_producer_that_waits_before_its_write_is_late_unless_that_was_for_credit(
    monkeypatch: pytest.MonkeyPatch, for_credit: bool
) -> None:
    """Other users of a pooled connection may be writing: brokers do not cause that wait."""
    at_once = MemoryConnection.send

    def send(connection: MemoryConnection, message: Outgoing) -> int:
        bench.time.now_ns += 3 * S
        if for_credit:
            connection.credit_ns = bench.time.now_ns  # type: ignore[attr-defined]
        return at_once(connection, message)

    monkeypatch.setattr(MemoryConnection, "send", send)
    monkeypatch.setattr(MemoryConnection, "credit_ns", 0, raising=False)
    bench = OwnLagBench()
    bench.producer().run(Schedule(bench.time.now_ns, 1.0, 0, 1), bench.time)
    eventually(lambda: len(bench.sends) == 1)
    assert bench.lags_ns == [0 if for_credit else 3 * S]
    bench.client.close()
    bench.network.close()


def test_a_producer_that_waits_for_its_commit_is_not_late(bench: OwnLagBench) -> None:
    producer = bench.producer(transaction_size=5)
    bench.network.freeze("a")

    def thaw() -> None:
        eventually(lambda: producer.outstanding == 5)
        bench.time.now_ns += 3 * S
        bench.network.thaw("a")

    began_ns = bench.time.now_ns
    bench.keep_while(producer, thaw)
    assert [row.ready_ns - began_ns for row in bench.sends[5:]] == [3 * S] * 5
    assert bench.lags_ns[5:] == [0] * 5


class BenchConnections:
    """Makes the clients of a bench; see `drivers.client.per_message.MakesConnections`."""

    def __init__(self, bench: OwnLagBench) -> None:
        self._bench, self._numbers = bench, iter(range(7, 1_000))
        self.recorder, self.run_number, self.clock = bench.recorder, RUN, bench.time.clock
        self.statistics = NoStatistics()

    def next_number(self) -> int:
        return next(self._numbers)

    def client(self, role: str, group: str, *, user_class: str = "", number: int | None = None):  # type: ignore[no-untyped-def]
        return self._bench.made(number or 0)

    def forget(self, client: object) -> None: ...


def test_a_per_message_producer_is_late_before_it_connects(
    bench: OwnLagBench,
) -> None:
    """It is not late because of missing room in flight."""
    settings = ProducerSettings(64, in_flight=2)
    producer = PerMessageProducer(BenchConnections(bench), "producers", ORDERS, settings)  # type: ignore[arg-type]
    bench.network.freeze("a")

    def thaw() -> None:
        eventually(lambda: producer.held_back and producer.outstanding == 2)
        bench.time.now_ns += 3 * S
        bench.network.thaw("a")

    began_ns = bench.time.now_ns
    bench.keep_while(producer, thaw)
    assert [row.sent_ns - began_ns for row in bench.sends] == [0] * 2 + [3 * S] * 8
    assert [row.ready_ns - row.due_ns for row in bench.sends[:2]] == [0, 0], "connecting makes nothing ready"
    assert bench.lags_ns[2:] == [0] * 8
    producer.close()
