"""Renders the files of one broker, as its product does."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from topologies.model.broker import AnyBroker
from topologies.model.site import Site
from topologies.model.topology import Topology

Render = Callable[[Topology, AnyBroker, Site], Mapping[str, str]]
"""(topology, broker, site) -> file name to text."""


def render(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
    """File name to text. KeyError if the site lacks a port that is needed."""
    return topology.product.render(topology, broker, site)


def render_for_topics(topology: Topology, broker: AnyBroker, site: Site) -> Mapping[str, str]:
    """As `render`, for subscribers of topics: without what breaks messages that several of them get."""
    return render(topology, topology.product.for_topics(broker), site)


def without_defaults(renderer: Render) -> Render:
    """The same, but what nobody stated is left to the broker."""
    return lambda topology, broker, site: renderer(topology, broker, replace(site, unset_defaults=True))
