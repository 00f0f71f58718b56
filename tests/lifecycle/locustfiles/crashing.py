"""Something of ours fails in the middle. Asks: is it told, and does everything come down?"""

import os
from typing import Any

from drivers.users import ConsumerUser, ProducerUser
from scenarios.harness import Hold, Scenario, no_acked_send_lost, run
from scenarios.harness.load import Load


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://crashing", 2

    def _wait_for_room(self, *arguments: Any) -> bool:
        if os.environ.get("PLANTED_IN", "producer") == "producer":
            raise RuntimeError("planted in a producer")
        return super()._wait_for_room(*arguments)


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://crashing", 1


if os.environ.get("PLANTED_IN") == "conductor":

    def fail(*_: Any) -> None:
        raise RuntimeError("planted in the conductor")

    Load._go = fail  # type: ignore[method-assign, assignment]

run(Scenario((Producer, Consumer), "single", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__))
