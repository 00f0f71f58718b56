"""Renders one Amazon MQ broker's configuration, rejects settings that Amazon MQ does not permit, and lists the rest.

The configuration has the settings that differ from ActiveMQ's defaults. It is XML in pieces: CloudFormation joins them,
because an endpoint is known only once its broker exists.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lxml import etree

from topologies.classic.amazon_mq_permitted import permitted
from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import NetworkConnector, StaticDiscovery
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.render import names
from topologies.classic.render.network_connectors import network_connector_names, network_ttls
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.render.xml import ACTIVEMQ, add, attributes_of

URI = "@endpoints@"


def _permitted(element: str, table: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a table of `names` (field to attribute) that Amazon MQ permits."""
    return {field: attribute for field, attribute in table.items() if attribute in permitted(element)}


BROKER = _permitted("broker", names.BROKER)
LINK = _permitted("networkConnector", names.NETWORK_CONNECTOR | names.NETWORK_TTL)
CONNECTOR = _permitted("transportConnector", names.TRANSPORT_CONNECTOR)
KAHADB = _permitted("kahaDB", names.KAHADB)
POLICY = _permitted("policyEntry", names.POLICY)
BRIDGE_FILTER = _permitted("conditionalNetworkBridgeFilterFactory", names.BRIDGE_FILTER)
DEAD_LETTERS = {kind: _permitted(f"{kind}DeadLetterStrategy", names.DEAD_LETTERS) for kind in ("shared", "individual")}
SYSTEM_USAGE = _permitted("systemUsage", names.SYSTEM_USAGE)

BROWSED = DestinationPolicy().max_browse_page_size
"""The number of messages that the harness browses. It is a setting of the measurement; templates leave it out."""


@dataclass(frozen=True)
class Endpoints:
    """``joined``: the CloudFormation expression for ``ssl://…:61617``, or two of them. ``condition``: the link is left
    out if it is false."""

    joined: Mapping[str, Any]
    paired: bool
    condition: str = ""


def configuration(broker: Broker, links: Sequence[Link], endpoints_of: Callable[[Link], Endpoints]) -> dict[str, Any]:
    """Return the text of the configuration: a ``Fn::Join`` of text and of values that CloudFormation fills in later."""
    namespaces: dict[str | None, str] = {None: ACTIVEMQ}
    changed = _changed(broker, Broker(broker.name), BROKER)
    root = etree.Element(f"{{{ACTIVEMQ}}}broker", changed, nsmap=namespaces)  # type: ignore[arg-type]
    _add_policies(root, broker.policies)
    if links:
        add(root, "networkConnectors").text = URI
    if isinstance(broker.persistence, KahaDb) and (changed := _changed(broker.persistence, KahaDb(), KAHADB)):
        add(add(root, "persistenceAdapter"), "kahaDB", changed)
    _add_limits(root, broker)
    openwire = [connector for connector in broker.connectors if connector.protocol == "openwire"]
    if openwire and (changed := _changed(openwire[0], TransportConnector("openwire"), CONNECTOR)):
        add(add(root, "transportConnectors"), "transportConnector", {"name": "openwire"} | changed)
    head, marker, tail = etree.tostring(root, encoding="unicode").partition(URI)
    pieces: list[Any] = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', head]
    if marker:
        pieces += [_link(link, endpoints_of(link)) for link in links if isinstance(link, NetworkConnector)]
    return {"Fn::Join": ["", [*pieces, *([tail] if tail else [])]]}


def _add_policies(parent: etree._Element, policies: Sequence[DestinationPolicy]) -> None:
    """Add the policies that differ from ActiveMQ's defaults."""
    changed = [policy for policy in policies if policy != DestinationPolicy(policy.pattern, policy.kind)]
    if not changed:
        return
    entries = add(add(add(parent, "destinationPolicy"), "policyMap"), "policyEntries")
    for policy in changed:
        usual = DestinationPolicy(policy.pattern, policy.kind)
        entry = add(entries, "policyEntry", {policy.kind: policy.pattern} | _changed(policy, usual, POLICY))
        if policy.dead_letters != DeadLetters():
            _add_dead_letters(add(entry, "deadLetterStrategy"), policy.dead_letters)
        if bridge_filter := _changed(policy.bridge_filter, BridgeFilter(), BRIDGE_FILTER):
            add(add(entry, "networkBridgeFilterFactory"), "conditionalNetworkBridgeFilterFactory", bridge_filter)


