"""Checks that the drain ends exactly when no message can arrive anymore, and that unknown facts are recorded."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from drivers.users.connection_losses import Row
from drivers.users.session import Tally
from harness.faults import Fault, FreezeBroker, JoinBroker, KillBroker
from harness.run import drain
from harness.run.controller import RunController
from harness.run.drain import (
    STUCK_AFTER_A_FAULT_S,
    STUCK_AFTER_S,
    DrainLimits,
    Observation,
    decide,
    timeout_text,
    wait_until_still,
)
from records.run import UserInfo
from topologies.catalogue.lookup import build


def looks(*states: tuple[int, int, int | None], every_s: float = 0.5) -> list[Observation]:
    return [Observation(index * every_s, *state) for index, state in enumerate(states)]


def test_empty_queues_and_answered_sends_for_a_second_are_drained() -> None:
    assert decide(looks((0, 9, 0), (0, 9, 0), (0, 9, 0)), DrainLimits(60)) == "drained"


def test_queues_empty_only_once_may_miss_a_moving_message() -> None:
    assert decide(looks((0, 8, 1), (0, 9, 0), (0, 9, 0)), DrainLimits(60)) == "wait"


def test_queues_that_do_not_hold_every_backlog_have_to_be_empty_for_longer() -> None:
    """Messages for a durable subscription may be on no queue: only the receipts show that they still arrive."""
    assert decide(looks(*[(0, 9, 0)] * 10), DrainLimits(60, empty_for_s=5)) == "wait"
    assert decide(looks(*[(0, 9, 0)] * 11), DrainLimits(60, empty_for_s=5)) == "drained"
    assert decide(looks(*[(0, received, 0) for received in range(30)]), DrainLimits(60, empty_for_s=5)) == "wait"


def test_a_send_without_an_answer_keeps_the_drain_waiting() -> None:
    assert decide(looks((1, 9, 0), (1, 9, 0), (1, 9, 0)), DrainLimits(60)) == "wait"


def test_messages_that_nobody_takes_for_five_seconds_are_stuck() -> None:
    assert decide(looks(*[(0, 9, 3)] * 11), DrainLimits(60)) == "stuck"


AFTER_A_FAULT = DrainLimits(60, reconnecting_s=STUCK_AFTER_A_FAULT_S)


def whole_from(number: int, observations: Sequence[Observation]) -> list[Observation]:
    """The same looks on a network whose links and clients are up from that one on."""
    return [*observations[:number], *(replace(look, whole=True) for look in observations[number:])]


def test_after_a_fault_a_bridge_gets_the_time_to_come_back_before_messages_are_stuck() -> None:
    still = looks(*[(0, 9, 3)] * 71)
    assert decide(still[:-1], AFTER_A_FAULT) == "wait"
    assert decide(still, AFTER_A_FAULT) == "stuck"


@pytest.mark.parametrize("back_at", [0, 1, 30])
def test_messages_are_stuck_five_seconds_after_links_and_clients_are_back(back_at: int) -> None:
    seen = whole_from(back_at, looks(*[(0, 9, 3)] * 71))
    stuck_at = next(number for number in range(71) if decide(seen[: number + 1], AFTER_A_FAULT) == "stuck")
    assert stuck_at == back_at + 10


def test_a_link_that_goes_down_again_gets_its_time() -> None:
    seen = whole_from(0, looks(*[(0, 9, 3)] * 11))
    assert decide(seen, AFTER_A_FAULT) == "stuck"
    for number in range(11):
        flapping = [*seen[:number], replace(seen[number], whole=False), *seen[number + 1 :]]
        assert decide(flapping, AFTER_A_FAULT) == "wait", number


def test_messages_that_still_move_are_not_stuck_in_a_network_that_is_back() -> None:
    assert decide(whole_from(0, looks(*[(0, received, 3) for received in range(30)])), AFTER_A_FAULT) == "wait"


def test_slow_consumers_get_their_time_in_a_network_that_is_back() -> None:
    limits = DrainLimits(60, stuck_after_s=20.0, reconnecting_s=STUCK_AFTER_A_FAULT_S)
    seen = whole_from(0, looks(*[(0, 9, 3)] * 41))
    assert [decide(seen[:count], limits) for count in (40, 41)] == ["wait", "stuck"]


def test_stillness_at_the_timeout_is_waited_out() -> None:
    """The backlog of a fault took half of the timeout, so the rest is stuck, not unknown."""
    limits = AFTER_A_FAULT
    states = looks(*[(0, received, 100 - received) for received in range(60)], *[(0, 60, 40)] * 80)
    decisions = [decide(states[: n + 1], limits) for n in range(len(states))]
    assert set(decisions[:130]) == {"wait"}
    assert decisions[60 + 70] == "stuck", "35 s after the last receipt, 65 s after the load"
    moves_again = [*states[:125], *looks(*[(0, 61, 39)] * 200)[125:]]
    assert decide(moves_again[:126], limits) == "timeout"


def test_a_slow_consumer_is_not_stuck() -> None:
    states = looks(*[(0, received, 100 - received) for received in range(30)])
    assert decide(states, DrainLimits(60)) == "wait"


def test_time_is_up_while_messages_still_move() -> None:
    states = looks(*[(0, received, 100 - received) for received in range(30)])
    assert decide(states, DrainLimits(14)) == "timeout"


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        pytest.param(
            [(0, received, 2_800 - received) for received in range(60)],
            "while messages still moved (0 sends unanswered, 2741 messages on queues)",
            id="a consumer takes one after the other",
        ),
        pytest.param(
            [(0, 9, 2_800 - taken) for taken in range(60)],
            "while messages still moved (0 sends unanswered, 2741 messages on queues)",
            id="queues become shorter though none is received: they go to dead letters",
        ),
        pytest.param(
            [(0, 9, 2_741)] * 61,
            "while nothing had moved for 30 s (0 sends unanswered, 2741 messages on queues), but messages count as "
            "stuck only after 35 s",
            id="all are stuck",
        ),
        pytest.param(
            [(0, 9, 2_740 + turn % 2) for turn in range(61)],
            "while messages still moved (0 sends unanswered, 2740 messages on queues)",
            id="queues were longer at the look before",
        ),
        pytest.param(
            [*[(0, 5, 2_745)] * 30, *[(0, 9, 2_741 if look % 3 else None) for look in range(31)], (0, 9, 2_741)],
            "while nothing had moved for 15.5 s (0 sends unanswered, 2741 messages on queues), but messages count as "
            "stuck only after 35 s",
            id="a broker that says nothing at some looks moves nothing",
        ),
    ],
)
def test_a_drain_that_runs_out_of_time_says_whether_messages_moved_or_were_stuck(
    states: list[tuple[int, int, int | None]], sentence: str
) -> None:
    limits = DrainLimits(30, reconnecting_s=STUCK_AFTER_A_FAULT_S)
    assert timeout_text(looks(*states), limits) == f"the drain ended after 30 s {sentence}"


def test_stuck_messages_are_found_despite_missing_answers() -> None:
    """The broker does not answer some of the requests."""
    assert decide(looks(*[(0, 9, 3 if look % 2 else None) for look in range(11)]), DrainLimits(60)) == "stuck"


def test_queues_of_which_nothing_is_known_are_not_empty() -> None:
    assert decide(looks((0, 9, None), (0, 9, None), (0, 9, None)), DrainLimits(60)) == "wait"


def test_queues_that_stay_unknown_end_as_stuck() -> None:
    assert decide(looks(*[(0, 9, None)] * 11), DrainLimits(60)) == "stuck"


class UnchangingRun:
    """The load generators, brokers and records of a run that looks the same at every look."""

    def __init__(self, tally: Tally, waiting: int | None) -> None:
        self._tally, self._waiting = tally, waiting
        self.looks = 0
        self.linked, self.asked = True, False
        self.unknowns: list[str] = []
        self.places: list[str] = []

    def tally(self) -> Tally:
        self.looks += 1
        return self._tally

    def waiting(self) -> int | None:
        return self._waiting

    def unknown(self, text: str) -> None:
        self.unknowns.append(text)

    def unsearched(self, text: str) -> None:
        self.places.append(text)

    def are_all_linked(self) -> bool:
        self.asked = True
        return self.linked

    def drain(self, timeout_s: float, *, given_up: bool = False) -> bool:
        run = cast(Any, self)
        return wait_until_still(run, run, run, DrainLimits(timeout_s), lambda: given_up)


def test_a_drain_that_ran_out_of_time_leaves_unknown_what_it_names() -> None:
    run = UnchangingRun(Tally(sent=9, settled=7, received=5), waiting=3)
    assert run.drain(timeout_s=0)
    assert run.unknowns == [
        "the drain ended after 0 s before it was known whether messages still moved "
        "(2 sends unanswered, 3 messages on queues)"
    ]
    assert run.places == run.unknowns, "missing messages may be on their way, so they are not lost"


def test_empty_queues_leave_nothing_unknown() -> None:
    run = UnchangingRun(Tally(sent=9, settled=9, received=9), waiting=0)
    assert run.drain(timeout_s=60)
    assert run.unknowns == []
    assert run.looks > 1


def connected(clients: int, *losses: Row) -> Tally:
    tally = Tally(sent=9, settled=9, received=5)
    tally.losses.add(clients, losses, 0)
    return tally


LOST_S = 1_000_000_000


@pytest.mark.parametrize(
    ("tally", "linked", "whole"),
    [
        pytest.param(connected(2), True, True, id="nobody was cut off"),
        pytest.param(connected(2, (1, LOST_S, 2 * LOST_S)), True, True, id="a client is back"),
        pytest.param(connected(2, (1, LOST_S, None)), True, False, id="a client is off, and another one is new"),
        pytest.param(connected(1), True, False, id="a user has not connected yet"),
        pytest.param(connected(2), False, False, id="a link is down"),
    ],
)
def test_a_network_is_whole_if_links_are_up_and_all_users_are_connected(
    tally: Tally, linked: bool, whole: bool
) -> None:
    run = UnchangingRun(tally, waiting=3)
    run.linked = linked
    assert drain._is_whole(cast(Any, run), cast(Any, run), users=2) is whole


def test_a_drain_ends_without_the_time_for_links_in_a_network_that_is_whole() -> None:
    run = cast(Any, UnchangingRun(connected(2), waiting=3))
    limits = DrainLimits(600, stuck_after_s=0.5, reconnecting_s=600)
    assert wait_until_still(run, run, run, limits, lambda: False, users=2)
    assert run.unknowns == []


def test_brokers_are_not_asked_for_links_without_a_fault_that_took_one_down() -> None:
    run = UnchangingRun(connected(0), waiting=0)
    assert run.drain(timeout_s=60)
    assert not run.asked


def test_a_run_that_was_given_up_is_not_looked_at() -> None:
    run = UnchangingRun(Tally(), waiting=None)
    assert not run.drain(timeout_s=60, given_up=True)
    assert run.looks == 0


@pytest.mark.parametrize(
    ("fault", "reconnecting_s"),
    [
        (KillBroker("broker-3", 1, 2), STUCK_AFTER_A_FAULT_S),
        (JoinBroker("broker-3", 1, 2), STUCK_AFTER_A_FAULT_S),
        (FreezeBroker("broker-3", 1, 2), 0),
    ],
)
def test_bridges_to_a_broker_that_was_away_get_more_time(fault: Fault, reconnecting_s: float) -> None:
    limits = limits_of(fault)
    assert (limits.stuck_after_s, limits.reconnecting_s) == (STUCK_AFTER_S, reconnecting_s)


def limits_of(*faults: Fault, work_ms: float | str = 0, topology: str = "mesh") -> DrainLimits:
    taker = UserInfo("Taker", "consumer", "consumers", "queue://q", 1, {"work_ms": work_ms})
    controller: Any = SimpleNamespace(
        plan=SimpleNamespace(faults=faults, options=SimpleNamespace(drain_s=60.0)),
        info=SimpleNamespace(users=(taker,)),
        brokers=SimpleNamespace(topology=build(topology)),
        _hidden_backlog=list,
    )
    return RunController._drain_limits(controller)


def test_slow_consumers_get_five_times_their_work_time() -> None:
    assert limits_of(work_ms=100).stuck_after_s == STUCK_AFTER_S
    assert limits_of(work_ms="exponential(6000)").stuck_after_s == 30.0


def test_messages_that_a_broker_delays_are_not_stuck_before_the_delay_is_over() -> None:
    assert limits_of(topology="cluster(redistribution_delay_ms=20_000)").stuck_after_s == STUCK_AFTER_S + 20
