"""Checks that --fault is read as written, and that faults that cannot be are refused before anything starts."""

import math
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from scenarios.harness import Hold, Scenario, no_acked_send_lost, somebody_cut_off
from scenarios.harness.faults import (
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
from scenarios.harness.faults.rolling_restart import EXPECTED_S
from scenarios.harness.options.arguments import add_arguments
from scenarios.harness.options.fault_options import HOW, parse_faults
from scenarios.harness.options.plan import Plan, make, would_run
from scenarios.harness.options.run_options import read
from topologies.catalogue.lookup import build
from topologies.model.impairment import Impairment


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


def planned(*arguments: str, topology: str = "mesh", runtime: str = "processes", **more: Any) -> Plan:
    scenario = Scenario((Producer, Consumer), topology, Hold(for_s=30), (no_acked_send_lost(),), **more)
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    return make(scenario, read(parser.parse_args([*arguments, "--runtime", runtime]), scenario, None))


def refused(*arguments: str, **more: Any) -> str:
    with pytest.raises(UserError) as raised:
        planned(*arguments, **more)
    return str(raised.value)


def test_each_kind_of_fault_can_be_asked_for_several_at_once() -> None:
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("command(./reboot.sh, at=1)", "which broker does it take down? Add target=BROKER"),
        ("command(./reboot.sh, target=broker-2)", "command takes at and expect in seconds, and at is required"),
        ("command(./reboot.sh, target=broker-2, at=1, for=2)", "command takes at and expect in seconds"),
        ("command(./reboot.sh, target=broker-2, at=1, expect=0)", "expect=0 must be more than 0 seconds"),
        ("command(./reboot.sh, target=broker-2, at=1, expect=inf)", "expect=inf must be more than 0 seconds"),
        ("command(./reboot.sh --id=b-1, target=broker-2, at=1)", "a command cannot hold , ; = ( or )"),
        ("command(sh -c 'a(b)', target=broker-2, at=1)", "a command cannot hold , ; = ( or )"),
        ("command('./reboot.sh, target=broker-2, at=1)", "cannot be split: No closing quotation"),
        ("command(./reboot.sh, target=broker-2, at=1)", "a command is for brokers that run already"),
        ("kill(broker-1, target=broker-2, at=1)", "kill takes at and for in seconds"),
    ],
)
def test_a_command_that_cannot_be_is_refused(text: str, problem: str) -> None:
    assert problem in refused("--fault", text)


def test_a_fault_that_is_repeated_is_several_each_over_before_the_next() -> None:
    assert parse_faults("kill(broker-2, at=1, for=2, every=5, times=3)") == tuple(
        KillBroker("broker-2", at_s, 2) for at_s in (1, 6, 11)
    )
    assert parse_faults("restart(broker-2, at=1, every=5, times=2)") == (
        RestartBroker("broker-2", 1),
        RestartBroker("broker-2", 6),
    )


def test_each_time_that_a_fault_of_a_group_is_repeated_it_may_meet_another_broker() -> None:
    asked = ("--fault", "kill(consumers, at=1, for=1, every=2, times=12)")
    targets = [fault.target for fault in planned(*asked, "--seed", "1").faults]
    assert {*targets} == {"broker-1", "broker-2", "broker-3"}
    assert targets == [fault.target for fault in planned(*asked, "--seed", "1").faults]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kill(broker-2, at=1, for=2, every=5)", "takes every=SECONDS and times=HOW_MANY"),
        ("kill(broker-2, at=1, for=2, every=5, times=1.5)", "times=HOW_MANY, a whole number"),
        ("kill(broker-2, at=1, for=2, every=5, times=0)", "times=0 must be from 1 to 1000"),
        ("kill(broker-2, at=1, for=5, every=5, times=2)", "every=5 must be longer than it lasts, 5 s"),
        ("kill(broker-2, at=1, every=5, times=2)", "to be repeated it has to end: give it for=SECONDS"),
        ("kill(broker-2, at=1, for=2, every=10, times=9)", "it lasts from 31 s to 33 s of the load"),
    ],
)
def test_a_fault_that_cannot_be_repeated_so_is_refused(text: str, problem: str) -> None:
    assert problem in refused("--fault", text)


