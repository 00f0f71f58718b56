"""Checks how brokers hold a producer back: waits for them are not own lag, and long waits are reported once."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from drivers.client.backpressure import (
    BLOCKED_AFTER_NS,
    LONG_WRITE_NS,
    NO_ANSWER,
    WRITE_WAITED,
    BlockedDetector,
    Readiness,
)

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
    readiness.on_written(50 * MS, 100 * MS, 100 * MS + LONG_WRITE_NS - 1)
    assert readiness.ready_ns(50 * MS) == 50 * MS
    readiness.on_written(50 * MS, 200 * MS, 200 * MS + LONG_WRITE_NS)
    assert readiness.ready_ns(50 * MS) == 200 * MS + LONG_WRITE_NS


def test_a_generator_that_is_too_slow_for_its_rate_is_later_with_every_message() -> None:
    """A message is due every ms, and each takes the generator 2 ms."""
    readiness, now_ns, lags_ns = Readiness(), 0, []
    for seq in range(100):
        lags_ns.append(now_ns - readiness.ready_ns(seq * MS))
        readiness.on_written(seq * MS, now_ns, now_ns + 2 * MS)
        now_ns += 2 * MS
    assert lags_ns == [seq * MS for seq in range(100)]


def test_each_write_of_held_back_messages_releases_the_next() -> None:
    """The broker lets the producer go on at 1,000, and then takes 20 ms for each message. One was due later."""
    readiness = Readiness()
    readiness.released(1_000 * MS)
    for sent_ms, due_ms in ((1_000, 970), (1_020, 980), (1_040, 990)):
        assert readiness.ready_ns(due_ms * MS) == sent_ms * MS
        readiness.on_written(due_ms * MS, sent_ms * MS, (sent_ms + 20) * MS)
    assert readiness.ready_ns(1_010 * MS) == 1_060 * MS
    readiness.on_written(1_010 * MS, 1_060 * MS, 1_080 * MS)
    assert readiness.ready_ns(1_020 * MS) == 1_060 * MS, "the previous write was of a message that was not held back"


def test_messages_due_before_a_late_wake_stay_late() -> None:
    """The producer was suspended for 150 ms, with one message in flight at a time: three more became due."""
    readiness = Readiness()
    readiness.on_wake(1_000 * MS, 1_150 * MS)
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
    readiness.on_wake(woke_for_ns, woke_for_ns + late_ns)
    for at_ns in released:
        readiness.released(at_ns)
    assert due_ns <= readiness.ready_ns(due_ns) <= max(due_ns, *released)


def test_a_producer_that_is_woken_before_its_due_time_is_not_late() -> None:
    readiness = Readiness()
    readiness.on_wake(1_000 * MS, 900 * MS)
    readiness.released(950 * MS)
    assert readiness.ready_ns(800 * MS) == 950 * MS


def test_a_producer_catches_up_after_an_outage() -> None:
    """It sent a message due at 1,000, and was cut off until 3,000. It may catch up for as long."""
    readiness = Readiness()
    readiness.on_wake(1_000 * MS, 1_000 * MS)
    readiness.on_written(1_000 * MS, 1_000 * MS, 1_000 * MS)
    assert not readiness.is_catching_up(2_000 * MS)
    readiness.released(3_000 * MS)
    assert readiness.is_catching_up(3_000 * MS)
    readiness.on_written(2_999 * MS, 3_500 * MS, 3_510 * MS)
    assert readiness.is_catching_up(4_999 * MS)
    assert not readiness.is_catching_up(5_000 * MS), "it had enough time"
    readiness.on_written(3_000 * MS, 3_520 * MS, 3_530 * MS)
    assert not readiness.is_catching_up(3_530 * MS), "this message was due when it could be sent"


def test_one_long_write_excuses_no_slow_generator() -> None:
    """A message is due every ms, and each takes the generator 2 ms. One write takes 100 ms."""
    readiness, now_ns, excused = Readiness(), 1_000 * MS, list[int]()
    for seq in range(2_000):
        write_ns = LONG_WRITE_NS if seq == 500 else 2 * MS
        readiness.on_written(seq * MS, now_ns, now_ns + write_ns)
        now_ns += write_ns
        excused += [seq] * readiness.is_catching_up(now_ns)
    assert excused == [*range(500, 550)]


S = BLOCKED_AFTER_NS
Period = tuple[str, int, int, str]


def patience() -> tuple[BlockedDetector, list[Period]]:
    periods: list[Period] = []
    return BlockedDetector(lambda *period: periods.append(period)), periods


def test_an_answer_that_takes_a_second_was_waited_for_from_the_send_on() -> None:
    detector, periods = patience()
    detector.on_send("a", 5)
    detector.on_answer(5 + S, awaits_more=False)
    assert periods == [("a", 5, 5 + S, NO_ANSWER)]


def test_less_than_a_second_is_nothing() -> None:
    detector, periods = patience()
    detector.on_send("a", 5)
    detector.on_answer(4 + S, awaits_more=False)
    detector.on_written("a", 0, S - 1)
    assert periods == []


def test_answers_that_keep_coming_are_no_block_however_old_the_first_send_is() -> None:
    detector, periods = patience()
    detector.on_send("a", 0)
    for tenth in range(1, 100):
        detector.on_send("a", tenth * S // 10)
        detector.on_answer(tenth * S // 10, awaits_more=True)
    assert periods == []


def test_a_pause_between_two_answers_is_timed_from_the_first_of_them() -> None:
    detector, periods = patience()
    detector.on_send("a", 0)
    detector.on_answer(S // 2, awaits_more=True)
    detector.on_send("a", S)
    detector.on_answer(3 * S, awaits_more=False)
    assert periods == [("a", S // 2, 3 * S, NO_ANSWER)]


def test_a_lost_connection_ends_the_wait_and_the_next_one_begins_with_the_next_send() -> None:
    detector, periods = patience()
    detector.on_send("a", 0)
    detector.on_end(2 * S)
    detector.on_end(9 * S)
    detector.on_send("b", 10 * S)
    detector.on_answer(12 * S, awaits_more=False)
    assert periods == [("a", 0, 2 * S, NO_ANSWER), ("b", 10 * S, 12 * S, NO_ANSWER)]


def test_a_write_that_nobody_answers_is_timed_by_itself() -> None:
    detector, periods = patience()
    detector.on_written("a", 3, 3 + 2 * S)
    assert periods == [("a", 3, 3 + 2 * S, WRITE_WAITED)]


@given(st.lists(st.tuples(st.sampled_from(["send", "answer", "lost"]), st.integers(0, 3 * S)), max_size=50))
def test_periods_are_long_enough_in_order_and_never_overlap(steps: list[tuple[str, int]]) -> None:
    detector, periods = patience()
    now_ns = unanswered = 0
    for step, pause_ns in steps:
        now_ns += pause_ns
        if step == "send":
            detector.on_send("a", now_ns)
            unanswered += 1
        elif step == "answer" and unanswered:
            unanswered -= 1
            detector.on_answer(now_ns, awaits_more=unanswered > 0)
        elif step == "lost":
            detector.on_end(now_ns)
            unanswered = 0
    assert all(ended - began >= S for _, began, ended, _ in periods)
    assert all(period[2] <= following[1] for period, following in pairwise(periods))


@given(st.lists(st.integers(0, 3 * S), min_size=1, max_size=30))
def test_answers_one_after_the_other_are_told_just_where_the_pause_was_long(pauses_ns: list[int]) -> None:
    detector, periods = patience()
    now_ns = 0
    detector.on_send("a", 0)
    for nth, pause_ns in enumerate(pauses_ns, start=1):
        now_ns += pause_ns
        detector.on_answer(now_ns, awaits_more=nth < len(pauses_ns))
    assert [ended - began for _, began, ended, _ in periods] == [pause for pause in pauses_ns if pause >= S]
