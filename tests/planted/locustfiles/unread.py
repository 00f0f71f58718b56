"""Two queues. Only one has a consumer.

Asks: are all unread messages reported as stranded, and none as lost?
"""

from brokerbench import Hold, Scenario, no_acked_send_lost, none_stranded, run
from drivers.users.locust_users import ConsumerUser, ProducerUser


class ReadProducer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://read", 1


class UnreadProducer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://unread", 1


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://read", 1


run(
    Scenario(
        (ReadProducer, UnreadProducer, Consumer),
        "mesh(brokers=2)",
        Hold(for_s=5),
        (no_acked_send_lost(), none_stranded()),
        question=__doc__,
    )
)
