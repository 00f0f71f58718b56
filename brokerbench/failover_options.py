"""Checks a client group's failover options before anything is shown or starts.

A run also checks the options for its protocol, which may support fewer options.
"""

from drivers.failover.uri import BadFailoverUriError, FailoverUri
from topologies.catalogue.lookup import build
from topologies.catalogue.yaml_topology import place_of
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

ANY_SERVER = "tcp://broker:61616"


def why_refused(options: str) -> str:
    """Return the problem with an option such as ``randomise=false``, and a correction; empty for valid options."""
    try:
        FailoverUri.compose([ANY_SERVER], options)
    except BadFailoverUriError as error:
        return error.advice
    return ""


def built_for_clients(name: str) -> Topology:
    """Build a topology like `catalogue.lookup.build`.

    Also raises `TopologyInvalid` for failover options that no client supports.
    """
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
