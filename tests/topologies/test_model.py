"""Checks that the errors of invalid topologies have the object, the value and the rule."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.topologies.golden_files import assert_golden_refusals
from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import (
    FailoverDiscovery,
    MulticastDiscovery,
    NetworkConnector,
    StaticDiscovery,
)
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.client_groups import ClientGroup
from topologies.model.impairment import Impairment
from topologies.model.topology import Topology

A, B, C = (Broker(name) for name in "abc")
AMQP_ONLY = Broker("amqp-only", connectors=(TransportConnector("amqp"),))


def topology(
    brokers: tuple[Broker, ...] = (A, B),
    links: tuple[NetworkConnector, ...] = (),
    groups: tuple[ClientGroup, ...] = (),
    name: str = "t",
) -> Topology:
    return Topology(name, brokers, links, groups, CLASSIC)


def from_to(producers: Broker, consumers: Broker) -> tuple[ClientGroup, ...]:
    return ClientGroup("producers", (producers,)), ClientGroup("consumers", (consumers,))


def link(opened_by: Broker, to: Broker, **settings: bool | int | str) -> NetworkConnector:
    return NetworkConnector(opened_by=opened_by, to=to, **settings)  # type: ignore[arg-type]


def grouped(opened_by: Broker, to: Broker, **settings: int) -> NetworkConnector:
    return NetworkConnector(opened_by, to, discovery=MulticastDiscovery(group="default"), **settings)  # type: ignore[arg-type]


BREACHES: dict[str, Callable[[], object]] = {
    "no broker": lambda: topology(brokers=()),
    "two brokers of one name": lambda: topology(brokers=(A, Broker("a", region="x"))),
    "two brokers of one name in their configurations": lambda: topology(brokers=(A, Broker("b", broker_name="a"))),
    "a name in the configuration with a comma": lambda: Broker("a", broker_name="a,b"),
    "a name with a space": lambda: Broker("my broker"),
    "a name that leaves its folder": lambda: Broker("../etc"),
    "a name that is an option": lambda: Broker("-rf"),
    "an empty name": lambda: Broker(""),
    "a region that leaves its folder": lambda: Broker("a", region="../x"),
    "a topology's name": lambda: topology(name="a/b"),
    "a link to an unknown broker": lambda: topology(links=(link(A, C),)),
    "a link to a broker of other settings": lambda: topology(links=(link(A, Broker("b", region="x")),)),
    "a link to itself": lambda: topology(links=(link(A, A),)),
    "one duplex link from both ends": lambda: topology(links=(link(A, B, duplex=True), link(B, A, duplex=True))),
    "two links of one name": lambda: topology((A, B, C), (link(A, B, name="x"), link(B, C, name="x"))),
    "a link to a broker without openwire": lambda: topology((A, AMQP_ONLY), (link(A, AMQP_ONLY),)),
    "a group that enters nowhere": lambda: ClientGroup("producers", ()),
    "a group at an unknown broker": lambda: topology(groups=(ClientGroup("producers", (C,)),)),
    "a group twice at one broker": lambda: topology(groups=(ClientGroup("producers", (A, A)),)),
    "two groups of one name": lambda: topology(groups=(ClientGroup("g", (A,)), ClientGroup("g", (B,)))),
    "no link from producers to consumers": lambda: topology(groups=from_to(A, B)),
    "a link the wrong way": lambda: topology(links=(link(B, A),), groups=from_to(A, B)),
    "a TTL too small for any path": lambda: topology((A, B, C), (link(A, B), link(B, C)), from_to(A, C)),
    "a standby of nobody": lambda: topology(brokers=(A, Broker("s", standby_of="x"))),
    "a standby of itself": lambda: topology(brokers=(A, Broker("s", standby_of="s"))),
    "a link to a standby": lambda: topology(
        (A, B, Broker("s", standby_of="b")), (link(A, Broker("s", standby_of="b")),)
    ),
    "a standby without a store": lambda: topology(brokers=(A, Broker("s", standby_of="a", persistence=None))),
    "a standby with another store": lambda: topology(
        brokers=(A, Broker("s", standby_of="a", persistence=KahaDb(checkpoint_interval_ms=1)))
    ),
    "several at once": lambda: topology(links=(link(A, C), link(B, B))),
    "a TTL of 0": lambda: link(A, B, message_ttl=0),
    "a TTL of -2": lambda: link(A, B, consumer_ttl=-2),
    "a network TTL of 0": lambda: NetworkConnector(A, B, network_ttl=0),
    "a network TTL and another message TTL": lambda: NetworkConnector(A, B, network_ttl=5, message_ttl=2),
    "a network TTL and another consumer TTL": lambda: NetworkConnector(A, B, network_ttl=5, consumer_ttl=-1),
    "a prefetch of 0": lambda: link(A, B, prefetch_size=0),
    "a priority out of range": lambda: link(A, B, consumer_priority_base=-129),
    "a destination without a kind": lambda: NetworkConnector(A, B, excluded_destinations=("orders",)),
    "a placeholder in a text": lambda: link(A, B, destination_filter="${secret}"),
    "a line break in a text": lambda: DestinationPolicy("a\nb"),
    "a link name with a slash": lambda: link(A, B, name="a/b"),
    "delays the wrong way round": lambda: StaticDiscovery(initial_reconnect_delay_ms=10, max_reconnect_delay_ms=5),
    "a multicast to nobody": lambda: MulticastDiscovery(address="10.0.0.1"),
    "a multicast without an interval": lambda: MulticastDiscovery(keep_alive_interval_ms=0),
    "two multicasts to one broker": lambda: topology(
        links=(
            NetworkConnector(A, B, name="x", discovery=MulticastDiscovery()),
            NetworkConnector(A, B, name="y", discovery=MulticastDiscovery(port=6156)),
        )
    ),
    "a multicast group of a duplex link": lambda: topology(
        links=(NetworkConnector(A, B, duplex=True, discovery=MulticastDiscovery(group="default")),)
    ),
    "a multicast group through proxies": lambda: topology(
        links=(replace(grouped(A, B), impairment=Impairment(delay_ms=1)),)
    ),
    "a multicast group with a link too few": lambda: topology(
        (A, B, C), (grouped(A, B), grouped(B, A), grouped(A, C), grouped(C, A), grouped(C, B))
    ),
    "a multicast group with two settings": lambda: topology((A, B, C), (grouped(A, B), grouped(A, C, prefetch_size=1))),
    "a link with the name of a multicast group": lambda: topology(links=(grouped(A, B), link(A, B, name="default"))),
    "a multicast group without a name": lambda: MulticastDiscovery(group="a b"),
    "a failover with fewer than no attempts": lambda: FailoverDiscovery(max_reconnect_attempts=-2),
    "a back-off of 0": lambda: StaticDiscovery(back_off_multiplier=0),
    "no connector": lambda: Broker("a", connectors=()),
    "two connectors of one protocol": lambda: Broker(
        "a", connectors=(TransportConnector(name="x"), TransportConnector(name="y"))
    ),
    "an unknown protocol": lambda: TransportConnector("xmpp"),
    "an unknown transport": lambda: TransportConnector("openwire", transport="udp"),
    "a transport of another protocol": lambda: TransportConnector("stomp", transport="http"),
    "rebalance without update": lambda: TransportConnector(rebalance_cluster_clients=True),
    "no connection allowed": lambda: TransportConnector(maximum_connections=0),
    "an unknown strategy": lambda: KahaDb(journal_disk_sync_strategy="sometimes"),
    "a journal smaller than a batch": lambda: KahaDb(journal_max_file_length_bytes=1024),
    "a lock never tried for": lambda: KahaDb(lock_acquire_sleep_interval_ms=0),
    "more than all memory": lambda: Broker("a", memory_percent_of_heap=101),
    "a store of nothing": lambda: Broker("a", store_limit_bytes=0),
    "a policy of neither kind": lambda: DestinationPolicy(kind="stream"),
    "a policy of nothing": lambda: DestinationPolicy(""),
    "a page of nothing": lambda: DestinationPolicy(max_browse_page_size=0),
    "a dead letter strategy unknown": lambda: DeadLetters(kind="lost"),
    "a rate below 0": lambda: BridgeFilter(rate_limit=-1),
}


def test_each_breach_draws_its_own_sentence() -> None:
    assert_golden_refusals("model-errors.txt", BREACHES)


def test_a_pair_that_cannot_reach_each_other_is_only_warned_of() -> None:
    """Some pairs work, so the topology may be intended: the user decides."""
    groups = (ClientGroup("producers", (A,)), ClientGroup("consumers", (B, C)))
    ttl_too_small = topology((A, B, C), (link(A, B), link(B, C)), groups)
    assert ttl_too_small.warnings == (
        "a message sent at 'a' cannot reach a consumer at 'c': raise consumer_ttl of link 'a-to-b' from 1 to 2,"
        " message_ttl of link 'b-to-c' from 1 to 2",
    )
    no_link = topology((A, B, C), (link(A, B),), groups)
    assert no_link.warnings == ("a message sent at 'a' cannot reach a consumer at 'c': no link leads there",)


def test_a_link_by_which_nobody_asks_for_a_message_is_warned_of() -> None:
    named = ("queue://orders",)
    (warning,) = topology(links=(link(A, B, static_bridge=True, duplex=True),)).warnings
    assert warning.startswith("link 'a-to-b' carries nothing: it is a static_bridge")
    mute = Broker("mute", advisory_support=False)
    (warning,) = topology((A, mute), (link(A, mute, duplex=True),)).warnings
    assert warning.startswith(
        "link 'a-to-mute' carries nothing to 'mute': without advisory_support that broker announces no"
    )
    (warning,) = topology((A, mute), (link(mute, A, duplex=True),)).warnings
    assert warning.startswith("link 'mute-to-a' carries nothing to 'mute'")
    assert topology((A, mute), (link(mute, A),)).warnings == (), "a broker that only sends does not announce consumers"
    for way_out in (
        NetworkConnector(A, B, static_bridge=True, statically_included_destinations=named),
        NetworkConnector(A, mute, statically_included_destinations=named),
    ):
        assert topology((A, B, mute), (way_out,)).warnings == ()


def test_the_other_brokers_wildcard_is_warned_of() -> None:
    meant = link(A, B, excluded_destinations=("queue://orders.>", "queue://c#"))
    mistaken = link(A, B, excluded_destinations=("queue://orders.#",))
    assert topology(links=(meant,)).warnings == ()
    (warning,) = topology(links=(mistaken,)).warnings
    assert warning.startswith("link 'a-to-b': excluded_destinations has 'queue://orders.#': '#' is Artemis's wildcard")


def test_the_other_brokers_wildcard_is_warned_of_in_a_policy_too() -> None:
    meant = Broker("a", policies=(DestinationPolicy("orders.>"), DestinationPolicy("c#")))
    assert topology((meant, B)).warnings == ()
    (warning,) = topology((Broker("a", policies=(DestinationPolicy("orders.#"),)), B)).warnings
    assert warning.startswith("broker 'a': policies have the pattern 'orders.#': '#' is Artemis's wildcard")
    assert warning.endswith("write '>'")


def test_two_duplex_links_the_same_way_are_allowed() -> None:
    """The manual suggests them for throughput, with unique names."""
    pair = (link(A, B, name="orders", duplex=True), link(A, B, name="prices", duplex=True))
    assert len(topology(links=pair).links) == 2


def test_a_topology_without_the_agreed_groups_promises_no_path() -> None:
    assert topology(groups=(ClientGroup("anybody", (A, B)),)).warnings == ()


def test_a_link_is_named_after_its_ends_unless_told() -> None:
    assert link(A, B).name == "a-to-b"
    assert link(A, B, name="x").name == "x"


def test_a_group_makes_its_failover_uri_of_endpoints_and_of_names() -> None:
    group = ClientGroup("consumers", (B, A), failover="randomize=true&maxReconnectAttempts=3")
    uris = {"a": "stomp://127.0.0.1:1", "b": "stomp://127.0.0.1:2"}
    assert group.failover_uri(uris) == (
        "failover:(stomp://127.0.0.1:2,stomp://127.0.0.1:1)?randomize=true&maxReconnectAttempts=3"
    )
    assert ClientGroup("g", (A,), failover="").failover_uri_by_name("amqp") == "failover:(amqp://a)"


def test_what_is_not_there_is_named_with_what_is() -> None:
    with pytest.raises(KeyError, match=r"no broker 'x'; it has a, b"):
        topology().broker("x")
    with pytest.raises(
        KeyError, match=r"no client group 'x'; it has none. Add a group of this name to the topology, or"
    ):
        topology().group("x")


@pytest.mark.parametrize(
    ("connector", "scheme"),
    [
        (TransportConnector("openwire"), "tcp"),
        (TransportConnector("openwire", transport="auto+nio+ssl"), "auto+nio+ssl"),
        (TransportConnector("stomp"), "stomp"),
        (TransportConnector("amqp", transport="nio"), "amqp+nio"),
        (TransportConnector("stomp", transport="nio+ssl"), "stomp+nio+ssl"),
    ],
)
def test_a_connector_has_the_scheme_of_its_protocol(connector: TransportConnector, scheme: str) -> None:
    assert connector.scheme == scheme


@pytest.mark.parametrize(
    ("transport", "scheme"),
    [
        ("tcp", "tcp"),
        ("auto+nio", "tcp"),
        ("nio+ssl", "ssl"),
        ("auto+ssl", "ssl"),
        ("http", "http"),
        ("https", "https"),
    ],
)
def test_bridges_call_a_connector_by_what_it_carries(transport: str, scheme: str) -> None:
    assert TransportConnector("openwire", transport=transport).called_by == scheme


def test_defaults_are_those_of_the_version_and_not_of_older_manuals() -> None:
    connector = link(A, B)
    assert connector.decrease_network_consumer_priority  # AMQ-5137
    assert connector.always_sync_send  # AMQ-3331
    assert (connector.message_ttl, connector.consumer_ttl, connector.prefetch_size) == (1, 1, 1000)


SINK, SECURE_SINK = Broker("sink"), Broker("sink", connectors=(TransportConnector("openwire", transport="auto+ssl"),))


@pytest.mark.parametrize(
    ("link", "uses_tls", "rules"),
    [
        (NetworkConnector(Broker("source"), SINK), False, ()),
        (NetworkConnector(Broker("source"), SECURE_SINK), True, ()),
        (NetworkConnector(SECURE_SINK, SINK), False, ()),
        (
            NetworkConnector(Broker("source"), SINK, destination_filter="Queue.>"),
            False,
            ("destination_filter: Queue.>",),
        ),
        (
            NetworkConnector(
                Broker("source"),
                SINK,
                excluded_destinations=("queue://a", "topic://b"),
                dynamically_included_destinations=("queue://c",),
                statically_included_destinations=("queue://d",),
                static_bridge=True,
            ),
            False,
            (
                "excluded_destinations: queue://a, topic://b",
                "dynamically_included_destinations: queue://c",
                "statically_included_destinations: queue://d",
                "static_bridge: true",
            ),
        ),
    ],
)
def test_a_link_knows_its_tls_and_destinations(link: NetworkConnector, uses_tls: bool, rules: tuple[str, ...]) -> None:
    assert (link.uses_tls, link.destination_rules) == (uses_tls, rules)
