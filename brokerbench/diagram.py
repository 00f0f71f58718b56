"""Draws a topology as an SVG file: the drawing of the report, without figures."""

import re
from dataclasses import dataclass
from importlib.resources import files

from records.run import LinkInfo
from reports.network.drawing import DrawnClients, DrawnFlow, Edge, NetworkDrawing, Node, draw_network
from topologies.model.link import Link
from topologies.model.topology import Topology

ANCHOR = "topology"
DRAWN = (".region", ".pair", ".broker", ".link", ".flow", ".opener", ".mark", ".legend")
OWN_STYLE = "svg { background: var(--card); font-family: system-ui, sans-serif; }"


@dataclass(frozen=True)
class Entrance(DrawnClients):
    """The broker where a group enters, without client counts."""

    @property
    def text(self) -> str:
        return "entry of"


def diagram(topology: Topology) -> str:
    """Return the SVG, with the report's light and dark colors."""
    description = f"{len(topology.brokers)} brokers and {len(topology.links)} links; a dot marks a link's opener."
    svg = draw_network(_network(topology), ANCHOR, f"Topology {topology.name}", description)
    head, body = svg.split(">", 1)
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{head}>\n<style>\n{_style()}\n</style>\n{body}\n"


def _network(topology: Topology) -> NetworkDrawing:
    nodes = tuple(
        Node(broker.name, broker.region, broker.standby_of, _entrances(topology, broker.name))
        for broker in topology.brokers
    )
    return NetworkDrawing(nodes, tuple(map(_edge, topology.links)), measured=False)


def _entrances(topology: Topology, broker: str) -> tuple[DrawnClients, ...]:
    return tuple(
        Entrance(group.name, 0, 0) for group in topology.groups if broker in {entry.name for entry in group.enter_at}
    )


def _edge(link: Link) -> Edge:
    flows = tuple(DrawnFlow(sender, receiver, None, None) for sender, receiver in link.directions)
    ends = (link.opened_by.name, link.to.name)
    rules = link.destination_rules
    info = LinkInfo(link.name, *ends, link.duplex, link.kind, tls=link.uses_tls, destination_rules=rules)
    return Edge(info, flows)


def _style() -> str:
    """Return the parts of the report's style sheet that this drawing uses, including the colors."""
    css = files("reports").joinpath("templates", "report.css").read_text(encoding="utf-8")
    colors = css[: css.index("* {")].strip()
    rules = re.findall(r"^(?:\.[^\n]+)$", css, flags=re.MULTILINE)
    return "\n".join([colors, OWN_STYLE, *(rule for rule in rules if rule.startswith(DRAWN))])
