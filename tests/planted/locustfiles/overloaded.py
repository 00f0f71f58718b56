"""200 messages per second on an in-memory broker. The broker, the generator or neither is limited to half of that.

Asks: does the report say that the rate was not held, and why?
"""

import os
from functools import partial
from typing import Any

from gevent import monkey

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.client.contract import ScheduledSend
from drivers.client.producer import Producer as ClientProducer
from drivers.memory.network import MemoryNetwork
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness import memory_runtime
from records.figures.checks import Check

LIMIT = os.environ["LIMIT"]  # broker | generator | nothing
OFFERED_PER_S, SERVED_PER_S = 200, 100
QUICK_MS = 1_000


def slow_generator() -> None:
    """Block the whole process for each message, like an overloaded generator."""
    sleep, late_too = monkey.get_original("time", "sleep"), ClientProducer._late_too

    def late_too_slowly(self: ClientProducer, *arguments: Any) -> list[ScheduledSend]:
        with_it = late_too(self, *arguments)
        sleep((1 + len(with_it)) / SERVED_PER_S)
        return with_it

    ClientProducer._late_too = late_too_slowly  # type: ignore[method-assign]


if LIMIT == "generator":
    slow_generator()
if LIMIT == "broker":
    memory_runtime.MemoryNetwork = partial(MemoryNetwork, most_per_s=SERVED_PER_S)  # type: ignore[assignment,misc]


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://overloaded", 4
    sends_per_second = OFFERED_PER_S / 4


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://overloaded", 2


run(
    Scenario(
        (Producer, Consumer),
        "single",
        Hold(for_s=16),
        (no_acked_send_lost(), Check("quick", "latency_ms.due_to_received.p50", at_most=QUICK_MS)),
        question=__doc__,
        warm_up_s=2.0,
    )
)
