"""Durable messages at a steady rate: the load of `benchmarks.harness_cost`.

Asks: what does a message cost with sampling, proxies or faults, and without? With BROKERBENCH_UNSAMPLED in the
environment no broker is asked for samples.
"""

import os

from drivers.users import ConsumerUser, ProducerUser
from scenarios.harness import Hold, Scenario, no_acked_send_lost, run
from scenarios.harness.run.watch import ManagedWatch


class CostProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://cost", 1_024, True
    sends_per_second = 100
    fixed_count = 6


class CostConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://cost"
    fixed_count = 6


if os.environ.get("BROKERBENCH_UNSAMPLED"):
    ManagedWatch.begin = lambda self: None  # type: ignore[method-assign]

run(
    Scenario(
        users=(CostProducer, CostConsumer),
        default_topology="mesh",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(),),
        question=__doc__,
        warm_up_s=5,
    )
)
