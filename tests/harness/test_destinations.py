"""Checks several destinations of a class: the records of a run, and the values that are rejected before it."""

from argparse import ArgumentParser
from typing import Any

import pytest

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read
from harness.routing import reachability_warnings
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology


class SpreadProducer(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://many.{n}", 2, 10


class SpreadConsumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://many.{n}", 2


class ToTopics(ProducerUser):
    group, destination, fixed_count = "producers", "topic://many.{n}", 2


class OfTopics(ConsumerUser):
    group, destination, fixed_count = "consumers", "topic://many.{n}", 8


MANY = (SpreadProducer, SpreadConsumer)


def planned(*arguments: str, users: tuple[Any, ...] = MANY) -> Plan:
    scenario = Scenario(users, "mesh", Hold(for_s=30), (no_acked_send_lost(),))
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    return make(scenario, read(parser.parse_args([*arguments, "--runtime", "processes"]), scenario, None))


def test_a_run_knows_all_destinations_of_its_classes() -> None:
    plan = planned("--destinations", "3")
    for user in plan.info.users:
        assert user.settings["destinations"] == 3
        assert user.destinations == ("queue://many.1", "queue://many.2", "queue://many.3")
    assert plan.roles == (("producers", "consumers"),)
    assert [user.destinations for user in planned().info.users] == [("queue://many.1",)] * 2
    assert SpreadProducer.destinations == 1


def test_a_message_to_one_of_several_topics_goes_to_the_subscribers_of_that_one() -> None:
    assert planned("--destinations", "4", users=(ToTopics, OfTopics)).copies == 2
    assert planned("--destinations", "20", users=(ToTopics, OfTopics)).copies == 1
    assert planned(users=(ToTopics, OfTopics)).copies == 8


def test_users_with_a_destination_each_can_have_transactions_and_openwire() -> None:
    plan = planned("--destinations", "2", "--transaction-size", "5", "--protocol", "openwire", "--work-ms", "5")
    assert plan.info.users[0].settings["destinations"] == 2


def test_destinations_that_a_link_leaves_behind_are_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in MANY:
        monkeypatch.setattr(user, "destinations", 12)
    near, far = Broker("one"), Broker("two")
    link = NetworkConnector(near, far, excluded_destinations=("queue://many.3", "queue://many.1*", "queue://many.12"))
    groups = (ClientGroup("producers", (near,)), ClientGroup("consumers", (far,)))
    (warning,) = reachability_warnings(Topology("t", (near, far), (link,), groups, CLASSIC), MANY)
    assert warning.startswith("queue://many.3 and 1 more destinations cannot get from 'one' to a consumer at 'two'")
