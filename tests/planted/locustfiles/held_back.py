"""A fixed rate on an in-memory broker, and a fault. Sending stops for a while because of the generator or the broker.

Asks: does the run name the cause?
"""

import os

import gevent
from gevent import monkey
from locust import events

from brokerbench import FreezeBroker, Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser

OURS = os.environ["CAUSE"] == "generator"
FAULT_AT_S, FAULT_S, STALL_S = 4.0, 3.0, 2.0


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://held", 4
    sends_per_second = 25
    in_flight = 1


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://held", 2


def stand_still() -> None:
    """Sleep without gevent's patch, so that no other greenlet of this process runs."""
    monkey.get_original("time", "sleep")(STALL_S)


if OURS:
    events.spawning_complete.add_listener(lambda **_: gevent.spawn_later(FAULT_AT_S + 2, stand_still))
fault = FreezeBroker("broker-1", at_s=FAULT_AT_S, for_s=0.1 if OURS else FAULT_S)
run(
    Scenario(
        (Producer, Consumer),
        "single",
        Hold(for_s=12),
        (no_acked_send_lost(),),
        faults=(fault,),
        question=__doc__,
    )
)
