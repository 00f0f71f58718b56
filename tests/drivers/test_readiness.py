"""Checks since when a message could have been sent: waits for brokers are no lag, and own delays are."""

from hypothesis import given
from hypothesis import strategies as st

from drivers.client.backpressure import LONG_WRITE_NS, Readiness

MS = 1_000_000
times = st.integers(0, 10_000 * MS)


def test_what_nothing_held_back_is_ready_when_it_is_due() -> None:
    assert Readiness().ready_ns(5 * MS) == 5 * MS


@given(st.lists(times), times)
def test_a_message_is_ready_at_the_latest_of_its_due_time_and_all_releases(released: list[int], due_ns: int) -> None:
    readiness = Readiness()
    for at_ns in released:
        readiness.released(at_ns)
    assert readiness.ready_ns(due_ns) == max([due_ns, *released])


def test_a_write_that_lasted_was_blocked_by_a_broker_and_a_short_one_is_our_own_work() -> None:
    readiness = Readiness()
    readiness.wrote(50 * MS, 100 * MS, 100 * MS + LONG_WRITE_NS - 1)
    assert readiness.ready_ns(50 * MS) == 50 * MS
    readiness.wrote(50 * MS, 200 * MS, 200 * MS + LONG_WRITE_NS)
    assert readiness.ready_ns(50 * MS) == 200 * MS + LONG_WRITE_NS


def test_a_generator_that_is_too_slow_for_its_rate_is_later_with_every_message() -> None:
    """A message is due every ms, and each takes the generator 2 ms."""
    readiness, now_ns, lags_ns = Readiness(), 0, []
    for seq in range(100):
        lags_ns.append(now_ns - readiness.ready_ns(seq * MS))
        readiness.wrote(seq * MS, now_ns, now_ns + 2 * MS)
        now_ns += 2 * MS
    assert lags_ns == [seq * MS for seq in range(100)]


def test_each_write_of_what_was_due_while_brokers_held_the_producer_back_releases_the_next() -> None:
    """The broker lets the producer go on at 1,000, and then takes 20 ms for each message. One was due later."""
    readiness = Readiness()
    readiness.released(1_000 * MS)
    for sent_ms, due_ms in ((1_000, 970), (1_020, 980), (1_040, 990)):
        assert readiness.ready_ns(due_ms * MS) == sent_ms * MS
        readiness.wrote(due_ms * MS, sent_ms * MS, (sent_ms + 20) * MS)
    assert readiness.ready_ns(1_010 * MS) == 1_060 * MS
    readiness.wrote(1_010 * MS, 1_060 * MS, 1_080 * MS)
    assert readiness.ready_ns(1_020 * MS) == 1_060 * MS, "the write before was of a message that nobody held back"


def test_what_was_due_before_a_late_wake_stays_late_by_as_much_though_it_waited_for_room_then() -> None:
    """The producer stood still for 150 ms, with one message in flight at a time: three more were due meanwhile."""
    readiness = Readiness()
    readiness.woke(1_000 * MS, 1_150 * MS)
    for due_ms, room_ms in ((1_000, 1_151), (1_050, 1_152), (1_100, 1_153)):
        readiness.released(room_ms * MS)
        own_ms = room_ms - readiness.ready_ns(due_ms * MS) / MS
        assert own_ms == min(150, room_ms - due_ms)
    readiness.released(1_500 * MS)
    assert readiness.ready_ns(1_200 * MS) == 1_500 * MS, "due later: the wait is the broker's alone"


@given(times, times, st.lists(times, min_size=1), times)
def test_no_message_is_ready_before_it_is_due_or_after_the_last_release(
    woke_for_ns: int, late_ns: int, released: list[int], due_ns: int
) -> None:
    readiness = Readiness()
    readiness.woke(woke_for_ns, woke_for_ns + late_ns)
    for at_ns in released:
        readiness.released(at_ns)
    assert due_ns <= readiness.ready_ns(due_ns) <= max(due_ns, *released)


def test_a_producer_that_is_woken_before_its_due_time_is_not_late() -> None:
    readiness = Readiness()
    readiness.woke(1_000 * MS, 900 * MS)
    readiness.released(950 * MS)
    assert readiness.ready_ns(800 * MS) == 950 * MS
