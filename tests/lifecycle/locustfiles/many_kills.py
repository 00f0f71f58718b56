"""A broker of the consumers' group is killed twenty times. On a slow machine it comes back late, and the load waits."""

from brokerbench import (
    ConsumerUser,
    Hold,
    KillBroker,
    ProducerUser,
    Scenario,
    every_client_back,
    no_acked_send_lost,
    repeated,
    run,
    some_client_disconnected,
)


class Producer(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "queue://kills", 20, 9


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://kills", 6


run(
    Scenario(
        users=(Producer, Consumer),
        default_topology="mesh",
        load=Hold(for_s=600, after_faults_s=10),
        checks=(no_acked_send_lost(), every_client_back()),
        faults=repeated(KillBroker("consumers", at_s=5, for_s=2), every_s=12, times=20),
        premises=(some_client_disconnected(),),
        warm_up_s=2,
    )
)
