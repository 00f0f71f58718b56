"""Clients with a small load connect in steps until a broker rejects one, or connections or messages become slow.

Asks: how many connections does this topology support, what limits them, and how much latency do connections add?
"""

from brokerbench import (
    AddClients,
    ConsumerUser,
    ProducerUser,
    Scenario,
    at_least_one_step_held,
    no_acked_send_lost,
    none_corrupted,
    run,
)


class ConnectedProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://connections", 256, True
    sends_per_second = 2
    may_fail = True


class ConnectedConsumer(ConsumerUser):
    group = "consumers"
    destination, prefetch = "queue://connections", 10
    may_fail = True


run(
    Scenario(
        users=(ConnectedProducer, ConnectedConsumer),
        default_topology="single",
        load=AddClients("50,100,200,400@10s"),
        checks=(at_least_one_step_held(), no_acked_send_lost(), none_corrupted()),
        question=__doc__,
        answered_by=("connections",),
    )
)
