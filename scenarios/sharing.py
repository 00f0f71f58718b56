"""A queue has one consumer on the producers' broker and two consumers at the far side of a link.

Asks: which share of the messages does each consumer get, and how do the link's settings change the shares?
"""

from brokerbench import (
    TO_FAR_CONSUMERS,
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    Stay,
    no_acked_send_lost,
    none_stranded,
    run,
)


class SharingProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://sharing", 1_024, True
    sends_per_second = 50
    fixed_count = 2


class SharingNearConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://sharing"
    stays = (Stay(place=0),)
    fixed_count = 1


class SharingFarConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://sharing"
    stays = (Stay(place=1),)
    fixed_count = 2


run(
    Scenario(
        users=(SharingProducer, SharingNearConsumer, SharingFarConsumer),
        default_topology="source-and-sink(consumers_at_both=True)",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded()),
        link=TO_FAR_CONSUMERS,
        question=__doc__,
        answered_by=("shares",),
        warm_up_s=5,
    )
)