@pytest.mark.links
def test_a_link_of_a_broker_that_joins_is_found_by_the_name_that_it_has_then() -> None:
    plan = planned("--fault", "join(broker-3, at=1);cut(broker-3-to-broker-1, at=9, for=1)")
    assert plan.faults[1].target in {link.name for link in plan.topology.links}
    plan = planned("--fault", "join(broker-3, at=1);cut(consumers, at=9, for=1)", "--seed", "3")
    assert plan.faults[1].target in {link.name for link in plan.topology.links}
    assert "no link 'broker-1-to-broker-3'" in refused(
        "--fault", "join(broker-3, at=1);cut(broker-1-to-broker-3, at=9, for=1)"
    )


def turns(plan: Plan) -> list[tuple[str, str, float, float | None]]:
    return [(fault.kind, fault.target, fault.at_s, fault.turn_pause_s) for fault in plan.faults]


def test_a_rolling_restart_is_a_restart_of_each_broker_and_each_waits_for_the_one_before() -> None:
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
    found = turns(planned("--fault", "rolling-restart(all, at=4)", topology="active-standby"))
    assert [target for _, target, _, _ in found] == ["broker-1-standby", "broker-1"]


def test_a_second_rolling_restart_waits_until_the_first_is_over() -> None:
    text = "kill(broker-1, at=1, for=1); rolling-restart(consumers, at=4, pause=3, every=10, times=2)"
    found = turns(planned("--fault", text, topology="two-one-way"))
    assert found == [
        ("kill", "broker-1", 1, None),
        ("restart", "broker-1", 4, None),
        ("restart", "broker-2", 4, 3),
        ("restart", "broker-1", 14, 3),
        ("restart", "broker-2", 14, 3),
    ]


def test_a_load_that_ends_after_its_faults_does_so_unless_its_end_is_given() -> None:
    scenario = Scenario((Producer, Consumer), "mesh", Hold(for_s=90, after_faults_s=10), (no_acked_send_lost(),))

    def of(*arguments: str, load_s: float | None = None) -> tuple[float | None, float | None]:
        parser = ArgumentParser()
        add_arguments(parser, scenario)
        parsed = parser.parse_args([*arguments, "--runtime", "processes"])
        plan = make(scenario, read(parsed, scenario, load_s))
        return plan.load_s, plan.after_faults_s

    fault = ("--fault", "restart(broker-1, at=1)")
    assert of(*fault) == (90, 10)
    assert of() == (90, None)
    assert of(*fault, load_s=60) == (60, None)
    assert of(*fault, "--messages", "100") == (None, None)
    assert of(*fault, "--rate", "100@20s") == (20, None)


def test_a_load_that_ends_after_a_rolling_restart_is_expected_to_take_some_seconds_a_broker() -> None:
    scenario = Scenario((Producer, Consumer), "mesh", Hold(for_s=900, after_faults_s=10), (no_acked_send_lost(),))

    def of(*arguments: str) -> tuple[float | None, str]:
        parser = ArgumentParser()
        add_arguments(parser, scenario)
        parsed = parser.parse_args([*arguments, "--runtime", "processes"])
        plan = make(scenario, read(parsed, scenario, None))
        assert would_run(plan)["expected_load_s"] == plan.expected_load_s
        return plan.expected_load_s, plan.load_bound

    rolling = ("--fault", "rolling-restart(all, at=10, pause=5)")
    assert of(*rolling) == (10 + 3 * EXPECTED_S + 2 * 5 + 10, "about ")
    assert of("--fault", "rolling-restart(all, at=10, pause=10)", "--topology", "mesh(brokers=50)") == (900, "about ")
    assert of("--fault", "kill(broker-1, at=1, for=4)") == (15, "about ")
    assert of() == (900, "")


