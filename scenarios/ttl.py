"""Three queues, each with consumers at another broker: the first, the second and the third of their group.

Asks: how many links may messages cross, and consumers be known over, before a queue gets none, and where do they wait?
"""

# On a ring the three brokers are one, two and three links from the producers. On a mesh each is one link away.
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
        limited_on_purpose="messages that cannot go on are the question",
        warm_up_s=5,  # where messages are stranded, the latency says little of how the brokers warm up
    )
)
