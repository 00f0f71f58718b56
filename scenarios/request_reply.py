"""Requesters are on one side of a network, and repliers on the other. Replies go to each requester's temporary queue.

Asks: do replies get back over the links, and how much time does the round trip take?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    no_acked_send_lost,
    no_send_refused,
    none_stranded,
    run,
)


class Requester(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://request_reply", 1_024, True
    awaits_replies = True
    sends_per_second = 20
    fixed_count = 4


class Replier(ConsumerUser):
    group = "consumers"
    destination = "queue://request_reply"
    replies = True
    fixed_count = 2


run(
    Scenario(
        users=(Requester, Replier),
        default_topology="chain",
        load=Hold(for_s=30),
        checks=(no_acked_send_lost(), none_stranded(), no_send_refused()),
        question=__doc__,
        answered_by=("latency",),
        warm_up_s=5,  # if brokers refuse replies, latency never settles
    )
)
