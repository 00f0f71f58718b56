"""A fixed rate on in-memory brokers that deliver after 100 ms. The consumers' process stalls once for 150 ms.

Asks: does the report doubt the figures that late reads change?
"""

import gevent
from gevent import monkey
from locust import events

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.memory.network import MemoryNetwork
from drivers.users.locust_users import ConsumerUser, ProducerUser

DELIVERY_DELAY_S = 0.1  # so that 60 messages are on their way when the process stalls
STALL_AFTER_S, STALL_S = 8.0, 0.15

MemoryNetwork.__init__.__kwdefaults__["delivery_delay_s"] = DELIVERY_DELAY_S  # type: ignore[index]


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://stalled", 10
    sends_per_second = 60


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://stalled", 2


def block() -> None:
    """Sleep without gevent's patch, so that no other greenlet of this process runs."""
    monkey.get_original("time", "sleep")(STALL_S)


events.spawning_complete.add_listener(lambda **_: gevent.spawn_later(STALL_AFTER_S, block))
run(Scenario((Producer, Consumer), "single", Hold(for_s=18), (no_acked_send_lost(),), question=__doc__))
