"""A fixed rate on in-memory brokers, from a process that stalls once for 150 ms in the middle of the load.

Asks: does the report doubt the figures that this changes?
"""

import os
import time

import gevent
from locust import events

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.figures.checks import Check

STALL_AFTER_S, STALL_S = 20.0, 0.15
CHECKED = os.environ.get("CHECKED", "")  # a figure that has a check


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://stalled", 4
    sends_per_second = 60


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://stalled", 2


def stand_still() -> None:
    """Block all greenlets of this process."""
    until_s = time.perf_counter() + STALL_S
    while time.perf_counter() < until_s:
        pass


events.spawning_complete.add_listener(lambda **_: gevent.spawn_later(STALL_AFTER_S, stand_still))
demanded = (Check("quick", f"latency_ms.due_to_received.{CHECKED}", at_most=10_000),) if CHECKED else ()
run(
    Scenario(
        (Producer, Consumer),
        "single",
        Hold(for_s=42),
        (no_acked_send_lost(), *demanded),
        question=__doc__,
    )
)