def test_a_rolling_restart_whose_pauses_alone_do_not_fit_into_the_load_is_refused_and_a_long_one_warned_of() -> None:
    assert refused("--fault", "rolling-restart(all, at=10, pause=10)").endswith(
        "fault restart of broker-3: after the pauses before it, it begins 30 s into the load, which is over after "
        "30 s; make the load longer (-t)"
    )

    def warned(fault: str, topology: str) -> list[str]:
        warnings = planned("--fault", fault, topology=topology).info.warnings
        return [told for told in warnings if "for each restart" in told]

    (warning,) = warned("rolling-restart(all, at=10, pause=5)", "mesh")
    assert warning.startswith("at about 10 s for each restart the last one is over 50 s into the load, and the load is")
    assert not warned("rolling-restart(consumers, at=10)", "source-and-sink")


def test_the_option_may_be_given_several_times_and_takes_the_place_of_the_scenarios_own() -> None:
    own = (KillBroker("broker-3", 1, 2),)
    plan = planned("--fault", "kill(broker-1, at=1, for=2)", "--fault", "freeze(broker-2, at=3, for=1)", faults=own)
    assert plan.faults == (KillBroker("broker-1", 1, 2), FreezeBroker("broker-2", 3, 1))
    assert planned(faults=own).faults == own


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kill", f"'kill': cannot be read; {HOW}"),
        ("kill()", f"'kill()': cannot be read; {HOW}"),
        ("kill(at=1)", f"'kill(at=1)': cannot be read; {HOW}"),
        ("kill(broker-1, at=1) now", f"'kill(broker-1, at=1) now': cannot be read; {HOW}"),
        (
            "kil(broker-1, at=1)",
            "no fault 'kil'; did you mean 'kill'? There are kill, stop, restart, freeze",
        ),
        ("kill(broker-1)", "kill takes at and for in seconds, and at is required"),
        ("kill(broker-1, for=3)", "kill takes at and for in seconds, and at is required"),
        ("kill(broker-1, at=1, until=3)", "kill takes at and for in seconds, and at is required"),
        ("restart(broker-1, at=1, for=3)", "restart takes at in seconds, and at is required"),
        ("kill(broker-1, at=1, at=2)", "at is given twice; keep one"),
        ("kill(broker-1, at=soon)", "'at=soon' is no NAME=SECONDS"),
        ("kill(broker-1, at=-1)", "fault kill of broker-1: at=-1 must be 0 or more seconds into the load"),
        ("kill(broker-1, at=nan)", "at=nan must be 0 or more seconds into the load"),
        ("kill(broker-1, at=1, for=-2)", "for=-2 must be 0 or more seconds"),
        ("rolling-restart(all, at=1, for=2)", "rolling-restart takes at and pause in seconds, and at is required"),
        ("rolling-restart(all, at=1, pause=-2)", "fault rolling-restart of all: pause=-2 must be 0 or more seconds"),
    ],
)
def test_what_is_no_fault_is_refused_with_the_way_to_write_it(text: str, problem: str) -> None:
    told = refused("--fault", text)
    assert told.startswith("--fault ")
    assert problem in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "kill(brokr-2, at=1)",
            "has no broker 'brokr-2'; did you mean 'broker-2'? It has broker-1, broker-2, broker-3",
        ),
        ("rolling-restart(brokr-2, at=1)", "has no broker 'brokr-2'; did you mean 'broker-2'? It has broker-1"),
        ("kill(nothing-like-it, at=1)", "has no broker 'nothing-like-it'; it has broker-1, broker-2, broker-3"),
        ("kill(broker-2, at=20, for=15)", "it lasts from 20 s to 35 s of the load, which is over after 30 s"),
        ("kill(broker-2, at=30)", "it begins 30 s into the load, which is over after 30 s; make the load longer (-t)"),
        ("kill(broker-2, at=1, for=5);freeze(broker-2, at=6, for=1)", "it has another fault then, kill at 1 s"),
        ("kill(broker-2, at=1);kill(broker-2, at=20)", "let one end before the other begins"),
        ("join(brokr-3, at=1)", "has no broker 'brokr-3'; did you mean 'broker-3'? It has broker-1, broker-2"),
        ("join(broker-3, at=1, for=9);join(broker-3, at=5)", "it has another fault then, join at 1 s"),
        (
            "join(broker-3, at=1);join(broker-3, at=5)",
            "it joined at 1 s and stays; give the join before it for=",
        ),
        (
            "kill(broker-3, at=1, for=1);join(broker-3, at=5)",
            "broker-3 at 1 s: it is absent until it joins; choose",
        ),
        (
            "join(broker-3, at=1, for=2);stop(broker-3, at=5)",
            "broker-3 at 5 s: it joined at 1 s and left at 3 s;",
        ),
        ("join(broker-1, at=1);join(broker-2, at=1);join(broker-3, at=1)", "of group 'producers' enter nowhere else"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_before_anything_starts(text: str, problem: str) -> None:
    told = refused("--fault", text)
    assert told.startswith("--fault ")
    assert problem in told


def test_an_error_of_the_scenarios_own_fault_names_no_option() -> None:
    own = (KillBroker("broker-2", at_s=20, for_s=15),)
    assert refused(faults=own).startswith("fault kill of broker-2: it lasts from 20 s to 35 s of the load")


@pytest.mark.parametrize(
    ("topology", "target", "problem"),
    [
        (
            "single",
            "broker-1",
            "clients of group 'producers' enter nowhere else, so they could not connect before it",
        ),
        ("source-and-sink", "sink", "the clients of group 'consumers' enter nowhere else"),
        ("mesh-of-pairs", "broker-2", "it is one of a pair with broker-2-standby, and which of them serves"),
        ("senders(auto_start=False)", "sink", "its link source-to-sink does not start by itself (auto_start=False)"),
    ],
)
def test_a_join_that_cannot_be_is_refused_before_anything_starts(topology: str, target: str, problem: str) -> None:
    told = refused("--fault", f"join({target}, at=1)", topology=topology)
    assert told.startswith(f"--fault 'join({target}, at=1)': fault join of {target}: ")
    assert problem in told


def test_a_join_needs_brokers_that_can_be_absent() -> None:
    asked = ("--fault", "join(broker-3, at=1)")
    assert "brokers in memory have no links that could come up; use --runtime" in refused(*asked, runtime="memory")


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
    asked = "slow(a-to-b, at=1, for=2, delay=40ms, jitter=5ms, bandwidth=2MB/s); stop-link(a-to-b, at=4)"
    assert parse_faults(f"{asked}; disconnect(a, at=9)") == (
        SlowLink("a-to-b", 1, 2, Impairment(delay_ms=40, jitter_ms=5, bandwidth_kb_per_s=2_000)),
        StopLink("a-to-b", 4),
        DisconnectClients("a", 9),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("slow(a-to-b, at=1)", "fault slow of a-to-b: how slow? Add delay=40ms or bandwidth=500kB/s, or both"),
        ("slow(a-to-b, at=1, delay=40)", "delay=40, but it must be a number with a unit (ms, s), e.g. delay=40ms"),
        ("slow(a-to-b, at=1, jitter=5ms)", "it must be at most delay_ms (0)"),
        ("slow(a-to-b, at=1, speed=5)", "slow takes at and for in seconds"),
        ("disconnect(broker-1, at=1, for=2)", "disconnect takes at in seconds"),
    ],
)
def test_a_link_that_is_made_slow_by_nothing_or_by_what_is_not_known_is_refused(text: str, problem: str) -> None:
    assert problem in refused("--fault", text)


