"""The broker at the far end of a link is killed. Its standby takes over, and the link reconnects to the standby.

Asks: how long do messages wait for the link, and does the reconnection lose or repeat messages?
"""

from brokerbench import (
    TO_A_PAIR,
    ConsumerUser,
    Hold,
    KillBroker,
    ProducerUser,
    Scenario,
    every_client_back,
    no_acked_send_lost,
    none_stranded,
    run,
    some_client_disconnected,
)


class LinkFailoverProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://link.failover", 1_024, True
    sends_per_second = 20
    fixed_count = 6


class LinkFailoverConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://link.failover"
    fixed_count = 6


run(
    Scenario(
        users=(LinkFailoverProducer, LinkFailoverConsumer),
        default_topology="source-and-sink(sink_standby=True)",
        load=Hold(for_s=60),
        checks=(no_acked_send_lost(), every_client_back(), none_stranded()),
        faults=(KillBroker("consumers", at_s=10, for_s=35),),
        premises=(some_client_disconnected(),),
        entries={"consumers": 2},
        link=TO_A_PAIR,
        question=__doc__,
        answered_by=("faults",),
        warm_up_s=5,
    )
)
