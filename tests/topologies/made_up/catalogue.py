"""The topologies of made-up brokers: one function each, with its picture."""

from topologies.made_up.product import MADE_UP, MadeUpBroker
from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.topology import Topology


def made_up_single() -> Topology:
    """One made-up broker.

    producers --> broker-1 --> consumers
    """
    only = (MadeUpBroker("broker-1"),)
    groups = (ClientGroup(PRODUCERS, enter_at=only), ClientGroup(CONSUMERS, enter_at=only))
    return Topology("made-up-single", only, (), groups, MADE_UP)


ENTRIES = {"made-up-single": made_up_single}
