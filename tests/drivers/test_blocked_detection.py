"""Checks that each period in which a broker accepted nothing is reported once, from its beginning to its end."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from drivers.client.backpressure import BLOCKED_AFTER_NS, NO_ANSWER, WRITE_WAITED, BlockedDetector

S = BLOCKED_AFTER_NS
Period = tuple[str, int, int, str]


def patience() -> tuple[BlockedDetector, list[Period]]:
    told: list[Period] = []
    return BlockedDetector(lambda *period: told.append(period)), told


def test_an_answer_that_takes_a_second_was_waited_for_from_the_send_on() -> None:
    who, told = patience()
    who.awaits("a", 5)
    who.heard(5 + S, awaits_more=False)
    assert told == [("a", 5, 5 + S, NO_ANSWER)]


def test_less_than_a_second_is_nothing() -> None:
    who, told = patience()
    who.awaits("a", 5)
    who.heard(4 + S, awaits_more=False)
    who.wrote("a", 0, S - 1)
    assert told == []


def test_answers_that_keep_coming_are_no_block_however_old_the_first_send_is() -> None:
    who, told = patience()
    who.awaits("a", 0)
    for tenth in range(1, 100):
        who.awaits("a", tenth * S // 10)
        who.heard(tenth * S // 10, awaits_more=True)
    assert told == []


def test_a_pause_between_two_answers_is_timed_from_the_first_of_them() -> None:
    who, told = patience()
    who.awaits("a", 0)
    who.heard(S // 2, awaits_more=True)
    who.awaits("a", S)
    who.heard(3 * S, awaits_more=False)
    assert told == [("a", S // 2, 3 * S, NO_ANSWER)]


def test_a_lost_connection_ends_the_wait_and_the_next_one_begins_with_the_next_send() -> None:
    who, told = patience()
    who.awaits("a", 0)
    who.ends(2 * S)
    who.ends(9 * S)
    who.awaits("b", 10 * S)
    who.heard(12 * S, awaits_more=False)
    assert told == [("a", 0, 2 * S, NO_ANSWER), ("b", 10 * S, 12 * S, NO_ANSWER)]


def test_a_write_that_nobody_answers_is_timed_by_itself() -> None:
    who, told = patience()
    who.wrote("a", 3, 3 + 2 * S)
    assert told == [("a", 3, 3 + 2 * S, WRITE_WAITED)]


@given(st.lists(st.tuples(st.sampled_from(["send", "answer", "lost"]), st.integers(0, 3 * S)), max_size=50))
def test_periods_are_long_enough_in_order_and_never_overlap(steps: list[tuple[str, int]]) -> None:
    who, told = patience()
    now_ns = unanswered = 0
    for step, pause_ns in steps:
        now_ns += pause_ns
        if step == "send":
            who.awaits("a", now_ns)
            unanswered += 1
        elif step == "answer" and unanswered:
            unanswered -= 1
            who.heard(now_ns, awaits_more=unanswered > 0)
        elif step == "lost":
            who.ends(now_ns)
            unanswered = 0
    assert all(ended - began >= S for _, began, ended, _ in told)
    assert all(one[2] <= other[1] for one, other in pairwise(told))


@given(st.lists(st.integers(0, 3 * S), min_size=1, max_size=30))
def test_answers_one_after_the_other_are_told_just_where_the_pause_was_long(pauses_ns: list[int]) -> None:
    who, told = patience()
    now_ns = 0
    who.awaits("a", 0)
    for nth, pause_ns in enumerate(pauses_ns, start=1):
        now_ns += pause_ns
        who.heard(now_ns, awaits_more=nth < len(pauses_ns))
    assert [ended - began for _, began, ended, _ in told] == [pause for pause in pauses_ns if pause >= S]
