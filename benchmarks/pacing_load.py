"""One-way messages at a steady rate on one broker: the load of `benchmarks.pacing`.

It shows how late the generator sends if nothing makes it wait. Messages are not durable, because durable messages would
measure the broker's disk.
"""

from brokerbench import Hold, Scenario, no_unconfirmed_send_missing, none_corrupted, run
from drivers.users.locust_users import ConsumerUser, ProducerUser


class PacedProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://paced", 1_024, False
    sends_per_second = 400
    fixed_count = 5


class PacedConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://paced"
    fixed_count = 2


run(
    Scenario(
        users=(PacedProducer, PacedConsumer),
        default_topology="single",
        load=Hold(for_s=30),
        checks=(none_corrupted(), no_unconfirmed_send_missing()),
        question=__doc__,
    )
)
