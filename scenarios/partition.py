"""The link between two brokers is cut under load and restored 15 s later.

Asks: are messages for the other side lost or repeated, and when do they arrive after the cut?
"""

from brokerbench import (
    ANY_LINK,
    ConsumerUser,
    CutLink,
    Hold,
    ProducerUser,
    Scenario,
    no_acked_send_lost,
    none_stranded,
    run,
)


class PartitionProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://partition", 1_024, True
    sends_per_second = 20
    fixed_count = 6


class PartitionConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://partition"
    fixed_count = 6


run(
    Scenario(
        users=(PartitionProducer, PartitionConsumer),
        default_topology="source-and-sink",
        load=Hold(for_s=60),
        checks=(no_acked_send_lost(), none_stranded()),
        faults=(CutLink("producers", at_s=10, for_s=15),),
        link=ANY_LINK,
        question=__doc__,
        answered_by=("faults",),
    )
)
