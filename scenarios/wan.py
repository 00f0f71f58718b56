"""Links between regions are slow. Some messages stay in the region where they are sent, others cross to another region.

Asks: how do delays between regions affect local messages, crossing messages, and the throughput of the links?
"""

from brokerbench import (
    BETWEEN_REGIONS,
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    Stay,
    no_acked_send_lost,
    none_corrupted,
    none_stranded,
    run,
)


class NearProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://wan.near", 1_024, True
    sends_per_second = 25
    fixed_count = 4


class FarProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://wan.far", 1_024, True
    sends_per_second = 25
    fixed_count = 4


class WanNearConsumer(ConsumerUser):
    """Connects to the first broker in the producers' group."""

    group = "producers"
    destination = "queue://wan.near"
    stays = (Stay(place=0),)
    fixed_count = 2


class WanFarConsumer(ConsumerUser):
    """Connects to the fourth broker in its group, wrapping around: in `cross-region-mesh`, it is in another region."""

    group = "consumers"
    destination = "queue://wan.far"
    stays = (Stay(place=3),)
    fixed_count = 2


run(
    Scenario(
        users=(NearProducer, FarProducer, WanNearConsumer, WanFarConsumer),
        default_topology="cross-region-mesh",
        default_link="regions:delay=40ms",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded(), none_corrupted()),
        link=BETWEEN_REGIONS,
        question=__doc__,
        answered_by=("regions",),
    )
)