def test_a_member_of_a_cluster_does_not_stop_one_of_its_links() -> None:
    told = refused("--fault", "stop-link(broker-1-to-broker-2, at=1)", topology="cluster")
    assert "it is one of the links of cluster 'cluster', and a broker can only stop all of its links there" in told


def test_a_broker_where_no_client_enters_cannot_hang_up_on_any() -> None:
    told = refused("--fault", "disconnect(hub, at=1)", topology="hub-and-spoke(spokes=2)")
    assert "fault disconnect of hub: no client enters there; clients enter at spoke-1, spoke-2" in told


def test_a_store_is_full_for_a_while_again_and_again_or_until_the_load_is_over() -> None:
    assert planned(
        "--fault", "full-store(broker-2, at=1, for=2, every=5, times=2); full-store(broker-1, at=9)"
    ).faults == (
        FullStore("broker-2", 1, 2),
        FullStore("broker-2", 6, 2),
        FullStore("broker-1", 9),
    )


def test_a_store_that_takes_no_other_limit_cannot_be_made_full() -> None:
    assert refused("--fault", "full-store(broker-1, at=1)", topology="artemis-single") == (
        "--fault 'full-store(broker-1, at=1)': fault full-store of broker-1: brokers of product artemis take no other "
        "store limit while they run; use freeze, which holds producers back too, or a topology of another product"
    )


