"""Artemis topologies outside the catalogue: random ones, and one with the settings that no catalogue entry uses."""

from hypothesis import strategies as st

from tests.topologies.samples import flags, names, texts
from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import Acceptor, ArtemisBroker, Journal
from topologies.artemis.links import BALANCING, AddressMatch, BrokerConnection, ClusterConnection, ClusterLink, Mirror
from topologies.artemis.product import ARTEMIS
from topologies.artemis.users import ArtemisUser
from topologies.model.broker import MIB
from topologies.model.client_groups import ClientGroup
from topologies.model.link import Link
from topologies.model.topology import Topology

journals = st.builds(
    Journal, kind=st.sampled_from(["NIO", "ASYNCIO", "MAPPED"]), datasync=flags, min_files=st.integers(2, 9)
)
settings_of_addresses = st.builds(
    AddressSetting,
    match=texts,
    max_delivery_attempts=st.sampled_from([-1, 1, 10]),
    max_size_bytes=st.sampled_from([-1, MIB]),
    address_full_policy=st.sampled_from(["PAGE", "BLOCK", "FAIL", "DROP"]),
    redistribution_delay_ms=st.integers(-1, 1000),
    max_redelivery_delay_ms=st.integers(0, 1000),
    default_last_value=flags,
)
addresses = st.builds(Address, name=texts, routing=st.sampled_from(["ANYCAST", "MULTICAST"]), queue=texts)
brokers = st.builds(
    ArtemisBroker,
    name=names,
    acceptors=st.sampled_from([(Acceptor("all"),), (Acceptor("core"), Acceptor("amqp")), ArtemisBroker("x").acceptors]),
    address_settings=st.lists(settings_of_addresses, max_size=3, unique_by=lambda setting: setting.match).map(tuple),
    addresses=st.lists(addresses, max_size=3, unique_by=lambda address: address.name).map(tuple),
    persistence=st.none() | journals,
    memory_limit_bytes=st.integers(0, MIB),
    critical_analyzer_policy=st.sampled_from(["LOG", "SHUTDOWN", "HALT"]),
)
mirrors = st.builds(Mirror, sync=flags, durable=flags, queue_creation=flags, address_filter=st.just("") | texts)
clusters = st.builds(
    ClusterConnection,
    message_load_balancing=st.sampled_from(BALANCING),
    max_hops=st.integers(1, 3),
    reconnect_attempts=st.sampled_from([-1, 5]),
)


@st.composite
def clusters_and_connections(draw: st.DrawFn) -> Topology:
    """One to four brokers, any pair of them in the cluster, mirrored or neither."""
    all_brokers = tuple(draw(st.lists(brokers, min_size=1, max_size=4, unique_by=lambda broker: broker.name)))
    cluster = draw(clusters)
    links: list[Link] = []
    for number, opener in enumerate(all_brokers):
        for end in all_brokers[number + 1 :]:
            if draw(flags):
                links.append(ClusterLink(opener, end, f"c{len(links)}", cluster=cluster))
            if draw(flags):
                links.append(
                    BrokerConnection(opener, end, f"m{len(links)}", mirror=draw(mirrors), auto_start=draw(flags))
                )
    return Topology("random", all_brokers, tuple(links), (ClientGroup("anybody", all_brokers),), ARTEMIS)


def every_artemis_feature() -> Topology:
    """Return two brokers with the settings that no catalogue entry uses: brokers must start with these, too."""
    left = ArtemisBroker(
        "left", persistence=None, memory_limit_bytes=64 * MIB, memory_limit_messages=10_000, graceful_shutdown=True,
        address_settings=(
            AddressSetting("#", address_full_policy="BLOCK", max_size_bytes=MIB, max_redelivery_delay_ms=100),
            AddressSetting("prices.#", default_routing="MULTICAST", dead_letter_address="D", default_last_value=True),
        ),
        addresses=(Address("orders"), Address("prices", "MULTICAST"), Address("parts", queue="parts.in")),
        users=(ArtemisUser("links"),),
    )  # fmt: skip
    right = ArtemisBroker(
        "right",
        acceptors=(Acceptor("all", connections_allowed=500),),
        persistence=Journal("MAPPED", datasync=False),
        users=(ArtemisUser("links", browse=("orders", "prices.#"), delete=()),),
    )
    cluster = ClusterConnection("c", message_load_balancing="STRICT", max_hops=2)
    links = (
        BrokerConnection(
            left, right, "there.and_back",
            senders=(AddressMatch("orders"), AddressMatch(queue_name="parts.in")),
            receivers=(AddressMatch("prices.#"),), mirror=Mirror(address_filter="eu,!eu.uk", durable=False),
            retry_interval_ms=100, reconnect_attempts=5, auto_start=False, user_name="links",
        ),
        ClusterLink(left, right, "members", cluster=cluster),
    )  # fmt: skip
    return Topology(
        "every-artemis-feature", (left, right), links,
        (ClientGroup("producers", (left,)), ClientGroup("consumers", (right,))), ARTEMIS,
    )  # fmt: skip


def narrowed() -> Topology:
    """Return five brokers whose links pass only matching messages.

    copy <-- mirror: orders, !orders.own -- left -- sender: orders.* --> middle <-- receiver: orders.# -- right
                                                                       |
                                                           cluster     aside
    """
    left, middle, right, aside, copy = (ArtemisBroker(name) for name in ("left", "middle", "right", "aside", "copy"))
    links = (
        BrokerConnection(left, middle, senders=(AddressMatch("orders.*"),), retry_interval_ms=500),
        BrokerConnection(right, middle, receivers=(AddressMatch("orders.#"),), retry_interval_ms=500),
        BrokerConnection(left, copy, mirror=Mirror(address_filter="orders,!orders.own"), retry_interval_ms=500),
        ClusterLink(middle, aside),
    )
    return Topology("narrowed", (left, middle, right, aside, copy), links, (), ARTEMIS)
