"""Producers connect to a broker for each message, as cloud functions do, send it and disconnect.

Asks: how much does a connection per message cost brokers and messages, compared with permanent connections?
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


class ChurnProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://churn", 1_024, True
    sends_per_second = 5
    fixed_count = 10
    connections = "per-message"


class ChurnConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://churn"
    fixed_count = 2


run(
    Scenario(
        users=(ChurnProducer, ChurnConsumer),
        default_topology="single",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded(), no_send_refused(), every_send_answered(), no_message_withheld()),
        question=__doc__,
        answered_by=("cost",),
        warm_up_s=5,
    )
)
