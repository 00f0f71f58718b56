"""Makes a run on in-memory brokers whose recorder gets another delivery after it was closed.

Asks: does the run report the missing row?
"""

import os
import time

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.store.writer import Recorder
from records.tables.schemas import ReceiptRow


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://misrecorded", 2


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://misrecorded", 1


if os.environ.get("PLANTED") == "a late row":
    close = Recorder.close

    def close_and_go_on(self: Recorder) -> None:
        close(self)
        queue, at_ns = "queue://misrecorded", time.perf_counter_ns()
        self.receipt(ReceiptRow(2, "misrecorded", 0, 0, 1, queue, "broker-1", at_ns, False, "intact", None))

    Recorder.close = close_and_go_on  # type: ignore[method-assign]

run(Scenario((Producer, Consumer), "single", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__))
