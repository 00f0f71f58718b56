"""A broker with a limit of 1,000 messages per second, under a load that searches for its highest rate.

Asks: is the limit found?
"""

from functools import partial

from brokerbench import Scenario, Search, at_least_one_rate_held, no_acked_send_lost, run
from drivers.memory.network import MemoryNetwork
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness import memory_runtime
from records.loads.rate_search import SearchSettings

MOST_PER_S = 1_000

memory_runtime.MemoryNetwork = partial(MemoryNetwork, most_per_s=MOST_PER_S)  # type: ignore[assignment,misc]


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://limited", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://limited", 1


run(
    Scenario(
        (Producer, Consumer),
        "single",
        Search(SearchSettings(begin_per_s=900, step_s=5)),
        (at_least_one_rate_held(), no_acked_send_lost()),
        question=__doc__,
        warm_up_s=1.0,
    )
)
