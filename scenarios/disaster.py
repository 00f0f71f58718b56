"""The broker in use is killed under load, and its clients move to the mirror. It never comes back.

Asks: what is lost, what comes twice, and how far did the mirror lag behind at the kill?
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
    somebody_cut_off,
)


class DisasterProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://disaster", 1_024, True
    sends_per_second = 20  # so many that some are in flight when the broker dies
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
        premises=(somebody_cut_off(), sends_in_flight()),
        entries={"producers": 2, "consumers": 2},
        link=MIRROR,
        question=__doc__,
        answered_by=("mirror", "faults"),
        warm_up_s=5,
    )
)
