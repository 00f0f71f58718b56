"""A fixed rate on in-memory brokers. One user ends the process in the way that ``HOW`` names.

Asks: does the run still finish, and report that user?
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import gevent
from locust import events
from locust.env import Environment
from locust.runners import MasterRunner

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser

HOW, IN_THE_LOAD_S = os.environ["HOW"], 2.5

CALLS: dict[str, Callable[[Any], object]] = {
    "stop by a user": lambda runner: runner.stop(),
    "quit by a user": lambda runner: runner.quit(),
    "more users": lambda runner: runner.spawn_users({"Producer": 4}),
    "more by a start": lambda runner: runner.start(8, 100),
    "users stopped": lambda runner: runner.stop_users({"Producer": 1}),
    "stop by its class": lambda runner: type(runner).stop(runner),
}
"""Call a method of the runner, during the load."""


class Producer(ProducerUser):
    group, destination, fixed_count, sends_per_second = "producers", "queue://orders", 1, 20


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://orders", 1

    def on_start(self) -> None:
        runner = self.environment.runner
        if HOW == "exit in on_start":
            sys.exit()
        if HOW == "killed in on_start":
            raise gevent.GreenletExit
        if HOW == "exit in a greenlet":
            gevent.spawn_later(IN_THE_LOAD_S, sys.exit)

        if HOW == "quit in on_start":
            runner.quit()
        if call := CALLS.get(HOW):
            gevent.spawn_later(IN_THE_LOAD_S, call, runner)
        if HOW == "test_stop fired":
            gevent.spawn_later(IN_THE_LOAD_S, events.test_stop.fire, environment=self.environment)

    def on_stop(self) -> None:
        if HOW == "exit in on_stop":
            raise SystemExit(0)
        if HOW == "error in on_stop":
            raise RuntimeError("planted")


@events.init.add_listener
def listen(environment: Environment, **_: Any) -> None:
    def quit_later(**_: Any) -> None:
        gevent.spawn_later(IN_THE_LOAD_S, lambda: environment.runner.quit())  # type: ignore[union-attr]

    def fail(**_: Any) -> None:
        raise RuntimeError("planted")

    if HOW == "error in a listener":
        environment.events.test_stopping.add_listener(fail)
    if HOW == "quit in the master" and isinstance(environment.runner, MasterRunner):
        environment.events.spawning_complete.add_listener(quit_later)


run(Scenario((Producer, Consumer), "single", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__, warm_up_s=0))
