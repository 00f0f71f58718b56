"""Messages go to many queues from the start: 100 queues, or the number given by --destinations.

Asks: how long until messages flow on every queue, and how much CPU and memory do many queues cost the brokers?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    every_send_answered,
    no_acked_send_lost,
    no_message_withheld,
    no_send_refused,
    none_stranded,
    run,
)


class ManyProducer(ProducerUser):
    group = "producers"
    destination, destinations = "queue://many.{n}", 100
    body_bytes, durable = 1_024, True
    sends_per_second = 20
    fixed_count = 5


class ManyConsumer(ConsumerUser):
    group = "consumers"
    destination, destinations = "queue://many.{n}", 100
    prefetch = 10
    fixed_count = 5


run(
    Scenario(
        users=(ManyProducer, ManyConsumer),
        default_topology="source-and-sink",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded(), no_send_refused(), every_send_answered(), no_message_withheld()),
        question=__doc__,
        answered_by=("destinations", "cost"),
        warm_up_s=5,
    )
)
