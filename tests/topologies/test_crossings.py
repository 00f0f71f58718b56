"""Checks that messages on real brokers reach exactly the brokers that the model predicts, for all broker pairs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.brokers import running
from tests.support.crossings import observed, pairs_of, predicted
from topologies.catalogue.lookup import build, entries
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.management.links import prove_links
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

LINKED = [
    entry.name
    for entry in entries()
    if entry.product == CLASSIC.name and len(pairs_of(build(entry.name))) > 1  # a standby takes its active's place
]
VARIANTS = (  # links by nio and ssl are in whole runs and in tests/topologies_runtime/test_far_links.py
    "source-and-sink(duplex=True)",
    "source-and-sink(transport='http')",
    "source-and-sink(transport='auto')",
    "mesh(discovery='multicast')",
    "two-regions(ttl=1)",
    "hub-and-spoke(hub_standby=True)",
    "ring(ttl=1)",
    "ring(ttl=-1)",
)
MEMORY_MB = 128


def chain() -> Topology:
    """Return a → b → c with one-way links. Private destinations do not pass the first link."""
    a, b, c = (Broker(name) for name in "abc")
    first_link = NetworkConnector(
        opened_by=a, to=b, excluded_destinations=("queue://private.>", "topic://private.*"), name="first"
    )
    return Topology("chain", (a, b, c), (first_link, NetworkConnector(opened_by=b, to=c, name="second")), (), CLASSIC)


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    topology = chain()
    with running(topology, tmp_path_factory.mktemp("chain"), MEMORY_MB) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        yield runtime


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_only_direction_ttl_and_exclusion_stop_messages(kind: str, chained: Runtime) -> None:
    """The excluded destinations are wildcards."""
    topology = chain()
    alone = {(broker, broker) for broker in "abc"}
    expected = {"": alone | {("a", "b"), ("b", "c")}, "private.": alone | {("b", "c")}}
    for prefix, pairs in expected.items():
        assert predicted(topology, kind, prefix) == pairs
        assert observed(chained, topology, kind, prefix) == pairs


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.parametrize("entry", [*LINKED, *VARIANTS])
def test_messages_get_where_the_model_says_and_nowhere_else(entry: str, tmp_path: Path) -> None:
    topology = build(entry)
    with running(topology, tmp_path, MEMORY_MB) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        assert observed(runtime, topology) == predicted(topology)
