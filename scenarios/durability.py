"""Messages rest in the stores of brokers when a broker's machine loses power.

Asks: which confirmed messages survive a power failure, and which of them would have survived the end of the process?
"""

# A message that a consumer has taken cannot be lost any more. So the consumers of queues are away from 1 s to 12 s of
# the load, and durable subscribers, which cannot be, are hardly as fast as the producers.
from brokerbench import (
    ConsumerUser,
    Hold,
    PowerLoss,
    ProducerUser,
    Scenario,
    Stay,
    each_delivered,
    no_acked_send_lost,
    run,
    somebody_cut_off,
)

LARGE_BYTES = 200 * 1024  # Artemis writes messages from 100 KiB on to files of their own


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


class QueueConsumer(OfAQueue):
    destination = "queue://durability.queue"


class TransactionConsumer(OfAQueue):
    destination = "queue://durability.transactions"


class LargeConsumer(OfAQueue):
    destination = "queue://durability.large"


class DurableSubscriber(DurabilityConsumer):
    destination, durable_subscription = "topic://durability.topic", True
    work_ms, prefetch = "exponential(95)", 1  # on average hardly as fast as 10 messages per second


run(
    Scenario(
        users=(
            QueueProducer,
            TransactionProducer,
            LargeProducer,
            TopicProducer,
            QueueConsumer,
            TransactionConsumer,
            LargeConsumer,
            DurableSubscriber,
        ),
        default_topology="single",
        load=Hold(for_s=16),
        checks=(no_acked_send_lost(), each_delivered("queue_persistent"), each_delivered("durable_topic_persistent")),
        faults=(PowerLoss("producers", at_s=6, for_s=2),),
        premises=(somebody_cut_off(),),
        question=__doc__,
        answered_by=("kinds", "faults"),
        warm_up_s=1,
        limited_on_purpose="the consumers are away, and what survives of the messages that wait is the question",
    )
)
