"""Persistent and non-persistent messages go to a queue, a topic and durable subscriptions. Then a broker is killed.

Asks: which of these six kinds of messages are lost when a broker dies, and does the broker keep the JMS guarantees?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    KillBroker,
    ProducerUser,
    Scenario,
    all_delivered,
    run,
    some_client_disconnected,
)


class ReliabilityProducer(ProducerUser):
    abstract = True
    group = "producers"
    body_bytes = 1_024
    sends_per_second = 2
    fixed_count = 4


class QueuePersistent(ReliabilityProducer):
    destination, durable = "queue://queue.persistent", True


class QueueNonPersistent(ReliabilityProducer):
    destination, durable = "queue://queue.non-persistent", False


class TopicPersistent(ReliabilityProducer):
    destination, durable = "topic://topic.persistent", True


class TopicNonPersistent(ReliabilityProducer):
    destination, durable = "topic://topic.non-persistent", False


class DurablePersistent(ReliabilityProducer):
    destination, durable = "topic://durable.persistent", True


class DurableNonPersistent(ReliabilityProducer):
    destination, durable = "topic://durable.non-persistent", False


class ReliabilityConsumer(ConsumerUser):
    abstract = True
    group = "consumers"
    fixed_count = 6


class QueueConsumer(ReliabilityConsumer):
    destination = "queue://queue.persistent"


class QueueConsumerOfNonPersistent(ReliabilityConsumer):
    destination = "queue://queue.non-persistent"


class Subscriber(ReliabilityConsumer):
    destination = "topic://topic.persistent"


class SubscriberOfNonPersistent(ReliabilityConsumer):
    destination = "topic://topic.non-persistent"


class DurableSubscriber(ReliabilityConsumer):
    destination, durable_subscription = "topic://durable.persistent", True


class DurableSubscriberOfNonPersistent(ReliabilityConsumer):
    destination, durable_subscription = "topic://durable.non-persistent", True


run(
    Scenario(
        users=(
            QueuePersistent,
            QueueNonPersistent,
            TopicPersistent,
            TopicNonPersistent,
            DurablePersistent,
            DurableNonPersistent,
            QueueConsumer,
            QueueConsumerOfNonPersistent,
            Subscriber,
            SubscriberOfNonPersistent,
            DurableSubscriber,
            DurableSubscriberOfNonPersistent,
        ),
        default_topology="mesh",
        load=Hold(for_s=50),
        # JMS guarantees these two kinds once and only once. The others are only counted.
        checks=(all_delivered("queue_persistent"), all_delivered("durable_topic_persistent")),
        faults=(KillBroker("consumers", at_s=10, for_s=15),),
        premises=(some_client_disconnected(),),
        question=__doc__,
        answered_by=("kinds",),
        warm_up_s=5,
    )
)
