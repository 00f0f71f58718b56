"""Orders by one protocol and telemetry by another. Each class has its own protocol or the default.

Asks: is every message of both accounted for?
"""

import os

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    duplicates_at_most,
    no_acked_send_lost,
    none_corrupted,
    run,
)

ORDERS_BY, ORDERS_TAKEN_BY = os.environ["ORDERS"].split(":")


class Orders(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://orders", 2, 20
    protocol = ORDERS_BY


class Telemetry(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "topic://telemetry", 2, 30
    durable = False


class OrderTakers(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://orders", 2
    protocol = ORDERS_TAKEN_BY


class Dashboards(ConsumerUser):
    group, destination, fixed_count = "consumers", "topic://telemetry", 2


run(
    Scenario(
        (Orders, Telemetry, OrderTakers, Dashboards),
        "mesh(brokers=2)",
        Hold(for_s=3),
        (no_acked_send_lost(), duplicates_at_most(0), none_corrupted()),
        question=__doc__,
    )
)
