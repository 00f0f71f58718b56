"""Makes a run where a producer or the run controller raises an error.

Asks: is the error reported, and is everything stopped?
"""

import os
from typing import Any, NoReturn

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.run.load import Load


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://crashing", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://crashing", 1


PLANTED_IN = os.environ.get("PLANTED_IN", "producer")


def fail(*_: Any) -> NoReturn:
    raise RuntimeError(f"planted in {'a producer' if PLANTED_IN == 'producer' else 'the run controller'}")


if PLANTED_IN == "producer":
    ProducerUser._schedule = fail  # type: ignore[method-assign]  # called after the start of the load
if PLANTED_IN == "controller":
    Load._go = fail  # type: ignore[method-assign]

run(Scenario((Producer, Consumer), "single", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__))
