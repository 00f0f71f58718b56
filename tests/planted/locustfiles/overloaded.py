"""200 messages a second, where something takes no more than half of them: the broker, the load generator, or nothing.

Asks: does the report say that the rate was not held, and why?
"""

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import gevent
import psutil
from gevent import monkey

from drivers.client.producer import Producer as ClientProducer
from drivers.memory.network import MemoryNetwork
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.checks import Check
from scenarios.harness import Hold, Scenario, lifecycle, memory_runtime, no_acked_send_lost, run
from scenarios.harness.run.controller import RunController

LIMIT = os.environ["LIMIT"]  # broker | generator | nothing
OFFERED_PER_S, SERVED_PER_S = 200, 100
QUICK_MS = 1_000
LOOK_EVERY_S = 0.005
STOPPED_S = 0.8  # so rarely that the threads that wake up each time do not wait for each other


class SlowBroker(RunController):
    """Stops the process of the broker whenever it has delivered more than its share, and lets it go on later."""

    def begin(self) -> None:
        super().begin()
        gevent.spawn(self._slow_down)

    def _slow_down(self) -> None:
        brokers = [child for child in psutil.Process().children(recursive=True) if child.name() == "java"]
        began_s = None
        while not self.load.over:
            gevent.sleep(LOOK_EVERY_S)
            received, now_s = self.load_generators.tally().received, time.monotonic()
            began_s = now_s if received and began_s is None else began_s
            if began_s is None or received <= (now_s - began_s) * SERVED_PER_S:
                continue
            for broker in brokers:
                broker.suspend()
            gevent.sleep(STOPPED_S)
            for broker in brokers:
                broker.resume()


def slow_generator() -> None:
    """Each message takes the whole process some time, as if it were too much for it."""
    sleep, send_batch = monkey.get_original("time", "sleep"), ClientProducer.send_batch

    def send_slowly(self: ClientProducer, sends: Sequence[Any], body_bytes: int) -> None:
        sleep(len(sends) / SERVED_PER_S)
        send_batch(self, sends, body_bytes)

    ClientProducer.send_batch = send_slowly  # type: ignore[method-assign]


if LIMIT == "generator":
    slow_generator()
if LIMIT == "broker" and "memory" in sys.argv:
    memory_runtime.MemoryNetwork = partial(MemoryNetwork, most_per_s=SERVED_PER_S)  # type: ignore[assignment,misc]
elif LIMIT == "broker":
    lifecycle.RunController = SlowBroker  # type: ignore[misc]


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
