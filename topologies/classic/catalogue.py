"""The topologies of ActiveMQ Classic that come with the project, in reading order."""

from collections.abc import Callable

from topologies.classic.networks import hubs_trees_rings as tiers
from topologies.classic.networks import meshes
from topologies.classic.networks import one_or_two_brokers as few
from topologies.model.topology import Topology

ENTRIES: dict[str, Callable[..., Topology]] = {
    "single": few.single,
    "active-standby": few.active_standby,
    "source-and-sink": few.source_and_sink,
    "two-one-way": few.two_one_way,
    "parallel-connectors": few.parallel_connectors,
    "mesh": meshes.mesh,
    "mesh-of-pairs": meshes.mesh_of_pairs,
    "cross-region-mesh": meshes.cross_region_mesh,
    "two-regions": meshes.two_regions,
    "hub-and-spoke": tiers.hub_and_spoke,
    "concentrator": tiers.concentrator,
    "tiered-concentrator": tiers.tiered_concentrator,
    "tree": tiers.tree,
    "ring": tiers.ring,
    "chain": tiers.chain,
}
