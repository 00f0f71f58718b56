"""Two workers. One worker's clock jumps back by two seconds once the users are spawned.

Asks: does the run notice that its times cannot be trusted?
"""

import os
import time

from locust import events

BEHIND_NS = int(os.environ.get("PLANTED_CLOCK_BEHIND_NS", "0"))
real_clock = time.perf_counter_ns
jumped = []
time.perf_counter_ns = lambda: real_clock() - (BEHIND_NS if jumped else 0)

from brokerbench import Hold, Scenario, no_acked_send_lost, run  # noqa: E402
from drivers.users.locust_users import ConsumerUser, ProducerUser  # noqa: E402 - they must use this clock


@events.spawning_complete.add_listener
def jump(**_: object) -> None:
    """After the master has asked for the clocks, before the load."""
    jumped.append(True)


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://skewed", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://skewed", 2


class AnotherConsumer(Consumer):
    """A third class, so that Locust gives each of two workers a producer and consumers."""


run(Scenario((Producer, Consumer, AnotherConsumer), "single", Hold(for_s=8), (no_acked_send_lost(),), question=__doc__))
