"""Knows the settings of the model that older versions of Artemis lack."""

from collections.abc import Iterator

from topologies.artemis.links import ClusterConnection, ClusterLink
from topologies.model.site import is_before
from topologies.model.topology import Topology

TOPOLOGY_SCANNER = (2, 41)  # ARTEMIS-5382


def lacks(topology: Topology, version: str) -> Iterator[str]:
    """A sentence for each setting that a topology uses and that version does not know."""
    if not is_before(version, TOPOLOGY_SCANNER):
        return
    clusters = dict.fromkeys(link.cluster for link in topology.links if isinstance(link, ClusterLink))
    for cluster in clusters:
        if cluster.topology_scanner_attempts != ClusterConnection.topology_scanner_attempts:
            yield f"cluster {cluster.name!r} sets topology_scanner_attempts, which Artemis has since 2.41"
