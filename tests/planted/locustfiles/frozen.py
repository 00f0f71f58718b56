"""A fixed rate into one broker that is stopped for three seconds.

Asks: do the latencies match the calculated ones?
"""

from brokerbench import FreezeBroker, Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://frozen", 1
    sends_per_second = 50


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://frozen", 1


run(
    Scenario(
        (Producer, Consumer),
        "single",
        Hold(for_s=10),
        (no_acked_send_lost(),),
        faults=(FreezeBroker("broker-1", at_s=4, for_s=3),),
        question=__doc__,
    )
)
