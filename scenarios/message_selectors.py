"""Red and blue messages on one queue: those who want red ones are at the second broker, those for blue at the third.

Asks: does a link hand over only what the far side selects, or bring messages to where nobody takes them?
"""

# With conduit subscriptions a link asks for a queue's messages without the consumers' selectors.
from typing import ClassVar

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    Stay,
    every_selected_message_received,
    no_acked_send_lost,
    none_against_a_selector,
    run,
)


class SelectorsProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://selectors", 1_024, True
    # Brokers hand messages to their links in turn: if the colours took turns, each would find its link by chance.
    properties: ClassVar = {"colour": ["red", "blue", "blue", "red", "blue", "red", "red", "blue"]}
    sends_per_second = 10
    fixed_count = 6


class RedConsumer(ConsumerUser):
    group = "consumers"
    destination, selector = "queue://selectors", "colour = 'red'"
    stays = (Stay(place=1),)
    fixed_count = 2


class BlueConsumer(ConsumerUser):
    group = "consumers"
    destination, selector = "queue://selectors", "colour = 'blue'"
    stays = (Stay(place=2),)
    fixed_count = 2


run(
    Scenario(
        users=(SelectorsProducer, RedConsumer, BlueConsumer),
        default_topology="mesh",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_against_a_selector(), every_selected_message_received()),
        entries={"consumers": 3},
        question=__doc__,
        answered_by=("fate",),
        limited_on_purpose="messages that nobody selects are the question",
        warm_up_s=5,  # where messages are stranded, the latency says little of how the brokers warm up
    )
)
