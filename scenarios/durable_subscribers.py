"""Durable subscribers are away from 5 s to 40 s. Meanwhile, the producers' broker, at the far side of a link, restarts.

Asks: does each message that was sent to the far broker reach the subscribers after they are back?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    RollingRestart,
    Scenario,
    Stay,
    every_client_back,
    no_acked_send_lost,
    none_stranded,
    run,
    some_client_disconnected,
)


class DurableSubscribersProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "topic://durable.subscribers", 1_024, True
    sends_per_second = 20
    fixed_count = 2


class DurableSubscriber(ConsumerUser):
    group = "consumers"
    destination, durable_subscription = "topic://durable.subscribers", True
    stays = (Stay(until_s=5), Stay(from_s=40))
    fixed_count = 2


run(
    Scenario(
        users=(DurableSubscribersProducer, DurableSubscriber),
        default_topology="source-and-sink",
        load=Hold(for_s=50),
        checks=(no_acked_send_lost(), every_client_back(), none_stranded()),
        faults=(RollingRestart("producers", at_s=8),),
        premises=(
            some_client_disconnected(),
            "recovery.start_s <= 25",
        ),  # the link is up before the subscribers are back
        question=__doc__,
        answered_by=("faults",),
        warm_up_s=5,
        limited_on_purpose="the scenario measures the messages that wait while the subscribers are away",
    )
)
