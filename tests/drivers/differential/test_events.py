"""Checks that an event's pause is counted from the event that it waited for, not from unrelated ones in between."""

from tests.drivers.differential.events import Event, waited_for
from tests.drivers.differential.rounds import RoundResult

POLLING = ["attempt A", "attempt B", "connected B", "poll failed", "poll failed", "lost", "attempt A", "attempt B"]


def test_an_event_waits_for_the_one_before_it() -> None:
    assert [waited_for(POLLING, at) for at in (1, 2, 3, 4, 7)] == [0, 1, 2, 3, 6]


def test_no_client_waits_for_a_loss_and_one_that_polls_waits_from_its_last_poll_on() -> None:
    assert [waited_for(POLLING, at) for at in (5, 6)] == [None, 4]
    assert waited_for(["attempt A", "connected A", "lost", "attempt A"], 3) == 2


def test_what_a_client_did_is_what_it_did_in_more_than_half_of_the_rounds() -> None:
    one, other = [Event("attempt A", 1), Event("lost", 2)], [Event("attempt A", 1), Event("attempt A", 5)]
    assert RoundResult([one, other, one]).sequence(2) == ["attempt A", "lost"]
    assert RoundResult([one, other, one]).alike(2) == [one, one]
    assert RoundResult([one, other]).sequence(2) == []
    assert RoundResult([other, other]).sequence(1) == ["attempt A"]


def test_a_loss_that_a_busy_machine_told_late_does_not_shorten_the_pause_behind_it() -> None:
    times_ms = [0, 1, 2, 100, 300, 450, 1_500, 1_501]
    late_ms = [*times_ms[:5], 530, *times_ms[6:]]
    seen = RoundResult([list(map(Event, POLLING, each)) for each in (times_ms, late_ms)])
    assert seen.pauses_ms(8) == [1, 1, 98, 200, 0, 1_200, 1]
