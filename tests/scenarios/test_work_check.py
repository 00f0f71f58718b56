"""Checks before anything starts that slow consumers can do their work, and that a topology fits a scenario."""

from argparse import ArgumentParser
from typing import Any

import pytest

from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from scenarios.harness import (
    ANY_LINK,
    BETWEEN_REGIONS,
    MIRROR,
    PARALLEL,
    TO_A_PAIR,
    TO_FAR_CONSUMERS,
    Hold,
    NeededLink,
    Scenario,
    no_acked_send_lost,
)
from scenarios.harness.options.arguments import add_arguments
from scenarios.harness.options.plan import Plan, make
from scenarios.harness.options.run_options import read
from scenarios.harness.options.user_settings import remember, restore, settings


class Producer(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://q", 2, 50


class Slow(ConsumerUser):
    group, destination, fixed_count, work_ms = "consumers", "queue://q", 1, "exponential(20)"


class Quick(ConsumerUser):
    group, destination, fixed_count, work_ms = "consumers", "queue://q", 2, 10


class ToTopic(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "topic://t", 1, 90


class OfTopic(ConsumerUser):
    group, destination, fixed_count, work_ms = "consumers", "topic://t", 8, 10


def planned(*arguments: str, users: tuple[Any, ...] = (Producer, Slow, Quick)) -> Plan:
    scenario = Scenario(users, "mesh", Hold(for_s=30), (no_acked_send_lost(),))
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    own = remember(scenario)
    try:
        runtime = () if "--runtime" in arguments else ("--runtime", "processes")
        return make(scenario, read(parser.parse_args([*arguments, *runtime]), scenario, None))
    finally:
        restore(own)


def refused(*arguments: str, **more: Any) -> str:
    with pytest.raises(UserError) as raised:
        planned(*arguments, **more)
    return str(raised.value)


def test_consumers_of_a_queue_together_take_what_one_alone_could_not() -> None:
    users = {user.name: user.settings for user in planned("--rate", "240").info.users}
    assert (users["Slow"]["work_ms"], users["Quick"]["work_ms"]) == ("exponential(20)", "10")
    assert refused("--rate", "250") == (
        "queue://q: 250 messages a second are sent to it, and its consumers (1 Slow of exponential(20) ms and 2 Quick "
        "of 10 ms) can take at most 250 a second together; lower --rate or --work-ms, or use more --consumers"
    )


def test_a_consumer_that_takes_no_time_takes_what_the_others_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Quick, "work_ms", 0)
    assert planned("--rate", "5000")


def test_each_subscriber_of_a_topic_has_to_take_all_of_it() -> None:
    assert planned(users=(ToTopic, OfTopic))
    told = refused("--rate", "100", users=(ToTopic, OfTopic))
    assert "can take at most 100 a second each, and each subscriber gets all messages; lower --rate" in told


def test_consumers_that_take_no_time_or_select_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OfTopic, "selector", "colour IS NULL")
    assert planned("--rate", "5000", users=(ToTopic, OfTopic))
    monkeypatch.setattr(OfTopic, "selector", "")
    assert planned("--rate", "5000", "--ttl", "1", users=(ToTopic, OfTopic))
    monkeypatch.setattr(ToTopic, "time_to_live_s", None)
    monkeypatch.setattr(OfTopic, "work_ms", 0)
    assert planned("--rate", "5000", users=(ToTopic, OfTopic))


def test_a_rate_that_changes_has_to_be_served_where_it_is_lowest() -> None:
    assert planned("--rate", "100,1000@10s")
    assert "queue://q: 300 messages a second are sent" in refused("--rate", "300..1000@10s")


def test_the_option_takes_the_place_of_what_every_class_has_and_workers_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Slow, "work_ms", 0)
    plan = planned("--work-ms", "2..4", "--prefetch", "7", "--rate", "900")
    consumers = [user for user in plan.info.users if user.role == "consumer"]
    assert [(user.settings["work_ms"], user.settings["prefetch"]) for user in consumers] == [("2..4", 7)] * 2
    assert plan.info.options["work_ms"] == "2..4"
    assert {"work_ms", "prefetch"} < settings((Slow,))["Slow"].keys()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--work-ms", "soon"),
            "Slow: work_ms = 'soon': 'soon' is no time in milliseconds; write milliseconds such as",
        ),
        (("--prefetch", "0"), "--prefetch 0: must be at least 1"),
        (
            ("--topology", "cluster", "--protocol", "core"),
            "Slow: work_ms = 'exponential(20)' (--work-ms): core clients cannot do this: its library shares a few",
        ),
        (
            ("--topology", "cluster", "--protocol", "core", "--work-ms", "0", "--prefetch", "5"),
            "--prefetch 5: core clients take none: its library counts bytes, not messages; set consumerWindowSize",
        ),
    ],
)
def test_work_that_cannot_be_done_so_is_refused_before_anything_starts(
    arguments: tuple[str, ...], problem: str
) -> None:
    assert refused(*arguments).startswith(problem)


def test_a_scenario_about_two_brokers_is_refused_where_the_group_enters_at_one() -> None:
    scenario = Scenario((ToTopic, OfTopic), "mesh", Hold(for_s=30), (no_acked_send_lost(),), entries={"consumers": 2})
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    arguments = parser.parse_args(["--runtime", "processes", "--topology", "source-and-sink"])
    with pytest.raises(UserError) as raised:
        make(scenario, read(arguments, scenario, None))
    assert str(raised.value).startswith(
        "--topology source-and-sink: group 'consumers' enters at 1 broker, and scenario test_work_check asks about 2; "
    )


BESIDE = "link from a broker with all producers and the first consumers to the one with the next consumers"
NOT_BESIDE = ("source-and-sink", "mesh", "ring", "active-standby", "concentrator", "two-one-way")


@pytest.mark.parametrize(
    ("link", "named", "without", "having"),
    [
        (ANY_LINK, "link between brokers", "active-standby", "senders"),
        (BETWEEN_REGIONS, "link between two regions", "mesh", "two-regions"),
        (MIRROR, "mirror", "cluster", "dual-mirror"),
        (
            PARALLEL,
            "second link from the same broker to the same other one",
            "two-one-way",
            "parallel-connectors(queue_connectors=1)",
        ),
        *((TO_FAR_CONSUMERS, BESIDE, entry, "source-and-sink(consumers_at_both=True)") for entry in NOT_BESIDE),
        (TO_A_PAIR, "link to a pair of brokers", "active-standby", "senders(alternate=True)"),
        (TO_A_PAIR, "link to a pair of brokers", "hub-and-spoke(hub_standby=True)", "mesh-of-pairs"),
    ],
)
def test_a_scenario_about_a_kind_of_link_is_refused_where_there_is_none(
    link: NeededLink, named: str, without: str, having: str
) -> None:
    scenario = Scenario((Producer, Quick), having, Hold(for_s=30), (no_acked_send_lost(),), link=link)
    parser = ArgumentParser()
    add_arguments(parser, scenario)

    def made_for(topology: str) -> str:
        arguments = parser.parse_args(["--runtime", "processes", "--topology", topology])
        return make(scenario, read(arguments, scenario, None)).info.topology

    assert made_for(having)
    with pytest.raises(UserError) as raised:
        made_for(without)
    assert str(raised.value) == (
        f"--topology {without}: it has no {named}, and scenario test_work_check asks about one; leave --topology out "
        f"for {having}, or choose one that has it"
    )
