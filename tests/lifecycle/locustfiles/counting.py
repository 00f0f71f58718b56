"""Counts how often a run builds its topology and looks for Docker. Prints both before its brokers start."""

import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.run.controller import RunController
from records.errors import UserError
from topologies.products import ENTRIES
from topologies.runtimes.containers import engine

counts: Counter[str] = Counter()


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def count(*arguments: Any, **named: Any) -> Any:
        counts[name] += 1
        return function(*arguments, **named)

    return count


def no_engine(*_: Any, **__: Any) -> Any:
    raise engine.EngineTrouble("planted: there is no engine")


def begin(_: RunController) -> None:
    raise UserError(f"counted: {counts['builds']} builds, {counts['looks']} looks")


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://counting", 1


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://counting", 1


ENTRIES["mesh"] = counted("builds", ENTRIES["mesh"])
engine.find = counted("looks", no_engine)
if os.environ.get("TWICE"):  # so that the test shows that a second call would be counted
    ENTRIES["mesh"]()
    counts["looks"] += 1
RunController.begin = begin  # type: ignore[method-assign]

run(Scenario((Producer, Consumer), "mesh", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__))
