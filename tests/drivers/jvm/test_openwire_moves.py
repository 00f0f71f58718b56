"""Checks that OpenWire clients move when brokers rebalance them, and use brokers that they learn of."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from tests.support.brokers import running
from tests.support.loads import UserLoad
from tests.support.locust_run import REPOSITORY, make_run
from tests.support.stomp_clients import queue
from tests.support.waiting import settled_for, until
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

# In every run: lifecycle/test_rebalance.py.
pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
TELLING = TransportConnector("openwire", update_cluster_clients=True, update_cluster_clients_on_remove=True)
REBALANCING = TransportConnector(
    "openwire", update_cluster_clients=True, rebalance_cluster_clients=True, update_cluster_clients_on_remove=True
)


def mesh(brokers: int, connector: TransportConnector) -> Topology:
    """All linked with all."""
    members = tuple(Broker(f"broker-{n}", connectors=(connector,)) for n in range(1, brokers + 1))
    links = tuple(
        NetworkConnector(opened_by=opener, to=target, duplex=True) for opener, target in combinations(members, 2)
    )
    groups = tuple(ClientGroup(group, members[:1]) for group in ("producers", "consumers"))
    return Topology("telling", members, links, groups, CLASSIC)


def names(brokers: int) -> list[str]:
    return [f"broker-{n}" for n in range(1, brokers + 1)]


def on_the_first(folder: Path, runtime: Runtime, brokers: int) -> UserLoad:
    """Clients that were given the first broker's URI alone."""
    return UserLoad(folder, runtime, "openwire", names(brokers), enter_at=["broker-1"], options="?randomize=false")


def spread(load: UserLoad) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (_group, broker), count in load.session.connected().items():
        counts[broker] += count
    return counts


def events(load: UserLoad) -> list[tuple[str, str, str | None, str | None]]:
    """(event, broker, the broker before, cause)"""
    rows = load.tables()["connections"]
    return [(row["event"], row["broker"], row["from_broker"], row["cause"]) for row in rows]


def test_clients_are_told_to_spread_and_move_and_the_brokers_are_named(tmp_path: Path) -> None:
    with running(mesh(2, REBALANCING), tmp_path) as runtime:
        load = on_the_first(tmp_path, runtime, 2)
        for _ in range(4):
            load.client("consumer")
        until(lambda: spread(load)["broker-2"] >= 1 and spread(load).total() == 4)
        settled_for(lambda: spread(load), 1.0)
        runtime.kill("broker-2")
        until(lambda: spread(load) == {"broker-1": 4})
        changes = events(load)
    there = changes.count(("lost", "broker-2", None, "lost"))
    moved = Counter(change[2:] for change in changes if change[:2] == ("moved", "broker-2"))
    assert moved["broker-1", "order"] >= there > 0
    assert set(moved) == {("broker-1", "order")}
    assert ("closed", "broker-1", None, "order") in changes
    back = changes.count(("moved", "broker-1", "broker-2", "lost"))
    assert back == there, "the loss of a broker is not a move that a broker ordered"
    assert {broker for _, broker, *_ in changes} == {"broker-1", "broker-2"}


def test_a_client_given_one_uri_learns_of_the_others_and_uses_them(tmp_path: Path) -> None:
    with running(mesh(3, TELLING), tmp_path) as runtime:
        load, place = on_the_first(tmp_path, runtime, 3), queue("learned")
        consumer, producer = load.client("consumer"), load.client("producer")
        load.consume(consumer, place)
        settled_for(lambda: spread(load), 1.0)
        assert spread(load) == {"broker-1": 2}, "nobody was told to move"
        sending = load.produce(producer, place, 2_000)
        until(lambda: load.tally.received > 300)
        runtime.kill("broker-1")
        sending.join(60)
        until(lambda: load.tally.settled == 2_000)
        runtime.start("broker-1")
        settled_for(lambda: load.tally.received, 3.0)
        tables = load.tables()
    moved = [row for row in tables["connections"] if row["event"] == "moved"]
    assert len(moved) == 2
    assert {(row["from_broker"], row["cause"]) for row in moved} == {("broker-1", "lost")}
    assert {row["broker"] for row in moved} <= {"broker-2", "broker-3"}
    acked = {row["seq"] for row in tables["sends"] if row["outcome"] == "acked"}
    assert {row["seq"] for row in tables["sends"]} == set(range(2_000))
    assert {row["seq"] for row in tables["receipts"]} >= acked


def test_clients_are_told_of_a_broker_that_comes_back_and_move_to_it(tmp_path: Path) -> None:
    with running(mesh(3, REBALANCING), tmp_path) as runtime:
        load, place = on_the_first(tmp_path, runtime, 3), queue("rebalanced")
        consumers = [load.client("consumer") for _ in range(6)]
        for client in consumers:
            load.consume(client, place)
        until(lambda: len(spread(load)) >= 2 and spread(load).total() == 6)
        runtime.kill("broker-2")
        until(lambda: spread(load)["broker-2"] == 0 and spread(load).total() == 6)
        runtime.start("broker-2")
        until(lambda: spread(load)["broker-2"] > 0)
        settled_for(lambda: spread(load), 5.0)
        sending = load.produce(load.client("producer"), place, 500)
        sending.join(30)
        until(lambda: load.tally.received >= 500)
        tables = load.tables()
    rows = tables["connections"]
    by_the_broker = [row for row in rows if (row["event"], row["cause"]) == ("moved", "order")]
    assert "broker-2" in {row["broker"] for row in by_the_broker}
    assert {row["broker"] for row in rows} == set(names(3)), "each broker has one name, with any URI"
    assert {row["seq"] for row in tables["receipts"]} == set(range(500))
    for client in {row["client"] for row in rows}:
        changes = [row["event"] for row in rows if row["client"] == client and row["event"] in OPENS | ENDS]
        assert changes[0::2] == ["connected"] * len(changes[0::2]), "who moves has left before"
        assert set(changes[1::2]) <= ENDS


@pytest.mark.spark
def test_a_run_on_the_example_loses_nothing_while_its_brokers_spread_the_clients(tmp_path: Path) -> None:
    example = str(REPOSITORY / "topologies" / "examples" / "rebalanced-mesh.yaml")
    arguments = ("--topology", example, "--protocol", "openwire", "-t", "5s", "--warm-up", "2", "--rate", "50")
    outcome = make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs")
    assert outcome.summary["messages"]["lost"] == 0, outcome.output
    moved = [row for row in outcome.events("connections") if row["event"] == "moved"]
    assert any((row["from_broker"], row["cause"]) == ("broker-1", "order") for row in moved)
    assert {row["broker"] for row in outcome.events("connections")} == set(names(3))


OPENS, ENDS = {"connected"}, {"lost", "closed"}