def test_a_broker_without_a_store_has_none_that_could_be_full(tmp_path: Path) -> None:
    file = tmp_path / "forgetful.yaml"
    groups = "".join(f"  - {{name: {name}, enter_at: [broker-1]}}\n" for name in ("producers", "consumers"))
    file.write_text(f"name: forgetful\nbrokers:\n  - {{name: broker-1, persistence: null}}\ngroups:\n{groups}")
    told = refused("--fault", "full-store(broker-1, at=1)", topology=str(file))
    assert told.startswith(
        "--fault 'full-store(broker-1, at=1)': fault full-store of broker-1: it keeps messages in memory "
        "only (persistence: null)"
    )
    assert told.endswith("; leave persistence out")


def test_a_standby_has_a_full_store_only_once_its_active_has_gone() -> None:
    full = "full-store(broker-1-standby, at=9, for=1)"
    told = "fault full-store of broker-1-standby: it stands by, so it stores nothing; choose broker-1, or kill that one"
    assert told in refused("--fault", full, topology="active-standby")
    assert told in refused("--fault", f"{full}; kill(broker-1, at=12)", topology="active-standby")
    assert len(planned("--fault", f"{full}; kill(broker-1, at=1)", topology="active-standby").faults) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("full-store(broker-1)", "full-store takes at and for in seconds, and at is required"),
        ("full-store(broker-1, at=1, percent=90)", "full-store takes at and for in seconds"),
        ("full-stor(broker-1, at=1)", "no fault 'full-stor'; did you mean 'full-store'?"),
        ("full-store(brokr-1, at=1)", "has no broker 'brokr-1'; did you mean 'broker-1'?"),
        ("full-store(broker-1, at=1, for=5); kill(broker-1, at=3)", "it has another fault then, full-store at 1 s"),
    ],
)
def test_a_full_store_that_cannot_be_is_refused(text: str, problem: str) -> None:
    assert problem in refused("--fault", text)


@pytest.mark.parametrize(
    "text",
    ["disconnect(broker-1, at=1)", "full-store(broker-1, at=1)", "stop-link(broker-1-to-broker-2, at=1)"],
)
def test_brokers_in_memory_have_no_management_that_could_be_asked(text: str) -> None:
    assert "brokers in memory have no management" in refused("--fault", text, runtime="memory")


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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "cut(broker-1-to-broker-3x, at=1)",
            "has no link 'broker-1-to-broker-3x'; did you mean 'broker-1-to-broker-3'?",
        ),
        ("cut(broker-1, at=1)", "has no link 'broker-1'; did you mean 'broker-1-to-broker-2'? It has broker-1-to-"),
    ],
)
def test_a_link_that_is_not_there_cannot_be_cut(text: str, problem: str) -> None:
    assert problem in refused("--fault", text)


def test_a_topology_without_links_says_so() -> None:
    assert refused("--fault", "cut(broker-1, at=1)", topology="single") == (
        "--fault 'cut(broker-1, at=1)': fault cut at 1 s: topology 'single' has no link 'broker-1'; it has none, so "
        "choose another --topology or a fault of a broker"
    )


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


def test_premises_are_about_the_scenarios_own_faults() -> None:
    own = {"faults": (KillBroker("broker-3", 1, 2),), "premises": (somebody_cut_off(),)}
    assert planned(**own).info.premises == (somebody_cut_off(),)
    assert planned("--fault", "freeze(broker-1, at=1, for=1)", **own).info.premises == ()