def _add_dead_letters(parent: etree._Element, dead_letters: DeadLetters) -> None:
    changed = _changed(dead_letters, DeadLetters(), DEAD_LETTERS[dead_letters.kind])
    if dead_letters.kind == "shared":
        shared = add(parent, "sharedDeadLetterStrategy", changed)
        add(add(shared, "deadLetterQueue"), "queue", {"physicalName": dead_letters.queue})
    else:
        prefixes = {"queuePrefix": f"{dead_letters.queue}.Queue.", "topicPrefix": f"{dead_letters.queue}.Topic."}
        add(parent, "individualDeadLetterStrategy", changed | prefixes)


def _add_limits(parent: etree._Element, broker: Broker) -> None:
    usual = Broker(broker.name)
    changed = _changed(broker, usual, SYSTEM_USAGE)
    share = broker.memory_percent_of_heap
    if changed or share != usual.memory_percent_of_heap:
        usage = add(add(parent, "systemUsage"), "systemUsage", changed)
        add(add(usage, "memoryUsage"), "memoryUsage", {"percentOfJvmHeap": str(share)})


def _link(link: NetworkConnector, endpoints: Endpoints) -> dict[str, Any]:
    """Return one networkConnector around its endpoints."""
    attributes = attributes_of(link, _always_written(link)) | _changed(link, _usual_link(link), _written(link))
    element = etree.Element("networkConnector", attributes | {"userName": "", "uri": URI})
    for field, tag in names.NETWORK_CONNECTOR_LISTS.items():
        listed = getattr(link, field)
        parent = etree.SubElement(element, tag) if listed else element
        for destination in listed:
            kind, _, name = destination.partition("://")
            etree.SubElement(parent, kind, {"physicalName": name})
    before, _, after = etree.tostring(element, encoding="unicode").partition(URI)
    user, _, attributes_after = before.partition('userName=""')
    agent = "masterslave" if endpoints.paired else "static"
    start = [f'{user}userName="', {"Ref": "BridgeUsername"}, f'"{attributes_after}{agent}:(']
    whole = {"Fn::Join": ["", [*start, endpoints.joined, f"){after}"]]}
    return {"Fn::If": [endpoints.condition, whole, ""]} if endpoints.condition else whole


def _written(link: NetworkConnector) -> dict[str, str]:
    return {field: name for field, name in network_connector_names(link).items() if field in LINK}


def _always_written(link: NetworkConnector) -> dict[str, str]:
    """Return the settings of every connector: a reader of the template looks for these, changed or not."""
    always = ("name", "duplex", *network_ttls(link), "conduit_subscriptions")
    return {field: LINK[field] for field in always}


def _usual_link(link: NetworkConnector) -> NetworkConnector:
    return NetworkConnector(link.opened_by, link.to, discovery=link.discovery)


def require_permitted(topology: Topology) -> None:
    """Raise `TopologyInvalid` with each setting that is not at its default and that Amazon MQ does not permit."""
    problems = [problem for part in _parts(topology) for problem in _rejected(*part)]
    if problems:
        raise TopologyInvalid(*problems)


Part = tuple[str, object, object, Iterable[str]]
"""A name for errors, the value, the same value with all defaults, and the fields that may differ."""


