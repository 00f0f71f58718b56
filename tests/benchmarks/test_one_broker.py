"""Checks that benchmarks of one broker use a topology whose broker speaks the protocol."""

import pytest

from benchmarks.one_broker import entry_for
from benchmarks.pacing import PacedRun, locust_options
from drivers.protocols import PROTOCOLS
from topologies.catalogue.lookup import build


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "memory"])
def test_the_one_broker_speaks_the_protocol(protocol: str) -> None:
    (broker,) = build(entry_for(protocol)).brokers
    assert protocol in broker.protocols


def test_a_paced_run_is_asked_for_by_its_protocol_on_a_topology_that_speaks_it() -> None:
    options = locust_options(PacedRun("core", "10000", "normal", 30))
    assert options[options.index("--protocol") + 1] == "core"
    assert options[options.index("--topology") + 1] == "artemis-single"
    assert options[options.index("--rate") + 1] == "10000"
