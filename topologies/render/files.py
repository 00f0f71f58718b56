"""Renders the files of one broker, as its product does."""

from collections.abc import Mapping

from topologies.model.broker import AnyBroker
from topologies.model.site import Site
from topologies.model.topology import Topology


def render(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
    """File name to text. KeyError if the site lacks a port that is needed."""
    return topology.product.render(topology, broker, site)


def render_for_topics(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
    """As `render`, for subscribers of topics: without what breaks messages that several of them get."""
    return render(topology, topology.product.for_topics(broker), site)
