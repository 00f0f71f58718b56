"""The active broker of a pair is killed under load. Its standby takes over, and later the killed broker restarts.

Asks: how long until the standby serves the clients, and does the takeover of the store lose or repeat messages?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    KillBroker,
    ProducerUser,
    Scenario,
    every_client_back,
    no_acked_send_lost,
    none_stranded,
    run,
    sends_in_flight,
    some_client_disconnected,
)


class TakeoverProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://takeover", 1_024, True
    sends_per_second = 20  # enough to have some in flight when the broker dies
    fixed_count = 12


class TakeoverConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://takeover"
    fixed_count = 6


run(
    Scenario(
        users=(TakeoverProducer, TakeoverConsumer),
        default_topology="active-standby",
        load=Hold(for_s=60),
        checks=(no_acked_send_lost(), every_client_back(), none_stranded()),
        faults=(KillBroker("producers", at_s=10, for_s=25),),
        premises=(some_client_disconnected(), sends_in_flight()),
        question=__doc__,
        answered_by=("faults",),
        warm_up_s=5,
        pair="producers",  # the fault kills its active broker
    )
)
