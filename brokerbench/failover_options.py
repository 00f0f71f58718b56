"""Would any client take what a failover URI says behind its question mark? Asked before anything is shown or starts.

A run asks for its own protocol too, which may honour fewer options.
"""

from drivers.failover import BadFailoverUriError, FailoverUri
from topologies.catalogue import build
from topologies.model import Topology, TopologyInvalid
from topologies.own_topology import place_of

ANY_SERVER = "tcp://broker:61616"


def why_refused(options: str) -> str:
    """What is wrong with ``randomise=false`` and what to write instead; '' for what a client takes."""
    try:
        FailoverUri.compose([ANY_SERVER], options)
    except BadFailoverUriError as error:
        return error.advice
    return ""


def built_for_clients(name: str) -> Topology:
    """What `topologies.catalogue.build` makes of it; raises `TopologyInvalid` also for options that no client takes."""
    topology = build(name)
    problems = [
        f"{place_of(name, group.name, 'failover') or f'topology {name!r}: '}client group {group.name!r}: "
        f"failover={group.failover!r}: {why}"
        for group in topology.groups
        if (why := why_refused(group.failover))
    ]
    if problems:
        raise TopologyInvalid(*problems)
    return topology
