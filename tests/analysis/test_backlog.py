"""Checks the backlog after a fault: planted seconds give the expected highest backlog and drain time."""

from collections.abc import Mapping

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from analysis.events.timeline import FaultSpan
from analysis.faults.disturbance import Backlog, backlogs
from tests.analysis.rows import rates_table

S = 1_000_000_000
LOAD_NS = 500 * S
FAULT = FaultSpan(1, "kill", "a", LOAD_NS + 10 * S, LOAD_NS + 60 * S)
STEADY = dict.fromkeys(range(-5, 40), 100)


def rates(due: Mapping[int, int], received: Mapping[int, int]) -> pa.Table:
    """The rates also contain sends, which must not count."""
    return rates_table({"due": due, "received": received, "sent": received})


def backlog_of(received: Mapping[int, int], copies: float = 1.0, fault: FaultSpan = FAULT) -> Backlog:
    return backlogs(rates(STEADY, received), (fault,), LOAD_NS, copies)[fault.number]


def test_what_is_received_as_it_is_due_leaves_no_backlog() -> None:
    assert backlog_of(STEADY) == Backlog(0, 0.0)


def test_a_2_s_gap_is_a_backlog_of_200_until_it_drains() -> None:
    assert backlog_of(STEADY | {10: 0, 11: 0, 12: 150, 13: 150, 14: 150, 15: 150}) == Backlog(200, 6.0, 150.0)


def test_what_waits_all_the_time_is_no_backlog_of_the_fault() -> None:
    late = {at_s: STEADY[at_s] for at_s in range(-4, 40)} | {40: 100}
    assert backlog_of(late) == Backlog(100, 0.0)
    assert backlog_of(late | {20: 0, 21: 200}) == Backlog(200, 12.0, 200.0)


def test_messages_that_never_come_leave_a_backlog_that_never_drains() -> None:
    assert backlog_of(STEADY | {10: 0}) == Backlog(100, None)


def test_it_may_drain_when_the_load_is_over() -> None:
    assert backlog_of(STEADY | {39: 0, 40: 0, 41: 100}) == Backlog(100, 32.0, 50.0)


def test_each_subscriber_of_a_topic_has_its_own_to_come() -> None:
    twice = {at_s: 2 * count for at_s, count in STEADY.items()}
    assert backlog_of(twice | {10: 100, 11: 300}, copies=2.0) == Backlog(100, 2.0, 300.0)


def test_the_highest_backlog_of_a_fault_is_that_until_the_next_one() -> None:
    later = FaultSpan(2, "cut", "b", LOAD_NS + 20 * S, LOAD_NS + 60 * S)
    received = STEADY | {10: 0, 11: 200, 20: 0, 21: 0, 22: 0, 23: 400}
    backlog_by_fault = backlogs(rates(STEADY, received), (later, FAULT), LOAD_NS, 1.0)
    assert backlog_by_fault == {1: Backlog(100, 2.0, 200.0), 2: Backlog(300, 4.0, 400.0)}


def test_without_three_seconds_before_the_fault_the_drain_is_not_known() -> None:
    early = FaultSpan(1, "kill", "a", LOAD_NS + 2 * S, LOAD_NS + 60 * S)
    assert backlog_of(STEADY | {3: 0, 4: 200}, fault=early) == Backlog(100, None)
    assert backlogs(rates({}, {}), (FAULT,), LOAD_NS, 1.0) == {1: Backlog(None, None)}


@given(st.lists(st.integers(0, 100).map(lambda half: 2 * half), min_size=30, max_size=30))
def test_the_highest_backlog_is_that_of_plain_python(after: list[int]) -> None:
    waiting, highest = 0, 0
    for count in after:
        waiting += 100 - count
        highest = max(highest, waiting)
    received = STEADY | dict(zip(range(10, 40), after, strict=True))
    assert backlog_of(received).highest == highest
