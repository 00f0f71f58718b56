"""Checks which links are down until a fault starts them."""

import pytest

from harness.faults import KillBroker, RestartBroker, StartLink, StopLink
from harness.faults.contract import Fault
from harness.faults.disconnect import DisconnectClients
from harness.faults.start_link import waiting_at_start
from topologies.catalogue.lookup import build

AUTO, BY_HAND, CLASSIC = "senders", "senders(auto_start=False)", "source-and-sink"
START = StartLink("source-to-sink", 10)


@pytest.mark.parametrize("entry", [AUTO, BY_HAND, CLASSIC])
@pytest.mark.parametrize(
    "others",
    [
        (),
        (StartLink("source-to-sink", 20),),
        (KillBroker("sink", 15, 2),),
        (DisconnectClients("source", 3),),
    ],
)
def test_a_link_waits_for_its_first_start(entry: str, others: tuple[Fault, ...]) -> None:
    assert waiting_at_start((START, *others), build(entry)) == {"source-to-sink"}


@pytest.mark.parametrize(
    ("entry", "earlier", "waits"),
    [
        (AUTO, KillBroker("sink", 3, 2), False),
        (CLASSIC, RestartBroker("source", 3), False),
        (BY_HAND, KillBroker("sink", 3, 2), True),
        (BY_HAND, StopLink("source-to-sink", 3), False),
        (CLASSIC, StopLink("source-to-sink", 3), False),
    ],
)
def test_a_link_that_an_earlier_fault_may_end_is_up(entry: str, earlier: Fault, waits: bool) -> None:
    """The fault then starts it again."""
    assert (waiting_at_start((earlier, START), build(entry)) == {"source-to-sink"}) is waits


def test_other_faults_let_no_link_wait() -> None:
    assert waiting_at_start((StopLink("source-to-sink", 3), KillBroker("sink", 9)), build(CLASSIC)) == frozenset()
