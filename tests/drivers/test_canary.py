"""Checks that a path that carries no canary message is named before the load starts."""

import pytest

from drivers.canary import PathsUnproven, Side, describe, provable_paths, prove
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork, Tampering
from harness.memory_runtime import NOBODY
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.paths import Path
from topologies.model.topology import Topology

PATHS = [Path(("a",)), Path(("a", "b")), Path(("b", "a")), Path(("b",))]


def prove_over(network: MemoryNetwork, paths: list[Path] = PATHS) -> None:
    side = Side(MemoryConnector(network), network.endpoint)
    prove(paths, side, side, NOBODY, timeout_s=0.5)


def test_every_path_that_carries_its_canary_is_proven_and_no_connection_stays() -> None:
    network = MemoryNetwork(["a", "b"])
    prove_over(network)
    assert network.connections("a") == network.connections("b") == 0


def test_a_path_that_stays_silent_is_named() -> None:
    network = MemoryNetwork(["a", "b"])
    network.tamper(Tampering.DROP, "queue://brokerbench.canary.b", 1)
    with pytest.raises(PathsUnproven, match=r"no message arrived within 0\.5 s: a → b\."):
        prove_over(network, PATHS[:3])


def test_a_broker_that_refuses_the_canary_is_named_at_once() -> None:
    network = MemoryNetwork(["a", "b"])
    network.refuse("queue://brokerbench.canary.b")
    with pytest.raises(PathsUnproven, match=r"brokerbench\.canary\.b"):
        prove_over(network)


def test_a_broker_that_cannot_be_reached_is_named() -> None:
    network = MemoryNetwork(["a", "b"])
    network.kill("b")
    with pytest.raises(PathsUnproven, match="broker b is not running"):
        prove_over(network)


def test_no_canary_is_sent_where_the_links_keep_it_back_and_that_is_told() -> None:
    a, b, c = (Broker(name) for name in "abc")
    links = (NetworkConnector(a, b, dynamically_included_destinations=("queue://orders",)), NetworkConnector(a, c))
    paths = [Path(("a",)), Path(("a", "b")), Path(("a", "c"))]
    proven = provable_paths(Topology("t", (a, b, c), links, (), CLASSIC), paths)
    assert proven == [paths[0], paths[2]]
    assert describe(paths, proven) == (
        "paths proven by a canary each: 2; not proven, as their links let no canary pass: a → b"
    )
    assert describe(paths, paths) == "paths proven by a canary each: 3"


@pytest.mark.parametrize(
    ("entry", "passed"), [("senders", 1), ("senders(match='orders')", 0), ("receivers", 1), ("receivers(match='x')", 0)]
)
def test_a_canary_takes_what_matches_it(entry: str, passed: int) -> None:
    topology = build(entry)
    assert len(provable_paths(topology, topology.paths_between(PRODUCERS, CONSUMERS))) == passed
