"""Consumers disconnect from the second broker in their group and return 15 s later on the first one.

Asks: how long does the network take to deliver the backlog to them, and does it leave messages behind?
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
        limited_on_purpose="the scenario measures the backlog that builds up while the consumers are away",
    )
)
