"""200 messages a second on a broker in memory. The broker or the generator can do no more than half, or both can.

Asks: does the report say that the rate was not held, and why?
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from gevent import monkey

from drivers.client.producer import Producer as ClientProducer
from drivers.memory.network import MemoryNetwork
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.checks import Check
from scenarios.harness import Hold, Scenario, memory_runtime, no_acked_send_lost, run

LIMIT = os.environ["LIMIT"]  # broker | generator | nothing
OFFERED_PER_S, SERVED_PER_S = 200, 100
QUICK_MS = 1_000


def slow_generator() -> None:
    """Each message takes the whole process some time, as if it were too much for it."""
    sleep, send_batch = monkey.get_original("time", "sleep"), ClientProducer.send_batch

    def send_slowly(self: ClientProducer, sends: Sequence[Any], body_bytes: int) -> None:
        sleep(len(sends) / SERVED_PER_S)
        send_batch(self, sends, body_bytes)

    ClientProducer.send_batch = send_slowly  # type: ignore[method-assign]


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
