"""Would any client take what a failover URI says behind its question mark? Asked before anything is shown or starts.

A run asks for its own protocol too, which may honour fewer options.
"""

from drivers.failover import BadFailoverUriError, FailoverUri
from topologies.model import Topology, TopologyInvalid

ANY_SERVER = "tcp://broker:61616"


def why_refused(options: str) -> str:
    """What is wrong with ``randomise=false`` and what to write instead; '' for what a client takes."""
    try:
        FailoverUri.compose([ANY_SERVER], options)
    except BadFailoverUriError as error:
        return error.advice
    return ""


def with_options_that_clients_take(topology: Topology) -> Topology:
    """The same; raises `TopologyInvalid` for client groups whose options no client takes."""
    refused = {group: why_refused(group.failover) for group in topology.groups}
    problems = [
        f"topology {topology.name!r}: client group {group.name!r}: failover={group.failover!r}: {why}"
        for group, why in refused.items()
        if why
    ]
    if problems:
        raise TopologyInvalid(*problems)
    return topology
