"""A mirrored Artemis broker loses power while the other end of its mirror is down.

    .venv/bin/locust -f docs/findings/reproductions/mirror_down.py --headless --runtime processes --protocol amqp

Every write is synced, by default. Nothing is received while the mirror is down, so only the producers use the journal.
"""

from brokerbench import (
    ConsumerUser,
    Hold,
    KillBroker,
    PowerLoss,
    ProducerUser,
    Scenario,
    Stay,
    no_acked_send_lost,
    run,
)


class Producer(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "queue://orders", 20, 4
    body_bytes, durable = 1_024, True


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://orders", 2
    stays = (Stay(until_s=1), Stay(from_s=12))


run(
    Scenario(
        users=(Producer, Consumer),
        default_topology="mirror",
        load=Hold(for_s=16),
        checks=(no_acked_send_lost(),),
        faults=(KillBroker("broker-2", at_s=2), PowerLoss("broker-1", at_s=6, for_s=2)),
        warm_up_s=1,
    )
)
