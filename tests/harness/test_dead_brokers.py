"""Checks the report of brokers that died without being stopped."""

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.run.brokers import BrokerEnvironment
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from topologies.catalogue.lookup import build

GONE = "the Docker engine at unix:///engine.sock no longer answers"


class DyingRuntime:
    """Reports that its brokers do not exist."""

    def __init__(self, dead: Collection[str], outage: str) -> None:
        self._dead, self._outage = dead, outage

    def alive(self, broker: str) -> bool:
        return broker not in self._dead

    def pid(self, broker: str) -> int | None:
        return None

    def outage(self) -> str:
        return self._outage

    def log_tail(self, broker: str) -> list[str]:
        return [f"{broker} was well", "and then"]


@pytest.fixture
def brokers(tmp_path: Path) -> BrokerEnvironment:
    return environment(tmp_path, "mesh(brokers=3)")


def environment(tmp_path: Path, topology: str) -> BrokerEnvironment:
    directory = RunDirectory.create(tmp_path, "run")
    options: Any = SimpleNamespace(runtime="memory", protocol="memory", built_topology=build(topology))
    return BrokerEnvironment(options, directory, Recorder(directory, "main"), "main", None, ())


def gone(brokers: BrokerEnvironment, dead: Collection[str], outage: str) -> list[str]:
    brokers.runtime = DyingRuntime(dead, outage)  # type: ignore[assignment]
    return brokers.dead_brokers()


def test_an_engine_that_took_all_brokers_along_is_one_sentence(brokers: BrokerEnvironment) -> None:
    assert gone(brokers, {"broker-1", "broker-2", "broker-3"}, GONE) == [GONE]


def test_a_broker_that_went_by_itself_is_told_with_its_last_words(brokers: BrokerEnvironment) -> None:
    assert gone(brokers, {"broker-2"}, "") == [
        "broker broker-2 ended unexpectedly; the last lines of its log:\nbroker-2 was well\nand then"
    ]


def test_where_all_brokers_live_nothing_is_lost(brokers: BrokerEnvironment) -> None:
    assert gone(brokers, (), GONE) == []


def test_a_broker_that_a_fault_took_down_is_no_crash_and_one_that_died_beside_it_is(brokers: BrokerEnvironment) -> None:
    brokers.runtime = DyingRuntime({"broker-2", "broker-3"}, "")  # type: ignore[assignment]
    (sentence,) = brokers.dead_brokers(lambda: {"broker-2"})
    assert sentence.startswith("broker broker-3 ended unexpectedly")


def test_a_fault_that_begins_or_ends_during_the_look_is_none_either(brokers: BrokerEnvironment) -> None:
    brokers.runtime = DyingRuntime({"broker-2"}, "")  # type: ignore[assignment]
    for looks in ([{"broker-2"}, set()], [set(), {"broker-2"}]):
        assert brokers.dead_brokers(iter(looks).__next__) == []


def test_a_broker_that_never_joined_holds_no_messages_and_is_not_asked(brokers: BrokerEnvironment) -> None:
    absent, pinged = {"broker-3"}, list[str]()

    def depths(broker: str) -> dict[str, int]:
        pinged.append(broker)
        return {"steady": 2}

    brokers._watch = SimpleNamespace(depths=depths)  # type: ignore[assignment]
    brokers._not_joined = lambda: absent
    assert (brokers.waiting(), pinged) == (4, ["broker-1", "broker-2"])
    absent.clear()
    assert (brokers.waiting(), pinged[2:]) == (6, ["broker-1", "broker-2", "broker-3"])


def test_a_broker_that_is_still_to_join_is_not_running_rather_than_dead(brokers: BrokerEnvironment) -> None:
    brokers.runtime = DyingRuntime({"broker-2", "broker-3"}, "")  # type: ignore[assignment]
    brokers._is_up, brokers._not_joined = True, lambda: {"broker-3"}
    assert brokers.states() == {"broker-1": "up", "broker-2": "dead", "broker-3": "not running"}


def test_a_broker_taken_down_serves_again_after_a_login(
    brokers: BrokerEnvironment,
) -> None:
    brokers.runtime = DyingRuntime((), "")  # type: ignore[assignment]
    brokers._is_up = True
    assert brokers.states({"broker-2"}) == {"broker-1": "up", "broker-2": "not serving", "broker-3": "up"}
    assert set(brokers.states().values()) == {"up"}


def test_a_broker_that_stands_by_does_not_serve(tmp_path: Path) -> None:
    """Its product reports its state; it needs no figure for that."""
    brokers = environment(tmp_path, "active-standby")
    brokers.runtime = DyingRuntime((), "")  # type: ignore[assignment]
    brokers._is_up = True
    names = [broker.name for broker in brokers.topology.brokers]
    for standbys, state in (({names[1]}, "not serving"), (set(), "up")):
        brokers._watch = SimpleNamespace(standbys=lambda standbys=standbys: standbys)  # type: ignore[assignment]
        assert brokers.states() == {names[0]: "up", names[1]: state}
