"""Checks when senders in the JVM count as late: only for their own delay."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jpype
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.client.backpressure import LONG_WRITE_NS, Readiness
from drivers.jvm import vm
from drivers.jvm.event_buffers import SEND_ROW
from harness.java_parts import find_java_parts
from tests.drivers.java_loading import ask_for_sender, classes
from tests.support.waiting import until

pytestmark = pytest.mark.java
vm.use(find_java_parts)
S, BODY_BYTES = 1_000_000_000, 64
times = st.integers(0, 10 * S)
TAKES = {"on_wake": 2, "released": 1, "on_written": 3}
IN_JAVA = {"on_wake": "onWake", "released": "released", "on_written": "onWritten"}
events = st.lists(st.tuples(st.sampled_from(sorted(TAKES)), st.tuples(times, times, times)))


@pytest.fixture(scope="module")
def java() -> Callable[[str], Any]:
    return classes("openwire")


class JvmLagBench:
    """A sender whose broker obeys the test, and its recorded rows."""

    def __init__(self, java: Callable[[str], Any], hub: Any) -> None:
        self.rows = java("brokerbench.SendRows")(hub, 100)
        receipts = java("brokerbench.ReceiptRows")(hub, 1)
        self.client = java("brokerbench.HoldsBack")(hub, java("brokerbench.Names")(), self.rows, receipts)
        self._java, self._hub, self._sent = java, hub, list[Any]()

    def sender(self, in_flight: int = 100, transaction_size: int = 0) -> Any:
        body = jpype.JArray(jpype.JByte)(BODY_BYTES)
        ask_for_sender(self._java, self.client, body=body, in_flight=in_flight, size=transaction_size)
        return until(lambda: [value for _, event, value, _, _ in self._hub.take() if str(event) == "sender"])[0]

    def sent(self, count: int) -> list[Any]:
        """Wait for this number of rows of ``sends``, and return them by number."""

        def enough() -> bool:
            size, half = divmod(int(self.rows.take()), 2)
            self._sent += list(np.frombuffer(bytes(memoryview(self.rows.buffer(half))[:size]), SEND_ROW))
            return len(self._sent) >= count

        until(enough)
        return sorted(self._sent, key=lambda row: row["seq"])


@pytest.fixture
def bench(java: Callable[[str], Any]) -> Iterator[JvmLagBench]:
    reading, writing = os.pipe()
    yield JvmLagBench(java, java("brokerbench.Hub")(writing))
    os.close(reading)
    os.close(writing)


def due(sender: Any, *due_ns: int) -> None:
    """The messages of a sender only."""
    sender.add(jpype.JArray(jpype.JLong)(list(due_ns)), True)


@settings(deadline=None)
@given(events, times, times)
def test_the_rule_is_that_of_the_loops_in_python(
    java: Callable[[str], Any], happened: list[tuple[str, tuple[int, int, int]]], due_ns: int, now_ns: int
) -> None:
    ours, theirs = Readiness(), java("brokerbench.JavaReadiness")()
    for event, values in happened:
        getattr(ours, event)(*values[: TAKES[event]])
        getattr(theirs, IN_JAVA[event])(*values[: TAKES[event]])
    assert int(theirs.readyNs(due_ns)) == ours.ready_ns(due_ns)
    assert bool(theirs.catchesUp(now_ns)) is ours.is_catching_up(now_ns)


def test_what_is_sent_late_and_was_held_back_by_nobody_is_late_since_it_was_due(bench: JvmLagBench) -> None:
    due_ns = time.perf_counter_ns() - 3 * S
    due(bench.sender(), due_ns)
    (row,) = bench.sent(1)
    assert row["due_ns"] == row["ready_ns"] == due_ns
    assert row["sent_ns"] - row["ready_ns"] >= 3 * S


def test_a_sender_that_waits_for_room_in_flight_is_not_late(bench: JvmLagBench) -> None:
    bench.client.answers = False
    sender, due_ns = bench.sender(in_flight=1), time.perf_counter_ns()
    due(sender, due_ns, due_ns)
    until(sender.heldBack)
    held_ns = time.perf_counter_ns()
    bench.client.answer()
    earlier, later = bench.sent(2)
    assert held_ns <= later["ready_ns"] <= later["sent_ns"]
    assert earlier["settled_ns"] <= later["ready_ns"]
    assert (bool(earlier["blocked"]), bool(later["blocked"])) == (False, True)


def test_a_sender_that_waits_for_its_connection_is_not_late(bench: JvmLagBench) -> None:
    bench.client.disconnect()
    sender, due_ns = bench.sender(), time.perf_counter_ns()
    due(sender, due_ns)
    until(sender.heldBack)
    connected_ns = time.perf_counter_ns()
    bench.client.connect(connected_ns)
    (row,) = bench.sent(1)
    assert row["ready_ns"] == connected_ns


def test_a_sender_that_is_connected_before_its_client_knows_is_not_late(bench: JvmLagBench) -> None:
    bench.client.connect(2**63 - 1)
    due(bench.sender(), time.perf_counter_ns())
    (row,) = bench.sent(1)
    assert row["ready_ns"] == row["sent_ns"]


def test_a_sender_whose_write_a_broker_blocks_is_not_late(bench: JvmLagBench) -> None:
    bench.client.nextWriteMs = 200
    sender, due_ns = bench.sender(), time.perf_counter_ns()
    due(sender, due_ns, due_ns)
    earlier, later = bench.sent(2)
    assert later["ready_ns"] - earlier["sent_ns"] >= LONG_WRITE_NS
    assert later["ready_ns"] <= later["sent_ns"]


class LagSession:
    """One whose commits wait for the test."""

    def __init__(self) -> None:
        self.asked, self.answered = threading.Event(), threading.Event()

    def commit(self) -> None:
        self.asked.set()
        self.answered.wait(60)


def test_a_sender_that_waits_for_its_commit_is_not_late(java: Callable[[str], Any], bench: JvmLagBench) -> None:
    session = LagSession()
    bench.client.session = jpype.JProxy(java("javax.jms.Session"), inst=session)
    sender, due_ns = bench.sender(transaction_size=1), time.perf_counter_ns()
    due(sender, due_ns, due_ns)
    assert session.asked.wait(60)
    held_ns = time.perf_counter_ns()
    session.answered.set()
    earlier, later = bench.sent(2)
    assert earlier["settled_ns"] <= later["ready_ns"] <= later["sent_ns"]
    assert held_ns <= later["ready_ns"]
