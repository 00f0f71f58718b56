"""A broker's machine loses power while messages are in the broker's store.

Asks: which confirmed messages survive a power failure, and which of them would survive a crash of the broker process?
"""

# A message cannot be lost once a consumer has taken it. So the queue consumers are away from 1 s to 12 s of the load.
# The durable subscribers stay, and are barely as fast as the producers.
from brokerbench import (
    ConsumerUser,
    Hold,
    PowerLoss,
    ProducerUser,
    Scenario,
    Stay,
    all_delivered,
    no_acked_send_lost,
    run,
    some_client_disconnected,
)

LARGE_BYTES = 200 * 1024  # Artemis writes messages from 100 KiB to separate files


class DurabilityProducer(ProducerUser):
    abstract = True
    group = "producers"
    body_bytes, durable = 1_024, True
    fixed_count = 2


class QueueProducer(DurabilityProducer):
    destination, sends_per_second, fixed_count = "queue://durability.queue", 20, 4


class TransactionProducer(DurabilityProducer):
    destination, sends_per_second, transaction_size = "queue://durability.transactions", 20, 5


class LargeProducer(DurabilityProducer):
    destination, sends_per_second, body_bytes = "queue://durability.large", 1, LARGE_BYTES


class TopicProducer(DurabilityProducer):
    destination, sends_per_second = "topic://durability.topic", 5


class DurabilityConsumer(ConsumerUser):
    abstract = True
    group = "consumers"
    fixed_count = 2


class OfAQueue(DurabilityConsumer):
    abstract = True
    stays = (Stay(until_s=1), Stay(from_s=12))


class DurabilityQueueConsumer(OfAQueue):
    destination = "queue://durability.queue"


class TransactionConsumer(OfAQueue):
    destination = "queue://durability.transactions"


class LargeConsumer(OfAQueue):
    destination = "queue://durability.large"


class DurabilitySubscriber(DurabilityConsumer):
    destination, durable_subscription = "topic://durability.topic", True
    work_ms, prefetch = "exponential(95)", 1  # on average barely 10 messages per second


run(
    Scenario(
        users=(
            QueueProducer,
            TransactionProducer,
            LargeProducer,
            TopicProducer,
            DurabilityQueueConsumer,
            TransactionConsumer,
            LargeConsumer,
            DurabilitySubscriber,
        ),
        default_topology="single",
        load=Hold(for_s=16),
        checks=(no_acked_send_lost(), all_delivered("queue_persistent"), all_delivered("durable_topic_persistent")),
        faults=(PowerLoss("producers", at_s=6, for_s=2),),
        premises=(some_client_disconnected(),),
        question=__doc__,
        answered_by=("kinds", "faults"),
        warm_up_s=1,
        limited_on_purpose="the scenario measures which waiting messages survive while the consumers are away",
    )
)
