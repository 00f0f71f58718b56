"""Clients connect in steps, each with a small load, until a broker refuses one, or connecting or a message takes long.

Asks: how many connections does this topology hold, what is the limit, and what do more of them cost messages?
"""

from brokerbench import (
    AddClients,
    ConsumerUser,
    ProducerUser,
    Scenario,
    no_acked_send_lost,
    none_corrupted,
    run,
    some_clients_held,
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
        checks=(some_clients_held(), no_acked_send_lost(), none_corrupted()),
        question=__doc__,
        answered_by=("connections",),
    )
)
