"""Makes a run in which some users have a wrong password and some ask for what the broker refuses.

Asks: does the load continue without them?
"""

import os
from contextlib import closing
from dataclasses import replace

from drivers.users.locust_users import ConsumerUser, ProducerUser
from drivers.users.session import Session
from scenarios.harness import Hold, Scenario, no_acked_send_lost, none_stranded, run
from topologies.model.endpoints import Credentials

EVERYBODY = os.environ.get("WHO_MAY_FAIL") == "everybody"


class Guest(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://guests", 2, 10
    may_fail = True

    def _produce(self, session: Session) -> None:
        network = session.network
        session.network = replace(network, credentials=Credentials(network.credentials.username, "mistyped"))
        client = session.pooled_client(
            self.role, self.group, self.connections
        )  # with these, and without waiting for anybody
        session.network = network
        with closing(client):
            client.open()
            raise AssertionError("a broker took a wrong password")


class Order(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://guests", 2, 10
    abstract = EVERYBODY  # Locust makes users of every other class that it finds


class Choosy(ConsumerUser):
    group, destination, fixed_count, selector = "consumers", "queue://guests", 1, "colour ="  # no selector
    may_fail = True


class Taker(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://guests", 1


run(
    Scenario(
        (Guest, Choosy, Taker) if EVERYBODY else (Guest, Order, Choosy, Taker),
        "single",
        Hold(for_s=5),
        (no_acked_send_lost(), none_stranded()),
        question=__doc__,
    )
)
