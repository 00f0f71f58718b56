"""Checks that --fault is parsed correctly, and that impossible faults are rejected before anything starts."""

import math
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from brokerbench import Hold, Scenario, no_acked_send_lost, some_client_disconnected
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.faults import (
    KINDS,
    CommandFault,
    CutLink,
    DisconnectClients,
    FreezeBroker,
    FullStore,
    JoinBroker,
    KillBroker,
    RestartBroker,
    RollingRestart,
    SlowLink,
    StopBroker,
    StopLink,
)
from harness.faults.contract import Fault
from harness.faults.planning import parse_faults
from harness.faults.power_loss import mark_simultaneous_losses, split_by_broker
from harness.faults.rolling_restart import EXPECTED_S
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make, would_run
from harness.options.run_options import read
from topologies.catalogue.lookup import build
from topologies.model.impairment import Impairment


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


def planned(*arguments: str, topology: str = "mesh", runtime: str = "processes", **settings: Any) -> Plan:
    scenario = Scenario((Producer, Consumer), topology, Hold(for_s=30), (no_acked_send_lost(),), **settings)
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    return make(scenario, read(parser.parse_args([*arguments, "--runtime", runtime]), scenario, None))


@pytest.mark.parametrize("fault", KINDS.values(), ids=list(KINDS))
def test_each_kind_of_fault_is_read_as_its_usage_says(
    fault: type[Fault], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text("links: {all: {prefetch_size: 7}}", encoding="utf-8")  # an overlay
    (read_fault,) = parse_faults(fault.usage().replace("=S", "=7"))
    assert type(read_fault) is fault
    assert read_fault.at_s == 7
    assert [getattr(read_fault, field) for field in fault.seconds.values()] == [7] * len(fault.seconds)


def test_several_faults_can_be_asked_for_at_once() -> None:
    text = "kill(broker-2, at=10, for=15); stop( broker-1 ,at=2.5 );restart(broker-3, at=1);freeze(a, for=3, at=4);"
    text += "join(broker-3, at=1, for=2);join(broker-3, at=9)"
    assert parse_faults(text) == (
        KillBroker("broker-2", 10, 15),
        StopBroker("broker-1", 2.5, None),
        RestartBroker("broker-3", 1),
        FreezeBroker("a", 4, 3),
        JoinBroker("broker-3", 1, 2),
        JoinBroker("broker-3", 9),
    )


def test_a_command_names_its_broker_and_how_long_it_may_take() -> None:
    assert parse_faults("command(aws mq reboot-broker --broker-id b-1, target=broker-2, at=10, expect=90)") == (
        CommandFault("broker-2", 10, None, "aws mq reboot-broker --broker-id b-1", 90),
    )
    (once, again) = parse_faults("command(./reboot.sh, target=consumers, at=1, every=99, times=2)")
    assert (once.at_s, again.at_s, once.effect_timeout_s, once.mended_timeout_s) == (1, 100, 60, 60)


def test_a_fault_that_is_repeated_is_several_each_over_before_the_next() -> None:
    assert parse_faults("kill(broker-2, at=1, for=2, every=5, times=3)") == tuple(
        KillBroker("broker-2", at_s, 2) for at_s in (1, 6, 11)
    )
    assert parse_faults("restart(broker-2, at=1, every=5, times=2)") == (
        RestartBroker("broker-2", 1),
        RestartBroker("broker-2", 6),
    )


def test_each_time_that_a_fault_of_a_group_is_repeated_it_may_meet_another_broker() -> None:
    arguments = ("--fault", "kill(consumers, at=1, for=1, every=2, times=12)")
    targets = [fault.target for fault in planned(*arguments, "--seed", "1").faults]
    assert {*targets} == {"broker-1", "broker-2", "broker-3"}
    assert targets == [fault.target for fault in planned(*arguments, "--seed", "1").faults]


@pytest.mark.links
def test_a_link_of_a_broker_that_joins_is_found_by_the_name_that_it_has_then() -> None:
    plan = planned("--fault", "join(broker-3, at=1);cut(broker-3-to-broker-1, at=9, for=1)")
    assert plan.faults[1].target in {link.name for link in plan.topology.links}
    plan = planned("--fault", "join(broker-3, at=1);cut(consumers, at=9, for=1)", "--seed", "3")
    assert plan.faults[1].target in {link.name for link in plan.topology.links}


def turns(plan: Plan) -> list[tuple[str, str, float, float | None]]:
    return [(fault.kind, fault.target, fault.at_s, fault.turn_pause_s) for fault in plan.faults]


def test_a_rolling_restart_restarts_one_broker_after_the_other() -> None:
    """Each restart waits for the previous one."""
    expected = [
        ("restart", "broker-1", 4, None),
        ("restart", "broker-2", 4, 2.5),
        ("restart", "broker-3", 4, 2.5),
    ]
    assert turns(planned("--fault", "rolling-restart(all, at=4, pause=2.5)")) == expected
    assert turns(planned(faults=(RollingRestart("all", 4, 2.5),))) == expected
    assert RollingRestart("all", 4) == parse_faults("rolling-restart(all, at=4)")[0]


def test_a_rolling_restart_of_a_client_group_takes_only_the_brokers_where_it_enters() -> None:
    of_sinks = turns(planned("--fault", "rolling-restart(consumers, at=4)", topology="source-and-sink"))
    assert of_sinks == [("restart", "sink", 4, None)]


def test_a_rolling_restart_takes_each_standby_before_its_active() -> None:
    restarts = turns(planned("--fault", "rolling-restart(all, at=4)", topology="active-standby"))
    assert [target for _, target, _, _ in restarts] == ["broker-1-standby", "broker-1"]


def test_a_second_rolling_restart_waits_until_the_first_is_over() -> None:
    text = "kill(broker-1, at=1, for=1); rolling-restart(consumers, at=4, pause=3, every=10, times=2)"
    restarts = turns(planned("--fault", text, topology="two-one-way"))
    assert restarts == [
        ("kill", "broker-1", 1, None),
        ("restart", "broker-1", 4, None),
        ("restart", "broker-2", 4, 3),
        ("restart", "broker-1", 14, 3),
        ("restart", "broker-2", 14, 3),
    ]


def test_a_load_that_ends_after_its_faults_does_so_unless_its_end_is_given() -> None:
    scenario = Scenario((Producer, Consumer), "mesh", Hold(for_s=90, after_faults_s=10), (no_acked_send_lost(),))

    def length(*arguments: str, load_s: float | None = None) -> tuple[float | None, float | None]:
        parser = ArgumentParser()
        add_arguments(parser, scenario)
        parsed = parser.parse_args([*arguments, "--runtime", "processes"])
        plan = make(scenario, read(parsed, scenario, load_s))
        return plan.load_s, plan.after_faults_s

    fault = ("--fault", "restart(broker-1, at=1)")
    assert length(*fault) == (90, 10)
    assert length() == (90, None)
    assert length(*fault, load_s=60) == (60, None)
    assert length(*fault, "--messages", "100") == (None, None)
    assert length(*fault, "--rate", "100@20s") == (20, None)


def test_the_expected_load_includes_seconds_per_restarted_broker() -> None:
    scenario = Scenario((Producer, Consumer), "mesh", Hold(for_s=900, after_faults_s=10), (no_acked_send_lost(),))

    def expected_length(*arguments: str) -> tuple[float | None, str]:
        parser = ArgumentParser()
        add_arguments(parser, scenario)
        parsed = parser.parse_args([*arguments, "--runtime", "processes"])
        plan = make(scenario, read(parsed, scenario, None))
        assert would_run(plan)["expected_load_s"] == plan.expected_load_s
        return plan.expected_load_s, plan.load_bound

    rolling = ("--fault", "rolling-restart(all, at=10, pause=5)")
    assert expected_length(*rolling) == (10 + 3 * EXPECTED_S + 2 * 5 + 10, "about ")
    assert expected_length("--fault", "rolling-restart(all, at=10, pause=10)", "--topology", "mesh(brokers=50)") == (
        900,
        "about ",
    )
    assert expected_length("--fault", "kill(broker-1, at=1, for=4)") == (15, "about ")
    assert expected_length() == (900, "")


def test_a_rolling_restart_that_may_not_end_within_the_load_is_warned_of() -> None:
    def warnings(fault: str, topology: str) -> list[str]:
        plan = planned("--fault", fault, topology=topology)
        return [warning for warning in plan.info.warnings if "per restart" in warning]

    (warning,) = warnings("rolling-restart(all, at=10, pause=5)", "mesh")
    assert warning.startswith("at about 10 s per restart, the last one is over 50 s into the load, but the load")
    assert not warnings("rolling-restart(consumers, at=10)", "source-and-sink")


def test_repeated_fault_options_replace_the_scenarios_faults() -> None:
    own = (KillBroker("broker-3", 1, 2),)
    plan = planned("--fault", "kill(broker-1, at=1, for=2)", "--fault", "freeze(broker-2, at=3, for=1)", faults=own)
    assert plan.faults == (KillBroker("broker-1", 1, 2), FreezeBroker("broker-2", 3, 1))
    assert planned(faults=own).faults == own


def test_a_broker_that_joined_and_stays_may_have_other_faults() -> None:
    plan = planned("--fault", "join(broker-3, at=1);kill(broker-3, at=5, for=5);freeze(broker-3, at=20, for=1)")
    assert [fault.kind for fault in plan.faults] == ["join", "kill", "freeze"]


def test_a_broker_that_joins_opens_its_links_itself() -> None:
    plan = planned("--fault", "join(broker-3, at=1)")
    opened = [(link.opened_by.name, link.to.name, link.name) for link in plan.topology.links]
    assert opened == [
        ("broker-1", "broker-2", "broker-1-to-broker-2"),
        ("broker-3", "broker-1", "broker-3-to-broker-1"),
        ("broker-3", "broker-2", "broker-3-to-broker-2"),
    ]
    assert planned().topology.links == build("mesh").links


def test_a_join_of_a_client_group_is_one_of_the_last_broker_where_it_enters() -> None:
    own = (JoinBroker("consumers", 1, 2), JoinBroker("consumers", 5))
    chosen = {planned("--seed", str(seed), faults=own).faults for seed in range(10)}
    assert chosen == {(JoinBroker("broker-3", 1, 2), JoinBroker("broker-3", 5))}


@pytest.mark.links
def test_a_run_with_a_cut_link_has_every_link_behind_a_proxy_and_others_have_none() -> None:
    cut = planned("--fault", "cut(broker-1-to-broker-2, at=1, for=2)")
    assert cut.faults == (CutLink("broker-1-to-broker-2", 1, 2),)
    assert [link.impairment for link in cut.topology.links] == [Impairment()] * 3
    assert planned("--fault", "kill(broker-1, at=1)").topology.links[0].impairment is None


def test_a_link_is_made_slow_by_what_links_can_be_given() -> None:
    text = "slow(a-to-b, at=1, for=2, delay=40ms, jitter=5ms, bandwidth=2MB/s); stop-link(a-to-b, at=4)"
    assert parse_faults(f"{text}; disconnect(a, at=9)") == (
        SlowLink("a-to-b", 1, 2, Impairment(delay_ms=40, jitter_ms=5, bandwidth_kb_per_s=2_000)),
        StopLink("a-to-b", 4),
        DisconnectClients("a", 9),
    )


def test_a_store_is_full_for_a_while_again_and_again_or_until_the_load_is_over() -> None:
    assert planned(
        "--fault", "full-store(broker-2, at=1, for=2, every=5, times=2); full-store(broker-1, at=9)"
    ).faults == (
        FullStore("broker-2", 1, 2),
        FullStore("broker-2", 6, 2),
        FullStore("broker-1", 9),
    )


def test_a_standby_may_have_a_full_store_once_its_active_has_gone() -> None:
    text = "full-store(broker-1-standby, at=9, for=1); kill(broker-1, at=1)"
    assert len(planned("--fault", text, topology="active-standby").faults) == 2


def test_a_link_that_is_stopped_by_management_needs_no_proxy() -> None:
    plan = planned("--fault", "stop-link(broker-1-to-broker-2, at=1, for=2)")
    assert {link.impairment for link in plan.topology.links} == {None}


@pytest.mark.links
def test_a_delay_that_a_link_has_stays_when_it_is_cut() -> None:
    plan = planned("--link", "broker-1-to-broker-2:delay=7ms", "--fault", "cut(broker-1-to-broker-2, at=1, for=2)")
    assert {link.impairment.delay_ms for link in plan.topology.links if link.impairment} == {7, 0}


@pytest.mark.links
def test_a_cut_of_a_client_group_is_one_of_a_link_where_the_group_enters_by_the_seed() -> None:
    own = (CutLink("consumers", 1, 2),)
    spoke = {planned("--seed", str(n), faults=own, topology="concentrator").faults[0].target for n in range(20)}
    assert spoke
    assert all("centre" in target for target in spoke)


def test_two_brokers_may_have_faults_at_once_and_one_broker_one_after_the_other() -> None:
    plan = planned("--fault", "kill(broker-2, at=1, for=5);kill(broker-1, at=1, for=5);stop(broker-2, at=7, for=1)")
    assert len(plan.faults) == 3


def test_a_fault_of_a_client_group_is_one_of_a_broker_where_it_enters_by_the_seed() -> None:
    own = (KillBroker("producers", 1, 2),)
    chosen = {planned("--seed", str(seed), faults=own).faults[0].target for seed in range(20)}
    assert chosen == {"broker-1", "broker-2", "broker-3"}
    assert planned("--seed", "5", faults=own).faults == planned("--seed", "5", faults=own).faults


@pytest.mark.parametrize("seed", range(5))
def test_a_fault_of_clients_that_try_brokers_in_order_is_one_of_the_first(seed: int) -> None:
    plan = planned("--seed", str(seed), "--fault", "kill(producers, at=1)", topology="dual-mirror")
    assert [fault.target for fault in plan.faults] == ["dc-1"]


def test_a_fault_of_a_client_group_never_takes_the_standby() -> None:
    own = (KillBroker("consumers", 1, 2),)
    pairs = [planned("--seed", str(seed), faults=own, topology="active-standby").faults for seed in range(10)]
    assert set(pairs) == {(replace(own[0], target="broker-1"),)}


def test_a_fault_that_lasts_for_the_rest_of_the_load_has_no_end() -> None:
    (fault,) = planned("--fault", "kill(broker-1, at=29)").faults
    assert fault.for_s is None
    assert math.isclose(fault.at_s, 29)


@pytest.mark.links
def test_a_fault_may_last_forever() -> None:
    text = "kill(broker-1, at=29, for=forever); cut(broker-2-to-broker-3, at=1, for=forever)"
    plan = planned("--fault", text)
    assert [fault.for_s for fault in plan.faults] == [math.inf, math.inf]
    assert [fault.has_end for fault in plan.faults] == [False, False]
    assert would_run(plan)["faults"] == ["kill broker-1 at 29 s, forever", "cut broker-2-to-broker-3 at 1 s, forever"]


def test_premises_are_about_the_scenarios_own_faults() -> None:
    own = {"faults": (KillBroker("broker-3", 1, 2),), "premises": (some_client_disconnected(),)}
    assert planned(**own).info.premises == (some_client_disconnected(),)
    assert planned("--fault", "freeze(broker-1, at=1, for=1)", **own).info.premises == ()


def test_power_of_several_brokers_fails_at_one_moment() -> None:
    """Each broker has a separate fault, and faults at the same time list each other."""
    faults = mark_simultaneous_losses(
        split_by_broker(parse_faults("power-loss(a+b, at=3, for=2); power-loss(c, at=4); kill(a, at=9)"))
    )
    assert [(fault.target, getattr(fault, "at_once", None)) for fault in faults] == [
        ("a", ("a", "b")),
        ("b", ("a", "b")),
        ("c", ("c",)),
        ("a", None),
    ]
    assert {fault.for_s for fault in faults[:2]} == {2.0}
