"""Renders an Artemis broker's clusters, its pair and its AMQP connections into broker.xml.

A broker announces a connector to the cluster, and through the cluster to clients: both use the same address.
"""

from collections.abc import Sequence

from lxml import etree

from topologies.artemis.broker import ArtemisBroker, HaPolicy
from topologies.artemis.links import (
    TOPOLOGY_SCANNER,
    AddressMatch,
    BrokerConnection,
    ClusterConnection,
    ClusterLink,
    Mirror,
)
from topologies.artemis.render import names
from topologies.artemis.render.names import add, add_all, written_at
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import Written
from topologies.model.link import Link
from topologies.model.site import Site, is_before
from topologies.model.topology import Topology
from topologies.render.xml import attributes_of

PAIR = ClusterConnection("pair", message_load_balancing="OFF")
"""The cluster of a live-backup pair that is in no other: the backup announces itself by it, and no message crosses."""


def add_links(parent: etree._Element, topology: Topology, broker: ArtemisBroker, site: Site) -> None:
    clusters = clusters_of(topology, broker)
    if clusters:
        _add_connectors(parent, topology, broker, clusters, site)
        connections = add(parent, "cluster-connections")
        for cluster, members in clusters.items():
            _add_cluster(connections, broker, cluster, members, site)
    if broker.ha is not None:
        _add_ha(parent, broker.ha, written_at(site), backup=bool(broker.standby_of))
    opened = connections_of(topology, broker)
    if opened:
        listed = add(parent, "broker-connections")
        for link in opened:
            _add_connection(listed, link, connection_uri(link, site), written_at(site))


def clusters_of(topology: Topology, broker: ArtemisBroker) -> dict[ClusterConnection, tuple[AnyBroker, ...]]:
    """Return the broker's clusters, each with the other members. A standby is in the active broker's clusters."""
    me = broker.active
    members_by_cluster: dict[ClusterConnection, list[AnyBroker]] = {}
    for link in topology.links:
        if isinstance(link, ClusterLink) and me in (link.opened_by.name, link.to.name):
            far = link.to if link.opened_by.name == me else link.opened_by
            members_by_cluster.setdefault(link.cluster, []).extend(_pair_of(topology, far.name))
    partners = tuple(partner for partner in _pair_of(topology, me) if partner.name != broker.name)
    if not members_by_cluster and partners:
        return {PAIR: partners}
    return {cluster: (*partners, *members) for cluster, members in members_by_cluster.items()}


def cluster_user(topology: Topology, broker: ArtemisBroker) -> str:
    """The user of the broker's clusters: Artemis has one for all of them. Empty: the user of all links."""
    return next((link.user_name for link in topology.links if _is_member(link, broker) and link.user_name), "")


def _is_member(link: Link, broker: ArtemisBroker) -> bool:
    return isinstance(link, ClusterLink) and broker.active in (link.opened_by.name, link.to.name)


def connections_of(topology: Topology, broker: ArtemisBroker) -> list[BrokerConnection]:
    """The AMQP connections that a broker opens; a backup opens its active broker's once it has taken over the store."""
    return [link for link in topology.opened_by(broker.active) if isinstance(link, BrokerConnection)]


def connection_uri(link: BrokerConnection, site: Site) -> str:
    """``tcp://host:port``, followed by ``#`` and the alternates."""
    end_uri, *alternate_uris = (
        f"tcp://{site.address_for(link.name, end.name, end.listener('amqp'))}" for end in (link.to, *link.alternates)
    )
    return f"{end_uri}#{','.join(alternate_uris)}" if alternate_uris else end_uri


def _pair_of(topology: Topology, active: str) -> list[AnyBroker]:
    return [broker for broker in topology.brokers if active in (broker.name, broker.standby_of)]


def _add_connectors(
    parent: etree._Element,
    topology: Topology,
    broker: ArtemisBroker,
    clusters: dict[ClusterConnection, tuple[AnyBroker, ...]],
    site: Site,
) -> None:
    wanted = {broker.name, *(member.name for members in clusters.values() for member in members)}
    connectors = add(parent, "connectors")
    for member in topology.brokers:
        if member.name in wanted:
            address = site.announced.get(member.name) or site.address(member.name, member.listener("core"))
            add(connectors, "connector", {"name": member.name}, f"tcp://{address}")


def _add_cluster(
    parent: etree._Element,
    broker: ArtemisBroker,
    cluster: ClusterConnection,
    members: Sequence[AnyBroker],
    site: Site,
) -> None:
    connection = add(parent, "cluster-connection", {"name": cluster.name})
    add(connection, "connector-ref", {}, broker.name)
    settings = attributes_of(cluster, names.CLUSTER_CONNECTION, written_at(site))
    if is_before(site.version, TOPOLOGY_SCANNER):
        settings.pop("topology-scanner-attempts", None)
    add_all(connection, settings)
    static = add(connection, "static-connectors")
    for member in members:
        add(static, "connector-ref", {}, member.name)


def _add_ha(parent: etree._Element, policy: HaPolicy, written: Written, *, backup: bool) -> None:
    role = add(add(add(parent, "ha-policy"), policy.kind), "backup" if backup else "primary")
    values = attributes_of(policy, names.HA[policy.kind, backup], written)
    add_all(role, {tag: value for tag, value in values.items() if value})


def _add_connection(parent: etree._Element, link: BrokerConnection, uri: str, written: Written) -> None:
    connection = add(parent, "amqp-connection", {"uri": uri} | attributes_of(link, names.BROKER_CONNECTION, written))
    for tag, matches in (("sender", link.senders), ("receiver", link.receivers), ("peer", link.peers)):
        for match in matches:
            add(connection, tag, _matching(match))
    if link.mirror is not None:
        _add_mirror(connection, link.mirror, written)


def _matching(match: AddressMatch) -> dict[str, str]:
    return {"queue-name": match.queue_name} if match.queue_name else {"address-match": match.address_match}


def _add_mirror(parent: etree._Element, mirror: Mirror, written: Written) -> None:
    added = add(parent, "mirror", attributes_of(mirror, names.MIRROR, written))
    if mirror.address_filter:
        added.set("address-filter", mirror.address_filter)
    for key, value in mirror.properties:
        add(added, "property", {"key": key, "value": value})
