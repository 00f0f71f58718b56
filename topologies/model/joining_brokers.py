"""Changes a topology for brokers that join later: such a broker brings its own links, as a machine that is added does.

A broker that opens a link to an absent one tries again after 1, 2, 4 … 30 s. If it opened the link, the join would take
effect as late as 30 s after the broker is there. A joining broker opens at once.
"""

from collections.abc import Collection
from dataclasses import replace

from topologies.model.link import Link
from topologies.model.stated import changed
from topologies.model.topology import Topology


def opened_by_joining(topology: Topology, joining: Collection[str]) -> Topology:
    """The topology in which ``joining`` brokers open their duplex links to the others. ``joining``: names. Pure.

    One-way links keep their opener, as it decides which way messages go. Members of a cluster call each other anyway.
    """
    links = tuple(_turned(link) if _is_opened_to_one(link, joining) else link for link in topology.links)
    return topology if links == topology.links else replace(topology, links=links)


def present_links(topology: Topology, absent: Collection[str]) -> tuple[Link, ...]:
    """The links between brokers that are there. ``absent``: names. Pure."""
    return tuple(link for link in topology.links if not {link.opened_by.name, link.to.name} & {*absent})


def _is_opened_to_one(link: Link, joining: Collection[str]) -> bool:
    turns = link.duplex and not link.cluster_name
    return turns and link.to.name in joining and link.opened_by.name not in joining


def _turned(link: Link) -> Link:
    """Under its own name, if it was given one."""
    turned = link.between(link.to, link.opened_by)
    is_named = link.name != link.between(link.opened_by, link.to).name
    return changed(turned, name=link.name) if is_named else turned
