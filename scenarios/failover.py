"""A broker is killed under load and restarts 15 s later with its old store.

Asks: how long are clients disconnected, and which messages in flight are lost or repeated?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    KillBroker,
    ProducerUser,
    Scenario,
    every_client_back,
    no_acked_send_lost,
    run,
    sends_in_flight,
    some_client_disconnected,
)


class FailoverProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://failover", 1_024, True
    sends_per_second = 20  # enough to have some in flight when the broker dies, even on a fast machine
    fixed_count = 24


class FailoverConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://failover"
    fixed_count = 12


run(
    Scenario(
        users=(FailoverProducer, FailoverConsumer),
        default_topology="mesh",
        load=Hold(for_s=40),
        checks=(no_acked_send_lost(), every_client_back()),
        faults=(KillBroker("producers", at_s=10, for_s=15),),
        premises=(some_client_disconnected(), sends_in_flight()),
        question=__doc__,
        answered_by=("faults",),
    )
)
