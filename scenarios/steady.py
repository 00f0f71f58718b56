"""Producers send durable messages at a steady rate, and consumers take them. Clients connect to their group's brokers.

Asks: does this topology deliver each message once, how fast, and how much latency does each link add?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    duplicates_at_most,
    every_send_answered,
    no_acked_send_lost,
    no_message_withheld,
    no_send_refused,
    no_unconfirmed_send_missing,
    none_corrupted,
    none_stranded,
    run,
)


class SteadyProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://steady", 1_024, True
    sends_per_second = 20
    fixed_count = 6


class SteadyConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://steady"
    fixed_count = 2  # fewer than a mesh's brokers: a broker serves its own consumers first, so nothing would cross


run(
    Scenario(
        users=(SteadyProducer, SteadyConsumer),
        default_topology="mesh",
        load=Hold(for_s=30),
        checks=(
            no_acked_send_lost(),
            none_stranded(),
            duplicates_at_most(0),
            none_corrupted(),
            no_send_refused(),
            every_send_answered(),
            no_unconfirmed_send_missing(),
            no_message_withheld(),
        ),
        question=__doc__,
        answered_by=("fate", "latency"),
    )
)
