"""Messages that no consumer takes: some expire, some have a color that no selector matches.

Asks: are they distinguished from lost messages, and from messages that a consumer should have received?
"""

from typing import ClassVar

from brokerbench import Hold, Scenario, no_acked_send_lost, none_expired, run
from drivers.users.locust_users import ConsumerUser, ProducerUser


class Mortal(ProducerUser):
    group, destination, fixed_count = "producers", "queue://mortal", 1
    properties: ClassVar = {"color": ["red", "blue"]}
    time_to_live_s = 4


class Immortal(ProducerUser):
    group, destination, fixed_count = "producers", "queue://immortal", 1
    properties: ClassVar = {"color": ["red", "blue"]}


class OneWay(ProducerUser):
    group, destination, fixed_count, durable = "producers", "queue://one-way", 1, False
    properties: ClassVar = {"color": ["red", "blue"]}
    time_to_live_s = 4


class MortalConsumer(ConsumerUser):
    group, destination, fixed_count, selector = "consumers", "queue://mortal", 1, "color = 'red'"


class ImmortalConsumer(ConsumerUser):
    group, destination, fixed_count, selector = "consumers", "queue://immortal", 1, "color = 'red'"


class OneWayConsumer(ConsumerUser):
    group, destination, fixed_count, selector = "consumers", "queue://one-way", 1, "color = 'red'"


run(
    Scenario(
        (Mortal, Immortal, OneWay, MortalConsumer, ImmortalConsumer, OneWayConsumer),
        "single",
        Hold(for_s=10),
        (no_acked_send_lost(), none_expired()),
        question=__doc__,
        warm_up_s=0,
    )
)
