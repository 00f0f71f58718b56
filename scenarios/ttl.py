"""Each of three queues has its consumers on a different broker: the first, second or third in their group.

Asks: how many links can messages and subscriptions cross before a queue gets no messages, and where do messages wait?
"""

# On a ring, the three brokers are one, two and three links from the producers. On a mesh, each is one link away.
from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    Stay,
    every_selected_message_received,
    no_acked_send_lost,
    run,
)


class FirstProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://ttl.first", 1_024, True
    sends_per_second = 10
    fixed_count = 2


class SecondProducer(FirstProducer):
    destination = "queue://ttl.second"


class ThirdProducer(FirstProducer):
    destination = "queue://ttl.third"


class FirstConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://ttl.first"
    stays = (Stay(place=0),)
    fixed_count = 1


class SecondConsumer(FirstConsumer):
    destination = "queue://ttl.second"
    stays = (Stay(place=1),)


class ThirdConsumer(FirstConsumer):
    destination = "queue://ttl.third"
    stays = (Stay(place=2),)


run(
    Scenario(
        users=(
            FirstProducer,
            SecondProducer,
            ThirdProducer,
            FirstConsumer,
            SecondConsumer,
            ThirdConsumer,
        ),
        default_topology="ring",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), every_selected_message_received()),
        entries={"consumers": 3},
        question=__doc__,
        answered_by=("fate",),
        limited_on_purpose="the scenario measures messages that the network cannot forward",
        warm_up_s=5,  # with stranded messages, latency shows little about the brokers' warm-up
    )
)
