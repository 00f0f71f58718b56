"""Checks loads with users that may fail: real users and a real controller, on in-memory brokers."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from locust.env import Environment

from brokerbench import Hold, Scenario, no_acked_send_lost
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.memory_runtime import MemoryRuntime
from harness.options import plan, run_options
from harness.options.arguments import add_arguments
from harness.options.run_options import read
from harness.run.controller import RunController
from harness.run.drain import STUCK_AFTER_S
from harness.run.load_generators import LocalLoadGenerator
from records.store.reader import read_events, seal
from tests.drivers.doubles import eventually
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology

HOME, AWAY = Broker("home"), Broker("away")
WIDE = Topology(
    "wide",
    (HOME, AWAY),
    (NetworkConnector(HOME, AWAY, duplex=True),),
    (
        ClientGroup("producers", (HOME,)),
        ClientGroup("guests", (AWAY,), "maxReconnectAttempts=1"),
        ClientGroup("consumers", (HOME,)),
    ),
    CLASSIC,
)
EACH = 400  # messages of a producer: four seconds, including two that a busy machine may lose
REFUSED = "user name or password is wrong"


class FailingOrders(ProducerUser):
    group, destination, fixed_count, body_bytes, sends_per_second = "producers", "queue://orders", 2, 64, 100.0


class FailingGuests(FailingOrders):
    group, fixed_count = "guests", 1


class FailingTakers(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://orders", 1


class FailingBench:
    """A run on two brokers; one of them has the guests."""

    def __init__(self, runs: Path, users: tuple[type[BrokerUser], ...]) -> None:
        scenario = Scenario(users, "wide", Hold(for_s=60), (no_acked_send_lost(),))
        parser = ArgumentParser()
        add_arguments(parser, scenario)
        messages = EACH * sum(user.fixed_count for user in users if issubclass(user, ProducerUser))
        chosen = {"runtime": "memory", "runs": str(runs), "warm_up": "0", "messages": str(messages)}
        options = read(Namespace(**{**vars(parser.parse_args([])), **chosen}), scenario, None)
        self._environment = Environment(user_classes=list(users))
        self._users = [user for user in users for _ in range(user.fixed_count)]
        self.run = RunController(
            plan.make(scenario, options),
            lambda recorder, brokers: LocalLoadGenerator(self._environment, recorder, brokers.connectors),
            "main",
        )
        assert isinstance(self.run.brokers.runtime, MemoryRuntime)
        self.network = self.run.brokers.runtime.network
        self._running: list[Any] = []

    def go(self, happens: Callable[[], object] = lambda: None) -> None:
        """Make the run until its brokers are down. ``happens`` is called during the load."""
        for user in self._users:
            client = user(self._environment)
            self._running.append(gevent.spawn(client.consume if isinstance(client, ConsumerUser) else client.produce))  # type: ignore[attr-defined]
        holding = gevent.spawn(self.run.load.hold)
        happens()
        holding.get(timeout=60)
        self.run.drain()
        gevent.killall(self._running)
        self.run._close()
        seal(self.run.directory)

    def close(self) -> None:
        gevent.killall(self._running)
        self.run.brokers.close()

    def rows(self, table: str) -> list[dict[str, Any]]:
        return list(read_events(self.run.directory, table).to_pylist())

    def lose_guests(self) -> None:
        """Stop the guests' broker. It does not know them after its restart."""
        eventually(lambda: self.run.load_generators.tally().received > 20)
        self.network.refuse_logins("away")
        self.network.kill("away")
        self.network.restore("away")


@pytest.fixture
def bench_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FailingBench]]:
    monkeypatch.setattr(run_options.catalogue, "build", lambda _: WIDE)
    benches = []

    def make_bench(*users: type[BrokerUser]) -> FailingBench:
        bench = FailingBench(tmp_path / "runs", users)
        benches.append(bench)
        bench.run.begin()
        return bench

    yield make_bench
    for bench in benches:
        bench.close()


class MayFail(FailingGuests):
    may_fail, fixed_count = True, 2


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if (record.name, record.levelno) == ("brokerbench", logging.WARNING)
    ]


