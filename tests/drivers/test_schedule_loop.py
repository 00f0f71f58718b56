"""Checks that a Python producer keeps its schedule, within its cap, until producing ends."""

import threading
import time
from collections.abc import Iterator

import pytest

from drivers.client.contract import NoStatistics, ProducerSettings
from drivers.client.producer import Producer
from drivers.contract import Destination, Outgoing
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import Member, MemoryNetwork
from records.loads.send_schedule import ClosedSchedule, Schedule
from records.units import NS_PER_S
from tests.drivers.doubles import BENCH, RUN, Control, KeepingRecorder, client_of, eventually, memory_uri

ORDERS = Destination.parse("queue://orders")


class BegunCounter(NoStatistics):
    """Return the number of messages that were begun."""

    def __init__(self) -> None:
        self.begun = 0

    def counted(self, begun: int, settled: int) -> None:
        self.begun += begun


class ScheduleLoopBench:
    """A client of one broker in memory."""

    def __init__(self) -> None:
        self.network, self.recorder = MemoryNetwork(["a"], credentials=BENCH), KeepingRecorder()
        self.statistics, self.control = BegunCounter(), Control()
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
def bench() -> Iterator[ScheduleLoopBench]:
    new_bench = ScheduleLoopBench()
    yield new_bench
    new_bench.client.close()
    new_bench.network.close()


def test_each_message_is_sent_once_and_never_before_it_is_due(bench: ScheduleLoopBench) -> None:
    schedule, producer = Schedule(bench.now_ns() + 20_000_000, 500.0, 0, 40), bench.producer()
    assert producer.run(schedule, bench.control) == 40
    assert producer.begun == bench.statistics.begun == 40
    assert producer.wait_settled(60)
    assert [row.seq for row in bench.recorder.sends] == list(range(40))
    assert [row.due_ns for row in bench.recorder.sends] == [schedule.due_ns(slot) for slot in range(40)]
    assert all(row.sent_ns >= row.due_ns for row in bench.recorder.sends)
    assert not any(row.blocked for row in bench.recorder.sends)
    assert not producer.held_back


def test_what_finds_the_cap_reached_waits_for_answers_and_is_blocked(bench: ScheduleLoopBench) -> None:
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


def test_a_producer_that_waits_for_its_connection_when_producing_ends_was_held_back(bench: ScheduleLoopBench) -> None:
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


def test_it_ends_when_producing_ends_though_the_schedule_goes_on(bench: ScheduleLoopBench) -> None:
    producer = bench.producer(in_flight=2)
    keep = threading.Thread(target=producer.run, args=(Schedule(bench.now_ns(), 100.0), bench.control), daemon=True)
    keep.start()
    eventually(lambda: producer.begun > 2)
    bench.control.stop()
    keep.join(60)
    assert not keep.is_alive()
    assert producer.wait_settled(60)
    assert len(bench.recorder.sends) == producer.begun


def test_the_last_transaction_is_committed_though_it_is_not_full(bench: ScheduleLoopBench) -> None:
    schedule, producer = Schedule(bench.now_ns(), 1e6, 0, 10), bench.producer(transaction_size=4)
    assert producer.run(schedule, bench.control) == 10
    assert [row.outcome for row in bench.recorder.sends] == ["acked"] * 10


def test_a_closed_producer_sends_once_per_answer(bench: ScheduleLoopBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers take 20 ms, so it sends 50 messages per second. A message may be sent from the moment of the answer to
    the one before it."""
    answer_s, accept = 0.02, MemoryNetwork._accept

    def accept_late(network: MemoryNetwork, member: Member, message: Outgoing) -> None:
        time.sleep(answer_s)
        accept(network, member, message)

    monkeypatch.setattr(MemoryNetwork, "_accept", accept_late)
    schedule, producer = ClosedSchedule(bench.now_ns(), 10.0, count=30), bench.producer(in_flight=1)
    assert producer.run(schedule, bench.control) == 30
    assert producer.wait_settled(60)
    rows = bench.recorder.sends
    answered_ns = [row.settled_ns or 0 for row in rows]
    assert [row.seq for row in rows] == list(range(30))
    assert all(answered <= row.sent_ns for answered, row in zip(answered_ns, rows[1:], strict=False))
    assert not any(row.blocked for row in rows)
    assert not producer.held_back
    waits_ns = sum(answered - row.sent_ns for answered, row in zip(answered_ns, rows, strict=True))
    assert waits_ns >= 30 * answer_s * NS_PER_S
    assert waits_ns > 0.8 * (answered_ns[-1] - rows[0].sent_ns)  # it does hardly anything but wait for answers
    due_after_ns = [row.due_ns - answered for answered, row in zip(answered_ns, rows[1:], strict=False)]
    assert 0 <= sorted(due_after_ns)[len(due_after_ns) // 2] < 2_000_000


def test_a_closed_producer_ends_with_the_load(bench: ScheduleLoopBench) -> None:
    ends_ns = bench.now_ns() + 200_000_000
    schedule, producer = ClosedSchedule(bench.now_ns(), 10.0, ends_ns=ends_ns), bench.producer(in_flight=1)
    assert producer.run(schedule, bench.control) > 1
    assert bench.control.producing
    assert producer.wait_settled(60)
    assert all(row.due_ns < ends_ns for row in bench.recorder.sends)
    assert schedule.due_ns(producer.begun) is None


def test_a_closed_producer_waits_for_a_resend(bench: ScheduleLoopBench) -> None:
    """The answer to message 0 is lost with the connection. Message 1 follows the answer to its second attempt."""
    bench.network.hold_answers("a")
    producer = bench.producer(in_flight=1)
    schedule = ClosedSchedule(bench.now_ns(), 10.0, count=2)
    keep = threading.Thread(target=producer.run, args=(schedule, bench.control), daemon=True)
    keep.start()
    eventually(lambda: producer.outstanding == 1)
    bench.network.kill("a")
    bench.network.restore("a")
    keep.join(60)
    assert producer.wait_settled(60)
    attempts = [(row.seq, row.attempt, row.outcome) for row in bench.recorder.sends]
    assert attempts == [(0, 1, "in_doubt"), (0, 2, "acked"), (1, 1, "acked")]
    assert bench.recorder.sends[2].due_ns >= (bench.recorder.sends[1].settled_ns or 0)
