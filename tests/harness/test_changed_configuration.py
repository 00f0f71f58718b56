"""Checks what restarts with an overlay change: which settings each broker has after its own restart, and the rules."""

import re
from pathlib import Path

import pytest

from harness.faults.changed_configuration import changes_of, describe_changes, with_changed_topologies
from harness.faults.contract import Fault
from harness.faults.rolling_restart import RestartInTurn
from harness.faults.stop_link import StopLink
from records.errors import UserError
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.topology import Topology

RENAMED = "links: {source-to-sink: {name: renamed}}\n"


def restarts(text: str, *brokers: str) -> tuple[RestartInTurn, ...]:
    overlay = Overlay(Path("new.yaml"), text)
    return tuple(RestartInTurn(broker, 1, overlay=overlay) for broker in brokers)


def topologies_after(topology: Topology, *faults: Fault) -> list[Topology]:
    planned = with_changed_topologies(faults, topology)
    return [fault.changed for fault in planned if isinstance(fault, RestartInTurn) and fault.changed is not None]


def prefetch_sizes(topology: Topology) -> dict[str, int]:
    return {link.opened_by.name: link.prefetch_size for link in topology.links if isinstance(link, NetworkConnector)}


def test_a_link_keeps_its_settings_until_the_broker_that_opens_it_restarts() -> None:
    topology = build("two-one-way")
    text = "links: {all: {prefetch_size: 7}}\n"
    first, second = topologies_after(topology, *restarts(text, "broker-1", "broker-2"))
    assert prefetch_sizes(topology) == {"broker-1": 1000, "broker-2": 1000}
    assert prefetch_sizes(first) == {"broker-1": 7, "broker-2": 1000}
    assert prefetch_sizes(second) == {"broker-1": 7, "broker-2": 7}


def test_a_broker_keeps_its_settings_until_it_restarts() -> None:
    topology = build("mesh")
    text = "brokers: {all: {memory_percent_of_heap: 33}}\n"
    (changed,) = topologies_after(topology, *restarts(text, "broker-2"))
    percents = {broker.name: getattr(broker, "memory_percent_of_heap") for broker in changed.brokers}  # noqa: B009
    assert percents == {"broker-1": 70, "broker-2": 33, "broker-3": 70}
    assert {link.opened_by in changed.brokers for link in changed.links} == {True}


def test_a_second_overlay_changes_the_settings_of_the_first() -> None:
    topology = build("source-and-sink")
    again = "links: {renamed: {name: source-to-sink, prefetch_size: 7}}\n"
    first, second = topologies_after(topology, *restarts(RENAMED, "source"), *restarts(again, "source"))
    assert [link.name for link in first.links] == ["renamed"]
    assert describe_changes(topology, second) == ["link source-to-sink: prefetch_size 1000 → 7"]


def test_each_change_is_described_with_its_old_and_its_new_value() -> None:
    topology = build("source-and-sink")
    faults = with_changed_topologies(restarts(RENAMED, "source"), topology)
    assert changes_of(faults, topology) == ["source: link source-to-sink: name source-to-sink → renamed"]


def test_a_restart_without_an_overlay_changes_nothing() -> None:
    topology, faults = build("mesh"), (RestartInTurn("broker-1", 1), RestartInTurn("broker-2", 1, after_s=0))
    assert with_changed_topologies(faults, topology) == faults
    assert changes_of(faults, topology) == []


@pytest.mark.parametrize(
    ("entry", "text", "broker", "problem"),
    [
        ("source-and-sink", RENAMED, "sink", "broker sink: its restart would change nothing"),
        (
            "source-and-sink",
            "brokers: {all: {jvm: {heap_mb: 99}}}",
            "source",
            "jvm: the settings of a JVM cannot change",
        ),
        (
            "source-and-sink",
            "brokers: {source: {connectors: [{protocol: mqtt}]}}",
            "source",
            "connectors: listening ports and their transports cannot change",
        ),
        (
            "source-and-sink",
            "brokers: {all: {users: [{name: ann}]}}\nlinks: {all: {user_name: ann}}",
            "source",
            "users of links cannot change",
        ),
        ("active-standby", "brokers: {all: {memory_percent_of_heap: 9}}", "broker-1", "pairs, whose standbys need"),
        ("source-and-sink", "links: {nowhere: {name: x}}", "source", r"new\.yaml:1.*nowhere"),
    ],
)
def test_settings_that_a_restart_cannot_change_are_rejected(entry: str, text: str, broker: str, problem: str) -> None:
    with pytest.raises(UserError) as rejected:
        with_changed_topologies(restarts(text, broker), build(entry))
    assert re.search(problem, str(rejected.value))


def test_a_fault_of_a_link_that_is_renamed_is_rejected() -> None:
    with pytest.raises(UserError, match="fault stop-link of source-to-sink: a restart renames this link to renamed"):
        with_changed_topologies(
            (*restarts(RENAMED, "source"), StopLink("source-to-sink", 9, 1)), build("source-and-sink")
        )
