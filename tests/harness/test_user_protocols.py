"""Checks which protocol each user class speaks, and how a run records it."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerbench import Hold, Scenario
from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.run_options import protocols_of
from harness.routing import Exchange, ProducerConsumerPair, exchanges_of
from records.run import RunInfo, UserInfo

PROTOCOLS = ("stomp", "amqp", "openwire", "core")


def scenario(producers: list[str], consumers: list[str]) -> Scenario:
    """A scenario with a class for each protocol; '': a class without the attribute."""
    classes = [
        type(f"{base.__name__}{number}", (base,), {"protocol": protocol, "group": base.role})
        for base, protocols in ((ProducerUser, producers), (ConsumerUser, consumers))
        for number, protocol in enumerate(protocols)
    ]
    return Scenario(tuple(cast(list[type[ProducerUser]], classes)), "mesh", Hold(for_s=1), ())


own_protocols = st.lists(st.sampled_from(["", *PROTOCOLS]), min_size=1, max_size=4)


@given(own_protocols, own_protocols, st.sampled_from(["stomp", "amqp", "openwire:core"]))
def test_each_class_speaks_its_own_protocol_or_the_default(
    producers: list[str], consumers: list[str], default: str
) -> None:
    """Also checks the protocols that the analysis reads from run.json, and that a worker reads from its master."""
    made = scenario(producers, consumers)
    option = default if "" in (*producers, *consumers) else None
    text = protocols_of(made, option, in_memory=False)
    spoken, usual = Spoken.parse(text), Spoken.parse(default if option else "stomp")
    wanted = {user.__name__: user.protocol or usual.of(user.role) for user in made.users}
    assert {user.__name__: spoken.of(user.role, user.__name__) for user in made.users} == wanted
    assert {*spoken.distinct} == {*wanted.values()}, "no protocol that nobody speaks"
    users = tuple(UserInfo(user.__name__, user.role, user.group, user.destination, 1) for user in made.users)
    info = RunInfo("r", "s", "mesh", "processes", text, users=users)
    for role in ("producer", "consumer"):
        assert info.protocols_of(role) == {wanted[user.__name__] for user in made.users if user.role == role}


@pytest.mark.parametrize(
    ("producers", "consumers", "text"),
    [
        (["", ""], [""], "stomp"),
        (["amqp"], ["openwire"], "amqp:openwire"),
        (["amqp", ""], ["amqp", ""], "stomp, ProducerUser0=amqp, ConsumerUser0=amqp"),
        (["amqp", "core"], [""], "amqp:stomp, ProducerUser1=core"),
        (["stomp"], [""], "stomp"),
    ],
)
def test_a_run_records_the_classes_that_differ(producers: list[str], consumers: list[str], text: str) -> None:
    assert protocols_of(scenario(producers, consumers), None, in_memory=False) == text


def test_paths_are_proven_by_each_pair_of_protocols() -> None:
    class OrderUsers(ProducerUser):
        group, destination = "producers", "queue://orders"

    class TelemetryUsers(ProducerUser):
        group, destination = "producers", "topic://telemetry"

    class TakerUsers(ConsumerUser):
        group, destination = "consumers", "queue://orders"

    class DashboardUsers(ConsumerUser):
        group, destination = "far", "topic://telemetry"

    spoken = Spoken.parse("stomp, OrderUsers=amqp, TakerUsers=core")
    pairs = ((TelemetryUsers, DashboardUsers), (OrderUsers, TakerUsers), (OrderUsers, TakerUsers))
    producer_consumer_pairs = [ProducerConsumerPair(producer, consumer, ()) for producer, consumer in pairs]
    assert exchanges_of(producer_consumer_pairs, spoken) == (
        Exchange("producers", "consumers", ("amqp", "core")),
        Exchange("producers", "far", ("stomp", "stomp")),
    )


def test_the_analysis_reads_runs_of_one_and_two_protocols() -> None:
    for text, producers, consumers in (("stomp", "stomp", "stomp"), ("stomp:amqp", "stomp", "amqp")):
        info = RunInfo("r", "s", "mesh", "processes", text)
        assert (info.protocols_of("producer"), info.protocols_of("consumer")) == ({producers}, {consumers})
