"""Is a path that carries no message named, before any load goes its way?"""

import pytest

from drivers.canary import PathsUnproven, Side, prove
from drivers.memory import MemoryConnector, MemoryNetwork, Tampering
from scenarios.harness.memory_runtime import NOBODY
from topologies.model import Path

PATHS = [Path(("a",)), Path(("a", "b")), Path(("b", "a")), Path(("b",))]


def prove_over(network: MemoryNetwork) -> None:
    side = Side(MemoryConnector(network), network.endpoint)
    prove(PATHS, side, side, NOBODY, timeout_s=0.5)


def test_every_path_that_carries_its_canary_is_proven_and_no_connection_stays() -> None:
    network = MemoryNetwork(["a", "b"])
    prove_over(network)
    assert network.connections("a") == network.connections("b") == 0


def test_a_path_that_stays_silent_is_named() -> None:
    network = MemoryNetwork(["a", "b"])
    network.tamper(Tampering.DROP, "queue://brokerbench.canary.b", 1)  # from a, which is asked first
    with pytest.raises(PathsUnproven, match=r"no message came through within 0\.5 s: a → b"):
        prove_over(network)


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
