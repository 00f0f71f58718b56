"""Checks before anything starts that requests can get their replies: each mistake is one sentence."""

from argparse import ArgumentParser
from typing import Any

import pytest

from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from scenarios.harness import Hold, Scenario, no_acked_send_lost
from scenarios.harness.options.arguments import add_arguments
from scenarios.harness.options.plan import Plan, make
from scenarios.harness.options.run_options import read
from scenarios.harness.options.user_settings import remember, restore


class Requester(ProducerUser):
    group, destination, fixed_count, awaits_replies = "producers", "queue://q", 2, True


class Replier(ConsumerUser):
    group, destination, fixed_count, replies = "consumers", "queue://q", 1, True


class Taker(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 1


def planned(*arguments: str, users: tuple[Any, ...] = (Requester, Replier)) -> Plan:
    scenario = Scenario(users, "chain", Hold(for_s=30), (no_acked_send_lost(),))
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


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--topology", "cluster"),
            "--protocol stomp: stomp has no temporary queues for replies on brokers of artemis, and cluster-of-3 has "
            "such; choose --protocol amqp or openwire or core",
        ),
        (
            ("--topology", "cluster", "--protocol", "core:stomp"),
            "--protocol core:stomp: stomp has no temporary queues for replies on brokers of artemis",
        ),
        (
            ("--topology", "cluster", "--protocol", "core:openwire"),
            "--protocol core:openwire: on brokers of artemis openwire clients cannot reply to temporary queues of core "
            "clients; choose one protocol for both",
        ),
        (
            ("--topology", "source-and-sink"),
            "--topology source-and-sink: no path leads from 'sink', where consumers reply, back to 'source'; make its "
            "links duplex, or choose chain",
        ),
        (
            ("--connections", "pooled"),
            "Requester: connections = 'pooled': a temporary queue belongs to one connection; write 'one'",
        ),
        (("--connections", "per-message"), "Requester: connections = 'per-message': a temporary queue belongs to one"),
    ],
)
def test_what_can_get_no_reply_is_refused_before_anything_starts(arguments: tuple[str, ...], problem: str) -> None:
    assert refused(*arguments).startswith(problem)


def test_requests_of_a_transaction_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Requester, "transaction_size", 5)
    assert refused() == (
        "Requester: transaction_size = 5: requests of a transaction would wait for its end; leave transactions out"
    )


def test_requests_to_several_destinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in (Requester, Replier):
        monkeypatch.setattr(user, "destination", "queue://q.{n}")
    assert refused("--destinations", "3").startswith(
        "Requester: destinations = 3: requests go to one destination here, so that its replies have one name"
    )


def test_requests_that_nobody_answers_are_refused() -> None:
    assert refused(users=(Requester, Taker)) == (
        "Requester: awaits_replies = True, and nobody replies to queue://q; write replies = True in a ConsumerUser of "
        "that destination"
    )


def test_a_load_without_requests_may_go_by_any_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Requester, "awaits_replies", False)
    assert planned("--protocol", "openwire", users=(Requester, Taker))
