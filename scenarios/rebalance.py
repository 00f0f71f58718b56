"""A broker joins a running network, shuts down cleanly and joins again. The brokers rebalance their OpenWire clients.

Asks: where do the clients go each time, how evenly are they spread, and how much latency do their moves add?
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    JoinBroker,
    ProducerUser,
    Scenario,
    every_client_back,
    no_acked_send_lost,
    run,
)


class RebalanceProducer(ProducerUser):
    group = "producers"
    destination, body_bytes, durable = "queue://rebalance", 1_024, True
    sends_per_second = 3  # a low rate, so that two cores can run 200 clients
    fixed_count = 20


class RebalanceConsumer(ConsumerUser):
    group = "consumers"
    destination = "queue://rebalance"
    fixed_count = 20


run(
    Scenario(
        users=(RebalanceProducer, RebalanceConsumer),
        default_topology="mesh(rebalance=True)",
        default_protocol="openwire",  # brokers do not rebalance clients of other protocols: the control
        load=Hold(for_s=60),
        checks=(no_acked_send_lost(), every_client_back()),
        faults=(JoinBroker("consumers", at_s=10, for_s=15), JoinBroker("consumers", at_s=40)),
        question=__doc__,
        answered_by=("moves",),
        warm_up_s=5,  # at this low rate, latency would hardly be seen to settle
    )
)
