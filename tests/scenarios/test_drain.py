"""Does the drain end exactly when nothing can come any more?"""

from scenarios.harness.drain import Observation, decide


def looks(*states: tuple[int, int, int | None], every_s: float = 0.5) -> list[Observation]:
    return [Observation(index * every_s, *state) for index, state in enumerate(states)]


def test_empty_queues_and_answered_sends_for_a_second_are_drained() -> None:
    assert decide(looks((0, 9, 0), (0, 9, 0), (0, 9, 0)), timeout_s=60) == "drained"


def test_queues_that_were_empty_at_one_look_only_may_still_hold_a_message_between_two_brokers() -> None:
    assert decide(looks((0, 8, 1), (0, 9, 0), (0, 9, 0)), timeout_s=60) == "wait"


def test_a_send_without_an_answer_keeps_the_drain_waiting() -> None:
    assert decide(looks((1, 9, 0), (1, 9, 0), (1, 9, 0)), timeout_s=60) == "wait"


def test_messages_that_nobody_takes_for_five_seconds_are_stuck() -> None:
    assert decide(looks(*[(0, 9, 3)] * 11), timeout_s=60) == "stuck"


def test_a_slow_consumer_is_not_stuck() -> None:
    seen = looks(*[(0, received, 100 - received) for received in range(30)])
    assert decide(seen, timeout_s=60) == "wait"


def test_time_is_up_while_messages_still_move() -> None:
    seen = looks(*[(0, received, 100 - received) for received in range(30)])
    assert decide(seen, timeout_s=14) == "timeout"


def test_queues_of_which_nothing_is_known_are_not_empty() -> None:
    assert decide(looks((0, 9, None), (0, 9, None), (0, 9, None)), timeout_s=60) == "wait"


def test_queues_that_stay_unknown_end_as_stuck() -> None:
    assert decide(looks(*[(0, 9, None)] * 11), timeout_s=60) == "stuck"
