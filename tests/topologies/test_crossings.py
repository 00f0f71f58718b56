"""Do real brokers let messages get where the model says, and nowhere else? Message by message, for all pairs."""

from pathlib import Path

import pytest

from tests.support.brokers import running
from tests.support.crossings import observed, predicted
from topologies.catalogue import build
from topologies.management.links import prove_links
from topologies.model import Broker, NetworkConnector, Topology

ENTRIES = (
    "single",
    "active-standby",
    "source-and-sink",
    "source-and-sink(duplex=True)",
    "source-and-sink(transport='nio')",
    "source-and-sink(transport='ssl')",
    "source-and-sink(transport='http')",
    "source-and-sink(transport='auto')",
    "two-one-way",
    "parallel-connectors",
    "mesh",
    "mesh(discovery='multicast')",
    "mesh-of-pairs",
    "cross-region-mesh",
    "two-regions",
    "two-regions(ttl=1)",
    "hub-and-spoke",
    "hub-and-spoke(hub_standby=True)",
    "concentrator",
    "tiered-concentrator",
    "tree",
    "ring",
    "ring(ttl=1)",
    "ring(ttl=2)",
    "ring(ttl=-1)",
)
MEMORY_MB = 128


def chain() -> Topology:
    """a → b → c, one link at a time, where nothing private passes the first."""
    a, b, c = (Broker(name) for name in "abc")
    first = NetworkConnector(
        opened_by=a, to=b, excluded_destinations=("queue://private.>", "topic://private.*"), name="first"
    )
    return Topology("chain", (a, b, c), (first, NetworkConnector(opened_by=b, to=c, name="second")), ())


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_one_way_links_small_ttls_and_excluded_wildcards_stop_messages_and_nothing_else_does(
    kind: str, tmp_path: Path
) -> None:
    topology = chain()
    alone = {(broker, broker) for broker in "abc"}
    expected = {"": alone | {("a", "b"), ("b", "c")}, "private.": alone | {("b", "c")}}
    with running(topology, tmp_path, MEMORY_MB) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        for prefix, pairs in expected.items():
            assert predicted(topology, kind, prefix) == pairs
            assert observed(runtime, topology, kind, prefix) == pairs


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.parametrize("entry", ENTRIES)
def test_messages_get_where_the_model_says_and_nowhere_else(entry: str, tmp_path: Path) -> None:
    topology = build(entry)
    with running(topology, tmp_path, MEMORY_MB) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        assert observed(runtime, topology) == predicted(topology)
