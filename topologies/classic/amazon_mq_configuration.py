"""Renders one Amazon MQ broker's configuration, and refuses settings that it may not have.

It is XML in pieces. CloudFormation joins them, because an endpoint is known only once its broker exists.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lxml import etree

from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import NetworkConnector, StaticDiscovery
from topologies.classic.render import names
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.render.xml import ACTIVEMQ, attributes_of

ENGINE_VERSION = "5.18"
URI = "@endpoints@"

# Field of the model to attribute, as far as Amazon MQ's guide was seen to permit it.
BROKER = {
    field: names.BROKER[field]
    for field in (
        "advisory_support", "scheduler_support", "dedicated_task_runner", "network_connector_start_async",
        "keep_durable_subs_active", "split_system_usage", "producer_system_usage_percent",
        "consumer_system_usage_percent",
    )
}  # fmt: skip
LINK = {
    field: names.NETWORK_CONNECTOR[field]
    for field in ("name", "duplex", "message_ttl", "consumer_ttl", "conduit_subscriptions")
}
CONNECTOR = {
    field: names.TRANSPORT_CONNECTOR[field]
    for field in ("update_cluster_clients", "rebalance_cluster_clients", "update_cluster_clients_on_remove")
}
KAHADB = {"concurrent_store_and_dispatch_queues": "concurrentStoreAndDispatchQueues"}


@dataclass(frozen=True)
class Endpoints:
    """``joined``: the CloudFormation expression for ``ssl://…:61617``, or two of them; ``condition``: without which the
    link is left out."""

    joined: Mapping[str, Any]
    paired: bool
    condition: str = ""


def configuration(broker: Broker, links: Sequence[Link], endpoints_of: Callable[[Link], Endpoints]) -> dict[str, Any]:
    """The text of the configuration: a ``Fn::Join`` of known text and values that CloudFormation fills in later."""
    namespaces: dict[str | None, str] = {None: ACTIVEMQ}
    changed = _changed(broker, Broker(broker.name), BROKER)
    root = etree.Element(f"{{{ACTIVEMQ}}}broker", changed, nsmap=namespaces)  # type: ignore[arg-type]
    if links:
        etree.SubElement(root, f"{{{ACTIVEMQ}}}networkConnectors").text = URI
    if isinstance(broker.persistence, KahaDb) and (changed := _changed(broker.persistence, KahaDb(), KAHADB)):
        etree.SubElement(etree.SubElement(root, f"{{{ACTIVEMQ}}}persistenceAdapter"), f"{{{ACTIVEMQ}}}kahaDB", changed)
    openwire = [connector for connector in broker.connectors if connector.protocol == "openwire"]
    if openwire and (changed := _changed(openwire[0], TransportConnector("openwire"), CONNECTOR)):
        connectors = etree.SubElement(root, f"{{{ACTIVEMQ}}}transportConnectors")
        etree.SubElement(connectors, f"{{{ACTIVEMQ}}}transportConnector", {"name": "openwire"} | changed)
    head, marker, tail = etree.tostring(root, encoding="unicode").partition(URI)
    pieces: list[Any] = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', head]
    if marker:
        pieces += [_link(link, endpoints_of(link)) for link in links if isinstance(link, NetworkConnector)]
    return {"Fn::Join": ["", [*pieces, *([tail] if tail else [])]]}


def _link(link: NetworkConnector, endpoints: Endpoints) -> dict[str, Any]:
    """One networkConnector around its endpoints."""
    element = etree.Element("networkConnector", attributes_of(link, LINK) | {"userName": "", "uri": URI})
    for field, tag in names.NETWORK_CONNECTOR_LISTS.items():
        listed = getattr(link, field)
        parent = etree.SubElement(element, tag) if listed else element
        for destination in listed:
            kind, _, name = destination.partition("://")
            etree.SubElement(parent, kind, {"physicalName": name})
    before, _, after = etree.tostring(element, encoding="unicode").partition(URI)
    user, _, attributes = before.partition('userName=""')
    agent = "masterslave" if endpoints.paired else "static"
    start = [f'{user}userName="', {"Ref": "BridgeUsername"}, f'"{attributes}{agent}:(']
    whole = {"Fn::Join": ["", [*start, endpoints.joined, f"){after}"]]}
    return {"Fn::If": [endpoints.condition, whole, ""]} if endpoints.condition else whole


def require_permitted(topology: Topology) -> None:
    """Raises `TopologyInvalid` naming each setting that is not at its default and not among those permitted."""
    problems = [problem for part in _parts(topology) for problem in _refused(*part)]
    if problems:
        raise TopologyInvalid(*problems)


Part = tuple[str, object, object, Iterable[str]]
"""What it is, the value, one with all defaults, and the fields that may differ."""


def _parts(topology: Topology) -> Iterable[Part]:
    own = ("name", "region", "standby_of", "persistence", "connectors")
    for broker in topology.brokers:
        if not isinstance(broker, Broker):
            continue
        subject = f"broker {broker.name!r}"
        yield subject, broker, Broker(broker.name), (*own, *BROKER)
        if broker.persistence is None:
            raise TopologyInvalid(
                f"{subject}: persistence=None, but an Amazon MQ broker always has a store; leave it out"
            )
        yield subject, broker.persistence, KahaDb(), KAHADB
        for connector in broker.connectors:
            # Amazon MQ listens by TLS for all its protocols, regardless of their transport elsewhere.
            usual = TransportConnector(connector.protocol, connector.name)
            yield f"{subject}: connector {connector.name!r}", connector, usual, ("transport", *CONNECTOR)
    for link in topology.links:
        if isinstance(link, NetworkConnector):
            usual_link = NetworkConnector(link.opened_by, link.to, discovery=link.discovery)
            yield f"link {link.name!r}", link, usual_link, (*LINK, *names.NETWORK_CONNECTOR_LISTS)
            if link.discovery != StaticDiscovery():
                raise TopologyInvalid(
                    f"link {link.name!r}: discovery of kind {link.discovery.kind} with settings of its own, but Amazon"
                    " MQ's brokers are linked by static: and masterslave: as those are; leave it out"
                )


def _refused(subject: str, value: object, usual: object, permitted: Iterable[str]) -> Iterable[str]:
    for field in fields(value):  # type: ignore[arg-type]
        stated, default = getattr(value, field.name), getattr(usual, field.name)
        if stated != default and field.name not in permitted:
            plain = isinstance(stated, bool | int | float | str)
            setting, instead = (f"={stated!r}", f"at {default!r}") if plain else (" with settings of its own", "out")
            yield f"{subject}: {field.name}{setting}, but Amazon MQ is not known to permit it; leave it {instead}"


def _changed(value: object, usual: object, table: Mapping[str, str]) -> dict[str, str]:
    """The attributes that are not at their default."""
    attributes, default = attributes_of(value, table), attributes_of(usual, table)
    return {name: text for name, text in attributes.items() if text != default[name]}
