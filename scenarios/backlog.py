"""The consumers leave the second broker of their group, and come back 15 s later at the first.

Asks: how long does the network take to bring them what piled up meanwhile, and does it leave messages behind?
"""

from brokerbench import ConsumerUser, Hold, ProducerUser, Scenario, Stay, no_acked_send_lost, run


class BacklogProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://backlog", 1_024, True
    sends_per_second = 20
    fixed_count = 6


class BacklogConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://backlog"
    stays = (Stay(until_s=10, place=1), Stay(from_s=25, place=0))
    fixed_count = 6


run(
    Scenario(
        users=(BacklogProducer, BacklogConsumer),
        default_topology="mesh",
        load=Hold(for_s=50),
        checks=(no_acked_send_lost(),),
        entries={"consumers": 2},
        question=__doc__,
        answered_by=("faults",),
        limited_on_purpose="the consumers are away, and what piles up meanwhile is the question",
    )
)
