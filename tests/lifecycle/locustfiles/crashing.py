"""Makes a run in which a producer or the run controller raises an error.

Asks: is the error reported, and is everything taken down?
"""

import os
from typing import Any

from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.send_schedule import Schedule
from scenarios.harness import Hold, Scenario, no_acked_send_lost, run
from scenarios.harness.run.load import Load


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://crashing", 2

    def _schedule(self, *arguments: Any) -> Schedule:  # called once the load has been started
        if os.environ.get("PLANTED_IN", "producer") == "producer":
            raise RuntimeError("planted in a producer")
        return super()._schedule(*arguments)


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://crashing", 1


if os.environ.get("PLANTED_IN") == "controller":

    def fail(*_: Any) -> None:
        raise RuntimeError("planted in the run controller")

    Load._go = fail  # type: ignore[method-assign, assignment]

run(Scenario((Producer, Consumer), "single", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__))
