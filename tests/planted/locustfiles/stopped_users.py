"""A fixed rate on in-memory brokers. In mid-load one user is stopped: its greenlet is killed, or Locust ramps down.

Asks: does the run name it?
"""

import os

import gevent
from locust import events

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser

HOW, STOP_AFTER_S = os.environ["HOW"], 4.0


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://stopped", 3
    sends_per_second = 20


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://stopped", 2


def stop_a_user() -> None:
    """Stop a user once, as a ramp-down fires the event again."""
    if not environments:
        return
    runner = environments.pop().runner
    if HOW == "ramp-down":
        runner.start(4, spawn_rate=100)
    else:
        role = Producer if HOW == "producer" else Consumer
        user_greenlet = next(each for each in runner.user_greenlets if isinstance(each.args[0], role))
        user_greenlet.kill(block=False)


environments = []  # type: ignore[var-annotated]
events.init.add_listener(lambda environment, **_: environments.append(environment))
events.spawning_complete.add_listener(lambda **_: gevent.spawn_later(STOP_AFTER_S, stop_a_user))
run(Scenario((Producer, Consumer), "single", Hold(for_s=8), (no_acked_send_lost(),), question=__doc__, warm_up_s=1.0))
