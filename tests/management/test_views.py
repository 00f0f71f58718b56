"""Checks which facts about broker pairs come from the topology, as MBeans do not have them."""

import pytest

from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.classic.queries import LinkNames
from topologies.management.contract import pair_members, serving
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.topology import Topology

HUB, STANDBY, SPOKE = Broker("hub"), Broker("spare", standby_of="hub"), Broker("spoke")


def topology(*links: NetworkConnector) -> Topology:
    return Topology("t", (HUB, STANDBY, SPOKE), links, (), CLASSIC)


@pytest.mark.parametrize(
    ("name", "members"), [("hub", ("hub", "spare")), ("spare", ("hub", "spare")), ("spoke", ("spoke",))]
)
def test_the_brokers_of_a_pair_are_the_same_whichever_is_asked_for(name: str, members: tuple[str, ...]) -> None:
    assert pair_members(topology(), name) == members


def test_the_login_of_a_standby_is_a_bridge_too_and_no_client() -> None:
    names = LinkNames.in_topology(topology(NetworkConnector(opened_by=HUB, to=SPOKE, name="out")))
    assert names.client_ids.keys() == {"out_hub_outbound", "out_spare_outbound"}


def test_a_duplex_bridge_is_known_by_its_link_whoever_of_the_pair_has_it() -> None:
    names = LinkNames.in_topology(topology(NetworkConnector(opened_by=SPOKE, to=HUB, name="in", duplex=True)))
    assert names.duplex == {("spoke", "hub"): "in", ("spoke", "spare"): "in"}


def test_brokers_that_do_not_answer_serve_nobody() -> None:
    class SilentRuntime:
        def management(self, broker: str) -> ManagementEndpoint:
            return ManagementEndpoint(broker, "http://127.0.0.1:1/jolokia/", "agent", "s3cret")

    assert serving(SilentRuntime(), build("active-standby"), "broker-1", 0.5) == ""
