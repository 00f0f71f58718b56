"""Producers and consumers of one queue: the meaning in the tables of rejected input of ``plain``."""

from brokerbench import ConsumerUser, Hold, ProducerUser, Scenario, no_acked_send_lost, run


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 3


run(Scenario((Producer, Consumer), "mesh", Hold(for_s=30), (no_acked_send_lost(),)))
