"""A fixed rate through a real broker, from one process to another. One of them is stopped once for 1.5 s.

``STOPPED``: the consumers' process, which reads late; or the producers', which may have one message in flight.

Asks: does the report doubt the figures that this changes, for clients in a JVM too?
"""

import os
import subprocess

import gevent
from locust import runners

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser

STOPS_PRODUCERS = os.environ["STOPPED"] == "producers"
STOP_AFTER_S = 16.0  # within the load, even if clients take 10 s to connect
STOPPED_S = 1.5  # long enough to be visible on a busy machine

runners.HEARTBEAT_LIVENESS = 60  # the master does not count a stopped worker as lost, even on a busy machine


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://stopped", 1
    sends_per_second = 60 if STOPS_PRODUCERS else 240
    in_flight = 1 if STOPS_PRODUCERS else 1_000

    def on_start(self) -> None:
        if STOPS_PRODUCERS:
            gevent.spawn_later(STOP_AFTER_S, stop_this_process)


class Consumer(ConsumerUser):
    """The only consumer, on one of two workers. The other worker has the producer."""

    group, destination, fixed_count = "consumers", "queue://stopped", 1

    def on_start(self) -> None:
        if not STOPS_PRODUCERS:
            gevent.spawn_later(STOP_AFTER_S, stop_this_process)


def stop_this_process() -> None:
    """Have another process stop and continue this one."""
    subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep {STOPPED_S}; kill -CONT {os.getpid()}"])


run(Scenario((Producer, Consumer), "single", Hold(for_s=18), (no_acked_send_lost(),), question=__doc__))
