"""Two clients of a broker that is never up in time, in the first of several runs.

Asks: does a comparison go on?
"""

import os
from pathlib import Path
from typing import Any

from brokerbench import Hold, Scenario, run
from drivers.users.locust_users import ConsumerUser, ProducerUser
from topologies.runtimes.managed import ManagedRuntime

MARK = Path(os.environ["FIRST_RUN"])
"""A file that the first run makes. Only the first run's broker starts late."""
LATE: list[bool] = []
_accepts_connections = ManagedRuntime._listens


def _listens(runtime: ManagedRuntime[Any], broker: str) -> bool:
    if not LATE:
        LATE.append(not MARK.exists())
        MARK.touch()
    return not LATE[0] and _accepts_connections(runtime, broker)


ManagedRuntime._listens = _listens  # type: ignore[method-assign]


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://late", 1
    sends_per_second = 50


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://late", 1


run(Scenario((Producer, Consumer), "single", Hold(for_s=2), (), question=__doc__))
