"""Checks the warning about links that do not carry the scenario's messages, and the error if no consumer gets them."""

from argparse import ArgumentParser

import pytest

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read
from harness.routing import reachability_warnings
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology


class Producer(ProducerUser):
    group, destination = "producers", "queue://orders"


class Consumer(ConsumerUser):
    group, destination = "consumers", "queue://orders"


class Other(ConsumerUser):
    group, destination = "consumers", "queue://prices"


USERS: tuple[type[BrokerUser], ...] = (Producer, Consumer, Other)
A, B, C = (Broker(name) for name in "abc")


def line(*last: NetworkConnector) -> Topology:
    link = NetworkConnector(A, B, consumer_ttl=2)
    groups = (ClientGroup("producers", (A,)), ClientGroup("consumers", (B, C)))
    return Topology("line", (A, B, C), (link, *last), groups, CLASSIC)


def test_a_destination_that_a_link_excludes_is_told_with_the_link_and_both_ends() -> None:
    last = NetworkConnector(B, C, message_ttl=2, excluded_destinations=("queue://orders",))
    assert reachability_warnings(line(last), USERS) == (
        "queue://orders cannot get from 'a' to a consumer at 'c': not carried by link 'b-to-c'; change the "
        "topology so that its links carry queue://orders, or send to a destination that they carry",
    )


def test_a_destination_that_one_of_several_links_carries_is_carried() -> None:
    last = NetworkConnector(B, C, message_ttl=2, excluded_destinations=("queue://orders",))
    also = NetworkConnector(B, C, name="also", message_ttl=2)
    assert reachability_warnings(line(last, also), USERS) == ()


def test_of_several_pairs_the_first_is_told_and_the_others_are_counted() -> None:
    topology = build("dual-mirror(address_filter='prices')")
    (sentence,) = reachability_warnings(topology, USERS)
    assert sentence.startswith(
        "queue://orders cannot get from 'dc-1' to a consumer at 'dc-2' (nor between 1 more pairs of"
    )
    assert "link 'dc-1-to-dc-2'" in sentence


def test_groups_of_a_scenarios_own_that_are_out_of_reach_are_told_with_what_to_raise() -> None:
    """A topology checks only producers and consumers, as it does not know how other groups exchange messages."""

    class ReachableShop(ProducerUser):
        group, destination = "shops", "queue://orders"

    class Store(ConsumerUser):
        group, destination = "stores", "queue://orders"

    groups = (ClientGroup("shops", (A,)), ClientGroup("stores", (B, C)))
    topology = Topology("t", (A, B, C), (NetworkConnector(A, B), NetworkConnector(B, C)), groups, CLASSIC)
    assert topology.warnings == ()
    assert reachability_warnings(topology, (ReachableShop, Store)) == (
        "a message sent at 'a' cannot reach a consumer at 'c': raise consumer_ttl of link 'a-to-b' from 1 to 2,"
        " message_ttl of link 'b-to-c' from 1 to 2",
    )


def test_what_a_topology_warns_of_itself_is_not_told_twice() -> None:
    topology = build("ring(ttl=1)")
    assert len(topology.warnings) == 2
    assert reachability_warnings(topology, USERS) == ()


@pytest.mark.parametrize("entry", ["senders(match='orders')", "receivers", "mesh", "cluster"])
def test_what_is_carried_is_not_told(entry: str) -> None:
    assert reachability_warnings(build(entry), USERS) == ()


@pytest.mark.parametrize("entry", ["senders(match='prices')", "receivers(match='prices')"])
def test_what_a_parameter_of_an_entry_leaves_out_is_told(entry: str) -> None:
    assert len(reachability_warnings(build(entry), USERS)) == 1


def planned(topology: str, runtime: str = "processes") -> Plan:
    scenario = Scenario((Producer, Consumer, Other), "single", Hold(for_s=30), (no_acked_send_lost(),))
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    arguments = parser.parse_args(["--topology", topology, "--runtime", runtime])
    return make(scenario, read(arguments, scenario, None))


def test_a_destination_that_some_consumer_can_get_is_only_warned_of() -> None:
    assert len(planned("dual-mirror(address_filter='prices')").info.warnings) == 1


def test_brokers_in_memory_have_no_links_that_could_leave_a_destination_behind() -> None:
    assert planned("chain(static_queue='prices')", "memory").info.warnings