def _parts(topology: Topology) -> Iterator[Part]:
    own = (
        *("name", "region", "standby_of", "persistence", "connectors", "policies", "memory_percent_of_heap"),
        "trace_broker_path",  # only for runs
    )
    for broker in topology.brokers:
        if not isinstance(broker, Broker):
            continue
        subject = f"broker {broker.name!r}"
        yield subject, broker, Broker(broker.name), (*own, *BROKER, *SYSTEM_USAGE)
        if broker.persistence is None:
            raise TopologyInvalid(
                f"{subject}: persistence=None, but an Amazon MQ broker always has a store; leave it out"
            )
        yield subject, broker.persistence, KahaDb(), KAHADB
        for connector in broker.connectors:
            # Amazon MQ uses TLS for all protocols, regardless of their transport in the topology.
            usual = TransportConnector(connector.protocol, connector.name)
            yield f"{subject}: connector {connector.name!r}", connector, usual, ("transport", *CONNECTOR)
        yield from _parts_of_policies(subject, broker.policies)
    for link in topology.links:
        if isinstance(link, NetworkConnector):
            yield f"link {link.name!r}", link, _usual_link(link), (*LINK, *names.NETWORK_CONNECTOR_LISTS)
            if link.discovery != StaticDiscovery():
                raise TopologyInvalid(
                    f"link {link.name!r}: discovery of kind {link.discovery.kind} with custom settings, but Amazon MQ's"
                    " brokers are linked by static: and masterslave: with defaults; leave it out"
                )


def _parts_of_policies(subject: str, policies: Sequence[DestinationPolicy]) -> Iterator[Part]:
    for policy in policies:
        of_policy = f"{subject}: policy of {policy.kind} {policy.pattern!r}"
        usual = DestinationPolicy(policy.pattern, policy.kind)
        yield of_policy, policy, usual, ("dead_letters", "bridge_filter", *POLICY)
        dead_letters = policy.dead_letters
        yield of_policy, dead_letters, DeadLetters(), ("kind", "queue", *DEAD_LETTERS[dead_letters.kind])
        yield of_policy, policy.bridge_filter, BridgeFilter(), BRIDGE_FILTER


def _rejected(subject: str, value: object, usual: object, permitted_fields: Iterable[str]) -> Iterator[str]:
    for field in fields(value):  # type: ignore[arg-type]
        stated, default = getattr(value, field.name), getattr(usual, field.name)
        if stated != default and field.name not in permitted_fields:
            plain = isinstance(stated, bool | int | float | str)
            setting, instead = (f"={stated!r}", f"at {default!r}") if plain else (" with custom settings", "out")
            yield f"{subject}: {field.name}{setting}, but Amazon MQ does not permit it; leave it {instead}"


def _changed(value: object, usual: object, table: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes that are not at their default."""
    attributes, default = attributes_of(value, table), attributes_of(usual, table)
    return {name: text for name, text in attributes.items() if text != default[name]}


def differences(topology: Topology) -> tuple[str, ...]:
    """Return a sentence for each difference between measured brokers and the template's brokers."""
    brokers = [broker for broker in topology.brokers if isinstance(broker, Broker)]
    return tuple(
        sentence
        for applies, sentence in (
            (True, "Heap and memory: runs give each broker a fixed heap; Amazon MQ's depends on the instance type."),
            (True, "Disk: runs limit store and temporary usage in bytes; in Amazon MQ the storage is the limit."),
            (
                any(connector.transport != "ssl" for broker in brokers for connector in broker.connectors),
                "Encryption: runs use the transports of the topology; Amazon MQ listens with TLS only.",
            ),
            (
                any(broker.trace_broker_path for broker in brokers),
                "Hops: runs stamp each message with the brokers it crossed; Amazon MQ does not permit that plugin.",
            ),
            (
                any(policy.max_browse_page_size == BROWSED for broker in brokers for policy in broker.policies),
                f"Browsing: runs set maxBrowsePageSize={BROWSED:,} to count leftover messages; the template does not.",
            ),
            (
                True,
                "Defaults: runs write every default of 5.18.3 into the brokers' files; the template has only settings "
                "that differ from these, and Amazon MQ may have other defaults.",
            ),
        )
        if applies
    )
