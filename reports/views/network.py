"""Computes the drawing of the network: brokers, links with their flow each way, clients."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from records.run import LinkInfo, RunInfo
from reports.values import Cell, Column, Columns, Table, table_of

Way = tuple[str, str]
"""(from, to)"""
Carried = Mapping[tuple[str, str, str], int]
"""(from, to, the connector's name) to messages. A connector is called as its link; of a duplex one the far end may call
it otherwise."""
MOST_BACKLOGS = 20


@dataclass(frozen=True)
class Clients:
    """Open connections of one group at one broker, at the start and the end of the load."""

    group: str
    at_start: int
    at_end: int

    @property
    def text(self) -> str:
        return f"{self.at_start}" if self.at_start == self.at_end else f"{self.at_start} → {self.at_end}"


@dataclass(frozen=True)
class Node:
    name: str
    region: str
    standby_of: str
    clients: tuple[Clients, ...]


@dataclass(frozen=True)
class Flow:
    """Messages that went one way over a link; ``forwarded`` None: not measured."""

    sender: str
    receiver: str
    forwarded: int | None
    per_s: float | None


@dataclass(frozen=True)
class Edge:
    """One link: one flow, or two when it is duplex."""

    link: LinkInfo
    flows: tuple[Flow, ...]


@dataclass(frozen=True)
class NetworkDrawing:
    """``measured``: whether there was a run; without one a drawing has no figures."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    measured: bool = True


def network(run: RunInfo, links: pa.Table, connections: pa.Table, over_s: float, load_s: float) -> NetworkDrawing:
    """``over_s``: the seconds in which messages were sent; a link's rate is its mean over them."""
    carried = forwarded_by_connector(links)
    nodes = tuple(Node(b.name, b.region, b.standby_of, clients_at(b.name, connections, load_s)) for b in run.brokers)
    shared = Counter(way for link in run.links for way in _ways(link))
    return NetworkDrawing(nodes, tuple(_edge(link, shared, carried, over_s) for link in run.links))


def forwarded_by_connector(links: pa.Table) -> Carried:
    found = links.group_by(["from_broker", "to_broker", "connector"]).aggregate([("forwarded", "sum")])
    columns = (found[c].to_pylist() for c in ("from_broker", "to_broker", "connector", "forwarded_sum"))
    return {(sender, receiver, connector): count for sender, receiver, connector, count in zip(*columns, strict=True)}


def _ways(link: LinkInfo) -> tuple[Way, ...]:
    there, back = (link.opened_by, link.to), (link.to, link.opened_by)
    return (there, back) if link.duplex else (back,) if link.pulls else (there,)


def _edge(link: LinkInfo, shared: Mapping[Way, int], carried: Carried, over_s: float) -> Edge:
    """``shared``: how many links go a way.

    A link that alone has this direction gets all its traffic, under any name.
    """
    flows = []
    for way in _ways(link):
        of_way = {connector: count for (*ends, connector), count in carried.items() if (*ends,) == way}
        counts = [count for connector, count in of_way.items() if shared[way] == 1 or connector == link.name]
        flows.append(_flow(way, sum(counts) if counts else None, over_s))
    return Edge(link, tuple(flows))


def _flow(way: Way, count: int | None, over_s: float) -> Flow:
    return Flow(*way, count, count / over_s if count is not None and over_s > 0 else None)


def clients_at(broker: str, connections: pa.Table, load_s: float) -> tuple[Clients, ...]:
    rows = connections.filter(pc.equal(connections["broker"], broker))
    by_group: dict[str, dict[int, int]] = {}
    for group, second, count in zip(*(rows[c].to_pylist() for c in ("group", "second", "count")), strict=True):
        by_group.setdefault(group, {})[second] = count
    last_s = max(0, int(load_s) - 1)
    found = [Clients(group, _at(by_group[group], 0), _at(by_group[group], last_s)) for group in sorted(by_group)]
    return tuple(clients for clients in found if clients.at_start or clients.at_end)


def _at(by_second: Mapping[int, int], second: int) -> int:
    """The value of the latest second up to this one; 0 before the first."""
    earlier = [s for s in by_second if s <= second]
    return by_second[max(earlier)] if earlier else 0


def table(net: NetworkDrawing) -> Table:
    """A row a direction of a link."""
    columns: Columns = (
        ("From", None, lambda one: one[1].sender),
        ("To", None, lambda one: one[1].receiver),
        ("Link", None, lambda one: one[0].name),
        ("Opened by", None, lambda one: one[0].opened_by),
        ("Duplex", None, lambda one: "yes" if one[0].duplex else "no"),
        ("Forwarded", 0, lambda one: one[1].forwarded),
        ("Mean msg/s", 1, lambda one: one[1].per_s),
    )
    rows = [(edge.link, flow) for edge in net.edges for flow in edge.flows]
    return table_of(
        "Links, a row a direction; forwarded has a canary for each path too",
        rows,
        columns,
        "This topology has no links.",
        sortable=True,
    )


def backlog_table(table: pa.Table) -> Table:
    """The most messages that waited for each direction of a link; of many only those that most waited for."""
    way = ("from_broker", "to_broker", "connector", "waits_in")
    columns = (
        Column("From"),
        Column("To"),
        Column("Link"),
        Column("Counted"),
        Column("Most messages", 0),
        Column("First at (s)", 0),
    )
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in way)
        found[key] = max(found.get(key, (0, 0)), (row["messages"], -row["second"]))
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    shown = [each for each in ordered[:MOST_BACKLOGS] if each[1][0]]
    rows: tuple[tuple[Cell, ...], ...] = tuple((*key, most, -second) for key, (most, second) in shown)
    more = f", the {MOST_BACKLOGS} with most" if len(ordered) > MOST_BACKLOGS else ""
    return Table(f"Messages that waited for links{more}", columns, rows, "None was seen to wait for a link.")


def clients_table(run: RunInfo, net: NetworkDrawing) -> Table:
    """A row a broker, a column a client group: connections at the start → at the end of the load."""
    groups = sorted({clients.group for node in net.nodes for clients in node.clients} | {g.name for g in run.groups})
    rows = tuple((node.name, *(_text(node, group) for group in groups)) for node in net.nodes)
    columns = (Column("Broker"), *(Column(group) for group in groups))
    return Table("Client connections at the start → at the end of the load", columns, rows if groups else ())


def _text(node: Node, group: str) -> Cell:
    return next((clients.text for clients in node.clients if clients.group == group), "0")
