"""Checks before anything starts that slow consumers can do their work, and that a topology fits a scenario."""

from argparse import ArgumentParser
from typing import Any

import pytest

from brokerbench import (
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
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read
from harness.options.user_classes import settings


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
    runtime = () if "--runtime" in arguments else ("--runtime", "processes")
    return make(scenario, read(parser.parse_args([*arguments, *runtime]), scenario, None))


def test_consumers_of_a_queue_together_take_what_one_alone_could_not() -> None:
    users = {user.name: user.settings for user in planned("--rate", "240").info.users}
    assert (users["Slow"]["work_ms"], users["Quick"]["work_ms"]) == ("exponential(20)", "10")


def test_a_consumer_that_takes_no_time_takes_what_the_others_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Quick, "work_ms", 0)
    assert planned("--rate", "5000")


def test_each_subscriber_of_a_topic_has_to_take_all_of_it() -> None:
    assert planned(users=(ToTopic, OfTopic))


def test_consumers_that_take_no_time_or_select_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OfTopic, "selector", "color IS NULL")
    assert planned("--rate", "5000", users=(ToTopic, OfTopic))
    monkeypatch.setattr(OfTopic, "selector", "")
    assert planned("--rate", "5000", "--ttl", "1", users=(ToTopic, OfTopic))
    monkeypatch.setattr(ToTopic, "time_to_live_s", None)
    monkeypatch.setattr(OfTopic, "work_ms", 0)
    assert planned("--rate", "5000", users=(ToTopic, OfTopic))


def test_a_rate_that_changes_has_to_be_served_where_it_is_lowest() -> None:
    assert planned("--rate", "100,1000@10s")


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
    ("link", "topology"),
    [
        (ANY_LINK, "senders"),
        (BETWEEN_REGIONS, "two-regions"),
        (MIRROR, "dual-mirror"),
        (PARALLEL, "parallel-connectors(queue_connectors=1)"),
        (TO_FAR_CONSUMERS, "source-and-sink(consumers_at_both=True)"),
        (TO_A_PAIR, "senders(alternate=True)"),
        (TO_A_PAIR, "mesh-of-pairs"),
    ],
)
def test_a_scenario_about_a_kind_of_link_may_run_where_there_is_one(link: NeededLink, topology: str) -> None:
    scenario = Scenario((Producer, Quick), topology, Hold(for_s=30), (no_acked_send_lost(),), link=link)
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    make(scenario, read(parser.parse_args(["--runtime", "processes", "--topology", topology]), scenario, None))


@pytest.mark.parametrize(
    ("users", "rate", "can"),
    [((Producer, Slow, Quick), "250", "250 per second in total"), ((ToTopic, OfTopic), "100", "100 per second each")],
)
def test_too_much_work_is_a_warning(users: tuple[Any, ...], rate: str, can: str) -> None:
    """A backlog may be intended, for example when a broker dies. Then the offered rate is not judged."""
    info = planned("--rate", rate, users=users).info
    (warning,) = (warning for warning in info.warnings if "pile up from the start" in warning)
    assert f"can process at most {can}" in warning
    assert info.limited_on_purpose == "the consumers cannot process all messages that are sent to them"


def test_a_rate_is_judged_where_consumers_have_time() -> None:
    info = planned("--rate", "240").info
    assert (info.limited_on_purpose, [text for text in info.warnings if "pile up" in text]) == ("", [])
