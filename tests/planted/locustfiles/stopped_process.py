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
STOP_AFTER_S = 16.0  # within the load, also where clients take 10 s to connect
STOPPED_S = 1.5  # so long that a busy machine does not hide it

runners.HEARTBEAT_LIVENESS = 60  # a worker that stands still is not lost, on a busy machine either


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://stopped", 1
    sends_per_second = 60 if STOPS_PRODUCERS else 240
    in_flight = 1 if STOPS_PRODUCERS else 1_000

    def on_start(self) -> None:
        if STOPS_PRODUCERS:
            gevent.spawn_later(STOP_AFTER_S, stop_this_process)


class Consumer(ConsumerUser):
    """The only one, and two workers: the other has the producer."""

    group, destination, fixed_count = "consumers", "queue://stopped", 1

    def on_start(self) -> None:
        if not STOPS_PRODUCERS:
            gevent.spawn_later(STOP_AFTER_S, stop_this_process)


def stop_this_process() -> None:
    """By another process, as this one cannot go on by itself."""
    subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep {STOPPED_S}; kill -CONT {os.getpid()}"])


run(Scenario((Producer, Consumer), "single", Hold(for_s=18), (no_acked_send_lost(),), question=__doc__))
