"""Checks what restarts with an overlay change: which settings each broker has after its own restart, and the rules."""

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.faults.changed_configuration import changes_of, describe_changes, with_changed_topologies
from harness.faults.contract import Fault, repeated
from harness.faults.disconnect import DisconnectClients
from harness.faults.rolling_restart import RestartInTurn, RollingRestart
from harness.faults.stop_link import StopLink
from records.errors import UserError
from records.store.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.topology import Topology
from topologies.runtimes.processes.runtime import ProcessRuntime

RENAMED = "links: {source-to-sink: {name: renamed}}\n"


def restarts(text: str, *brokers: str) -> tuple[RestartInTurn, ...]:
    overlay = Overlay(Path("new.yaml"), text)
    return tuple(RestartInTurn(broker, 1, after_s=0, overlay=overlay) for broker in brokers)


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
            "jvm: heap_mb 0 → 99, but settings of a process cannot change",
        ),
        (
            "source-and-sink",
            "brokers: {source: {connectors: [{protocol: mqtt}]}}",
            "source",
            r"connectors: .*openwire \(tcp\).* → .*mqtt \(mqtt\).*, but ports and their transports cannot change",
        ),
        (
            "source-and-sink",
            "brokers: {all: {users: [{name: ann}]}}\nlinks: {all: {user_name: ann}}",
            "source",
            r"users\[ann\] none → .*, but users of links cannot change",
        ),
        (
            "source-and-sink",
            "brokers: {sink: {policies: [{dead_letters: {queue: Dead}}]}}",
            "sink",
            r"broker sink: dead-letter queues: \(ActiveMQ\.DLQ\) → \(.*Dead.*\) \(policies\[.*\]\.dead_letters\.queue "
            r"ActiveMQ\.DLQ → Dead.*\), but .*; leave it out of the overlay, or put it into --overlay",
        ),
        (
            "artemis-single",
            "brokers: {all: {address_settings: [{match: '#', expiry_address: Old}]}}",
            "broker-1",
            r"broker broker-1: expiry queues: \(ExpiryQueue\) → \(Old\)",
        ),
        ("active-standby", "brokers: {all: {memory_percent_of_heap: 9}}", "broker-1", "pairs, whose standbys need"),
        ("source-and-sink", "links: {nowhere: {name: x}}", "source", r"new\.yaml:1.*nowhere"),
    ],
)
def test_settings_that_a_restart_cannot_change_are_rejected(entry: str, text: str, broker: str, problem: str) -> None:
    with pytest.raises(UserError) as rejected:
        with_changed_topologies(restarts(text, broker), build(entry))
    assert re.search(problem, str(rejected.value))


def test_settings_in_lists_and_objects_are_described_with_both_values() -> None:
    before = build("single")
    policies = "[{optimized_dispatch: true}, {kind: queue, pattern: a}]"
    text = f"brokers: {{all: {{policies: {policies}, persistence: {{journal_disk_sync_strategy: periodic}}}}}}"
    (after,) = topologies_after(before, *restarts(text, "broker-1"))
    assert describe_changes(before, after) == [
        "broker broker-1: policies[queue >].optimized_dispatch False → True",
        "broker broker-1: policies[queue a] none → DestinationPolicy",
        "broker broker-1: persistence.journal_disk_sync_strategy always → periodic",
    ]


def test_a_broker_with_another_name_in_its_configuration_keeps_its_name_in_the_topology() -> None:
    topology = build("source-and-sink")
    (changed,) = topologies_after(topology, *restarts("brokers: {sink: {broker_name: renamed}}\n", "sink"))
    assert [(broker.name, broker.own_name) for broker in changed.brokers] == [("source", "source"), ("sink", "renamed")]
    assert describe_changes(topology, changed) == ["broker sink: broker_name none → renamed"]


def test_restarts_with_overlays_must_wait_for_each_other_in_the_order_of_the_list() -> None:
    topology, cut = build("mesh"), DisconnectClients("broker-3", 15)
    (first,) = restarts("brokers: {all: {memory_percent_of_heap: 33}}\n", "broker-1")
    (second,) = restarts("brokers: {all: {memory_percent_of_heap: 44}}\n", "broker-2")
    late = dataclasses.replace(first, at_s=20, after_s=None)
    assert len(topologies_after(topology, late, dataclasses.replace(second, at_s=5, after_s=5), cut)) == 2
    for at_s in (5, 20, 25):  # at 25 s, the first restart may still go on
        with pytest.raises(UserError, match=rf"broker-2 at {at_s} s does not wait for the restart of broker-1 at 20 s"):
            with_changed_topologies((late, cut, dataclasses.replace(second, at_s=at_s, after_s=None)), topology)


def test_a_restart_with_an_overlay_cannot_be_repeated() -> None:
    overlay = Overlay(Path("new.yaml"), RENAMED)
    with pytest.raises(ValueError, match=r"times=2: it has overlay=new\.yaml, and a second restart .* change nothing"):
        repeated(RollingRestart("source", 1, overlay=overlay), 20, 2)
    assert len(repeated(RollingRestart("source", 1), 20, 2)) == 2


def test_the_rendered_files_are_those_of_the_last_restart(tmp_path: Path) -> None:
    """A second restart can bring the configuration from the start back."""
    texts = iter(["renamed", "at start"])
    runtime = ProcessRuntime(build("single"), RunDirectory.create(tmp_path, "run"))
    runtime._prepared = SimpleNamespace(  # type: ignore[assignment]
        rewrite=lambda _changed, _broker: {"broker-1/activemq.xml": next(texts)},
        rendered={"broker-1/activemq.xml": "at start"},
    )
    for current in ("renamed", "at start"):
        runtime.reconfigure("broker-1", build("single"))
        assert runtime.rendered() == {
            "broker-1/activemq.xml": "at start",
            "broker-1/activemq.xml (restarted)": current,
        }


def test_a_fault_of_a_link_that_is_renamed_is_rejected() -> None:
    with pytest.raises(UserError, match="fault stop-link of source-to-sink: a restart renames this link to renamed"):
        with_changed_topologies(
            (*restarts(RENAMED, "source"), StopLink("source-to-sink", 9, 1)), build("source-and-sink")
        )
