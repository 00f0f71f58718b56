"""Producers send durable messages at rising rates: the rate doubles until the topology cannot hold it, then narrows in.

Asks: which rate does this topology hold, what limits it, and how does latency rise with the rate?
"""

from brokerbench import (
    ConsumerUser,
    ProducerUser,
    Scenario,
    Search,
    at_least_one_rate_held,
    no_acked_send_lost,
    no_message_withheld,
    no_send_refused,
    none_corrupted,
    none_stranded,
    run,
)


class CapacityProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://capacity", 1_024, True
    fixed_count = 6


class CapacityConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://capacity"
    fixed_count = 6


run(
    Scenario(
        users=(CapacityProducer, CapacityConsumer),
        default_topology="single",
        load=Search(),
        checks=(
            at_least_one_rate_held(),
            no_acked_send_lost(),
            none_stranded(),
            none_corrupted(),
            no_send_refused(),
            no_message_withheld(),
        ),
        question=__doc__,
        answered_by=("steps",),
    )
)
