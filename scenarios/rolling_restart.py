"""The brokers are shut down cleanly and restarted under load, one after the other.

Asks: how does the restart affect clients, are messages lost or duplicated, and how long does the restart take?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    RollingRestart,
    Scenario,
    every_client_back,
    no_acked_send_lost,
    run,
    some_client_disconnected,
)


class RollingRestartProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://rolling-restart", 1_024, True
    sends_per_second = 20
    fixed_count = 12


class RollingRestartConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://rolling-restart"
    fixed_count = 6


run(
    Scenario(
        users=(RollingRestartProducer, RollingRestartConsumer),
        default_topology="mesh",
        load=Hold(for_s=900, after_faults_s=10),  # more brokers take longer
        checks=(no_acked_send_lost(), every_client_back()),
        faults=(RollingRestart("all", at_s=10),),
        premises=(some_client_disconnected(),),
        brokers=2,  # one after the other
        question=__doc__,
        answered_by=("faults",),
        warm_up_s=5,
    )
)
