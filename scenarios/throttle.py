"""A queue has a slow consumer on the producers' broker and two fast ones beyond a link with a rate limit.

Asks: how many messages per second does the limited link forward, and does the slow consumer keep its share?
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


class ThrottleProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://throttle", 1_024, True
    sends_per_second = 35
    fixed_count = 2


class ThrottleNearConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://throttle"
    stays = (Stay(place=0),)
    work_ms, prefetch = 15, 10  # at most 66 messages per second: enough, with the link's limit
    fixed_count = 1


class ThrottleFarConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://throttle"
    stays = (Stay(place=1),)
    fixed_count = 2


run(
    Scenario(
        users=(ThrottleProducer, ThrottleNearConsumer, ThrottleFarConsumer),
        default_topology="source-and-sink(consumers_at_both=True, rate_limit=10)",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded()),
        link=TO_FAR_CONSUMERS,
        question=__doc__,
        answered_by=("shares",),
        warm_up_s=5,
        limited_on_purpose="the scenario measures a link with a rate limit",
    )
)
