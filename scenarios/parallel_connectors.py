"""Several connections between two brokers share the messages of one queue. Each carries at most 500 kB per second.

Asks: do several connections carry more messages than a single connection, and do messages stay in order?
"""

from brokerbench import (
    PARALLEL,
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    no_acked_send_lost,
    none_corrupted,
    none_stranded,
    run,
)


class CrossingProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://crossing", 1_024, True
    sends_per_second = 150
    fixed_count = 4


class CrossingConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://crossing"
    fixed_count = 1  # several consumers would each see a different order


run(
    Scenario(
        users=(CrossingProducer, CrossingConsumer),
        default_topology="parallel-connectors",
        default_link="*:bandwidth=500kB/s",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded(), none_corrupted()),
        link=PARALLEL,
        question=__doc__,
        answered_by=("rate",),
        warm_up_s=5,  # over a single connection, latency keeps rising
    )
)