def test_a_user_that_is_refused_and_may_fail_is_one_warning_and_the_others_send_all(
    bench_of: Callable[..., FailingBench], caplog: pytest.LogCaptureFixture
) -> None:
    bench = bench_of(FailingOrders, MayFail, FailingTakers)
    bench.network.refuse_logins("away")
    bench.go()
    assert bench.run.info.problems == ()
    (warning,) = bench.run.info.warnings
    assert warning.startswith(
        f"2 of 2 users MayFail failed (may_fail), and the load went on without them; {2 * EACH} of "
    )
    assert "guests client" in warning
    assert "broker away" in warning
    assert REFUSED in warning
    (warning,) = warned(caplog)
    assert warning.startswith("MayFail: guests client ")
    assert len(bench.rows("sends")) == len(bench.rows("receipts")) == 2 * EACH
    assert bench.run.info.phases.load_ended_ns is not None
    assert [user.settings.get("may_fail") for user in bench.run.info.users] == [None, True, None]


def test_what_a_user_recorded_before_it_failed_stays_and_the_rest_is_told_as_unsent(
    bench_of: Callable[..., FailingBench],
) -> None:
    bench = bench_of(FailingOrders, MayFail, FailingTakers)
    bench.go(bench.lose_guests)
    assert bench.run.info.problems == ()
    sends = bench.rows("sends")
    theirs = {(row["producer"], row["seq"]) for row in sends if row["broker"] == "away" or row["outcome"] == "failed"}
    assert 0 < len(theirs) < 2 * EACH
    assert f"; {2 * EACH - len(theirs)} of their messages were never sent. " in bench.run.info.warnings[0]
    assert len({(row["producer"], row["seq"]) for row in sends}) == 2 * EACH + len(theirs)
    assert bench.run.load_generators.tally().missed == 0


def test_sends_in_flight_of_failed_users_are_settled(
    bench_of: Callable[..., FailingBench],
) -> None:
    """The drain does not wait for them."""
    bench = bench_of(FailingOrders, MayFail, FailingTakers)
    tally = bench.run.load_generators.tally

    def lose_guests_with_sends_in_flight() -> None:
        eventually(lambda: tally().received > 20)
        bench.network.hold_answers("away")
        eventually(lambda: tally().sent - tally().settled >= 10)
        bench.lose_guests()

    bench.go(lose_guests_with_sends_in_flight)
    assert bench.run.info.problems == ()
    in_doubt = {(row["producer"], row["seq"]) for row in bench.rows("sends") if row["outcome"] == "in_doubt"}
    assert len(in_doubt) >= 10
    assert tally().sent == tally().settled
    assert bench.run.info.durations_s["drain"] < STUCK_AFTER_S


def test_an_error_of_a_user_that_may_not_fail_ends_the_load(bench_of: Callable[..., FailingBench]) -> None:
    bench = bench_of(FailingOrders, FailingGuests, FailingTakers)
    bench.go(bench.lose_guests)
    (problem,) = bench.run.info.problems
    assert problem.startswith("FailingGuests: guests client ")
    assert REFUSED in problem
    assert bench.run.info.warnings == ()
    assert len(bench.rows("sends")) < 3 * EACH


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_where_every_producer_has_failed_the_load_ends_with_the_error(
    bench_of: Callable[..., FailingBench], when: str
) -> None:
    bench = bench_of(MayFail, FailingTakers)
    if when == "before":
        bench.network.refuse_logins("away")
        bench.go()
    else:
        bench.go(bench.lose_guests)
    (problem,) = bench.run.info.problems
    assert problem.startswith("all producers have failed; MayFail: guests client ")
    assert REFUSED in problem
    assert (bench.run.load.window is None) == (when == "before")


def test_a_topic_subscriber_that_fails_ends_the_load(
    bench_of: Callable[..., FailingBench],
) -> None:
    """Its messages would otherwise count as lost."""

    class Listener(FailingTakers):
        may_fail, group, destination = True, "guests", "topic://prices"

    bench = bench_of(FailingOrders, FailingTakers, Listener)
    bench.go(bench.lose_guests)
    (problem,) = bench.run.info.problems
    assert problem.startswith("Listener: guests client ")
    assert REFUSED in problem
    assert bench.run.info.warnings == ()


def test_a_consumer_that_may_fail_leaves_what_is_queued_to_the_others(bench_of: Callable[..., FailingBench]) -> None:
    class SelectiveGuests(FailingTakers):
        may_fail, fixed_count = True, 2

    bench = bench_of(FailingOrders, FailingTakers, SelectiveGuests)
    SelectiveGuests.selector = "color ="  # brokers and the plan of a run reject this
    bench.go()
    assert bench.run.info.problems == ()
    (warning,) = bench.run.info.warnings
    assert warning.startswith(
        "2 of 2 users SelectiveGuests failed (may_fail), and the load went on without them. The first"
    )
    assert "selector 'color ='" in warning
    assert len(bench.rows("receipts")) == 2 * EACH
