"""Makes a run with some users that have a wrong password, and some that send requests that the broker rejects.

Asks: does the load continue without them?
"""

import os
from contextlib import closing
from dataclasses import replace

from brokerbench import Hold, Scenario, no_acked_send_lost, none_stranded, run
from drivers.contract import Destination, Subscription
from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import Session
from topologies.model.endpoints import Credentials

EVERYBODY = os.environ.get("WHO_MAY_FAIL") == "everybody"


class Guest(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://guests", 2, 10
    may_fail = True


class Order(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://guests", 2, 10
    abstract = EVERYBODY  # Locust spawns users of every other class that it finds


class Choosy(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://guests", 1
    may_fail = True


class Taker(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://guests", 1


def connect_with_a_wrong_password(user: Guest, session: Session) -> None:
    network = session.network
    session.network = replace(network, credentials=Credentials(network.credentials.username, "mistyped"))
    # with these classes, without waiting for other users
    client = session.pooled_client(user.role, user.group, user.connections)
    session.network = network
    with closing(client):
        client.open()
        raise AssertionError("a broker took a wrong password")


def produce(user: ProducerUser, session: Session) -> None:
    if isinstance(user, Guest):
        connect_with_a_wrong_password(user, session)
    else:
        own_produce(user, session)


def subscription(user: ConsumerUser, number: int, destination: Destination) -> Subscription:
    """Give a Choosy user an invalid selector. A scenario with it would be rejected before its start."""
    own = own_subscription(user, number, destination)
    return replace(own, selector="color =") if isinstance(user, Choosy) else own


own_produce, own_subscription = ProducerUser._produce, ConsumerUser._subscription
ProducerUser._produce = produce  # type: ignore[method-assign]
ConsumerUser._subscription = subscription  # type: ignore[method-assign]

run(
    Scenario(
        (Guest, Choosy, Taker) if EVERYBODY else (Guest, Order, Choosy, Taker),
        "single",
        Hold(for_s=5),
        (no_acked_send_lost(), none_stranded()),
        question=__doc__,
    )
)
