"""Checks the test before the start that requests can get replies: each mistake is one sentence."""

from argparse import ArgumentParser
from typing import Any

import pytest

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read


class AskingProducer(ProducerUser):
    group, destination, fixed_count, awaits_replies = "producers", "queue://q", 2, True


class AnsweringConsumer(ConsumerUser):
    group, destination, fixed_count, replies = "consumers", "queue://q", 1, True


class PlainConsumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 1


def planned(*arguments: str, users: tuple[Any, ...] = (AskingProducer, AnsweringConsumer)) -> Plan:
    scenario = Scenario(users, "chain", Hold(for_s=30), (no_acked_send_lost(),))
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    runtime = () if "--runtime" in arguments else ("--runtime", "processes")
    return make(scenario, read(parser.parse_args([*arguments, *runtime]), scenario, None))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--runtime", "memory"),
        ("--topology", "single"),
        ("--topology", "chain(bridge_temp_destinations=False)"),
        pytest.param(("--protocol", "amqp"), marks=pytest.mark.amqp),
        ("--protocol", "openwire:stomp"),
        pytest.param(("--topology", "cluster", "--protocol", "amqp"), marks=pytest.mark.amqp),
        ("--topology", "cluster", "--protocol", "core"),
    ],
)
def test_where_replies_come_back_a_run_may_begin_and_run_json_says_so(arguments: tuple[str, ...]) -> None:
    requester, replier = planned(*arguments).info.users
    assert (requester.settings["awaits_replies"], replier.settings["replies"]) == (True, True)


def test_a_load_without_requests_may_go_by_any_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AskingProducer, "awaits_replies", False)
    assert planned("--protocol", "openwire", users=(AskingProducer, PlainConsumer))
