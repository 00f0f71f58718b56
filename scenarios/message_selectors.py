"""One queue has red and blue messages. Their consumers are on the second broker for red, and on the third for blue.

Asks: does a link forward only messages that the far side selects, or also messages that no consumer there selects?
"""

# With conduit subscriptions, a link subscribes to a queue without the consumers' selectors.
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
    # Brokers alternate between their links. If the colors alternated too, each color would reach its link by chance.
    properties: ClassVar = {"color": ["red", "blue", "blue", "red", "blue", "red", "red", "blue"]}
    sends_per_second = 10
    fixed_count = 6


class RedConsumer(ConsumerUser):
    group = "consumers"
    destination, selector = "queue://selectors", "color = 'red'"
    stays = (Stay(place=1),)
    fixed_count = 2


class BlueConsumer(ConsumerUser):
    group = "consumers"
    destination, selector = "queue://selectors", "color = 'blue'"
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
        limited_on_purpose="the scenario measures messages that no consumer selects",
        warm_up_s=5,  # with stranded messages, latency shows little about the brokers' warm-up
    )
)
