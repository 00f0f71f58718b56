"""The broker in use is killed under load and never comes back. Its clients move to the mirror.

Asks: which messages are lost, which are delivered twice, and what was the mirror's lag at the kill?
"""

from brokerbench import (
    FOREVER,
    MIRROR,
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


class DisasterProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://disaster", 1_024, True
    sends_per_second = 20  # enough to have some in flight when the broker dies
    fixed_count = 12


class DisasterConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://disaster"
    fixed_count = 6


run(
    Scenario(
        users=(DisasterProducer, DisasterConsumer),
        default_topology="dual-mirror",
        load=Hold(for_s=60),
        checks=(no_acked_send_lost(), every_client_back()),
        faults=(KillBroker("producers", at_s=10, for_s=FOREVER),),
        premises=(some_client_disconnected(), sends_in_flight()),
        entries={"producers": 2, "consumers": 2},
        link=MIRROR,
        question=__doc__,
        answered_by=("mirror", "faults"),
        warm_up_s=5,
    )
)
