"""Checks rendered Classic brokers against golden files and the broker's own schema."""

import dataclasses
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from lxml import etree

from tests.topologies.conftest import activemq_xsd
from tests.topologies.golden_files import FOLDER, assert_golden, settings_in
from tests.topologies.samples import every_feature, site_of, topologies
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import (
    FailoverDiscovery,
    MulticastDiscovery,
    NetworkConnector,
    StaticDiscovery,
)
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.product import CLASSIC
from topologies.classic.render import names
from topologies.classic.render.broker_xml import (
    ACTIVEMQ_XML,
    BROKER_PATH_PROPERTY,
    LOG4J2_PROPERTIES,
    LOG4J_PROPERTIES,
    render,
)
from topologies.classic.render.network_connectors import proxied_announcements
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.client_groups import ClientGroup
from topologies.model.site import SECRET_KEYS, Site
from topologies.model.topology import Topology
from topologies.pinned import pinned_versions
from topologies.products import ENTRIES
from topologies.render.xml import SPRING
from topologies.runtimes.prepared import render_for_topics

CLASSIC_ENTRIES = tuple(entry for entry in ENTRIES if build(entry).flavour == "classic")
CORE = "{http://activemq.apache.org/schema/core}"


def broker_element(topology: Topology, name: str, site: Site | None = None) -> etree._Element:
    """Return the ``broker`` element of a broker's activemq.xml."""
    files = render(topology, topology.broker(name), site or site_of(topology))
    element = etree.fromstring(files[ACTIVEMQ_XML].encode()).find(f"{CORE}broker")
    assert element is not None
    return element


def uris(topology: Topology, name: str, tag: str, site: Site | None = None) -> list[str]:
    return [str(element.get("uri")) for element in broker_element(topology, name, site).iter(f"{CORE}{tag}")]


VARIANTS = (
    *CLASSIC_ENTRIES,
    "source-and-sink(duplex=True)",
    "hub-and-spoke(spokes=2, hub_standby=True)",
    "mesh(discovery='multicast')",
    "mesh(rebalance=True)",
    "source-and-sink(duplex=True, transport='nio+ssl')",
    "source-and-sink(transport='http')",
    "chain(links=2, bridge_temp_destinations=False)",
    "chain(static_queue='orders')",
)


GOLDEN = [
    every_feature(),
    *map(
        build,
        (
            "mesh-of-pairs(pairs=2)",
            "mesh(brokers=2, discovery='multicast')",
            "source-and-sink(duplex=True, transport='nio+ssl')",
            "source-and-sink(transport='http')",
        ),
    ),
]
"""Together these have every setting that a rendered broker can have, most of them once."""


def files_of(topology: Topology) -> Iterator[tuple[str, dict[str, str]]]:
    """Return each broker's name and rendered files."""
    return ((broker.name, render(topology, broker, site_of(topology))) for broker in topology.brokers)


@pytest.mark.parametrize("topology", GOLDEN, ids=lambda topology: topology.name)
def test_a_topology_renders_to_its_golden_files(topology: Topology) -> None:
    for broker, files in files_of(topology):
        for filename, text in files.items():
            folder = "" if filename == LOG4J2_PROPERTIES else f"{topology.name}/{broker}/"
            assert_golden(f"{folder}{filename}", text)


def test_no_golden_file_is_left_over() -> None:
    expected = {f"{topology.name}/{broker.name}" for topology in GOLDEN for broker in topology.brokers}
    assert {str(path.parent.relative_to(FOLDER)) for path in FOLDER.rglob(ACTIVEMQ_XML)} == expected


@pytest.mark.parametrize("entry", VARIANTS)
def test_an_entry_has_no_setting_that_is_in_no_golden_file(entry: str) -> None:
    golden = {setting for topology in GOLDEN for _, files in files_of(topology) for setting in settings_in(files)}
    for broker, files in files_of(build(entry)):
        assert settings_in(files) - golden == set(), broker


@pytest.mark.parametrize("entry", VARIANTS)
def test_a_catalogue_entry_is_valid_by_the_brokers_own_schema(entry: str, classic_schema: etree.XMLSchema) -> None:
    topology = build(entry)
    for broker in topology.brokers:
        classic_schema.assertValid(broker_element(topology, broker.name))


def test_what_the_catalogue_does_not_use_is_valid_by_the_brokers_own_schema(classic_schema: etree.XMLSchema) -> None:
    for broker in every_feature().brokers:
        classic_schema.assertValid(broker_element(every_feature(), broker.name))


@settings(max_examples=60, deadline=None)
@given(topology=topologies())
def test_any_topology_is_valid_by_the_brokers_own_schema(topology: Topology, classic_schema: etree.XMLSchema) -> None:
    for broker in topology.brokers:
        classic_schema.assertValid(broker_element(topology, broker.name))


@pytest.mark.parametrize("version", pinned_versions("activemq-classic")[1:])
def test_what_is_rendered_is_valid_by_the_schema_of_each_older_version(version: str) -> None:
    schema = activemq_xsd(version)
    for topology in (*map(build, VARIANTS), every_feature()):
        for broker in topology.brokers:
            schema.assertValid(broker_element(topology, broker.name, replace(site_of(topology), version=version)))


@pytest.mark.parametrize("version", ["5.16.6", "5.15.0"])
def test_before_5_17_the_log_is_configured_for_log4j_1(version: str) -> None:
    single = build("single")
    files = render(single, single.brokers[0], replace(site_of(single), version=version))
    assert list(files) == [ACTIVEMQ_XML, LOG4J_PROPERTIES]
    assert_golden(LOG4J_PROPERTIES, files[LOG4J_PROPERTIES])


@pytest.mark.parametrize("version", ["", "5.18.3", "5.17.0-SNAPSHOT", "6.2.0", "own"])
def test_since_5_17_and_for_a_version_that_is_no_number_it_is_log4j_2(version: str) -> None:
    single = build("single")
    files = render(single, single.brokers[0], replace(site_of(single), version=version))
    assert list(files) == [ACTIVEMQ_XML, LOG4J2_PROPERTIES]


def test_the_schema_refuses_an_attribute_that_does_not_exist(classic_schema: etree.XMLSchema) -> None:
    element = broker_element(build("single"), "broker-1")
    element.set("brokerNam", "misspelt")
    assert not classic_schema.validate(element)


@pytest.mark.parametrize(
    ("model", "tables", "rendered_otherwise"),
    [
        (
            Broker,
            (names.BROKER, names.SYSTEM_USAGE),
            "name broker_name region standby_of connectors policies persistence memory_percent_of_heap"
            " memory_limit_bytes store_limit_bytes temp_limit_bytes trace_broker_path users jvm",
        ),
        (KahaDb, (names.KAHADB, names.STORE_LOCK), ""),
        (
            TransportConnector,
            (names.TRANSPORT_CONNECTOR, names.LISTENING, *names.LISTENING_BY.values()),
            "protocol transport update_cluster_filter published_host transport_options",
        ),
        (DestinationPolicy, (names.POLICY,), "pattern kind dead_letters bridge_filter"),
        (DeadLetters, (names.DEAD_LETTERS,), "kind queue"),
        (BridgeFilter, (names.BRIDGE_FILTER,), ""),
        (StaticDiscovery, (names.STATIC_DISCOVERY,), ""),
        (FailoverDiscovery, (names.FAILOVER_DISCOVERY,), ""),
        (MulticastDiscovery, (names.MULTICAST_DISCOVERY,), "address port group"),
        (
            NetworkConnector,
            (names.NETWORK_CONNECTOR, names.NETWORK_TTL, names.NETWORK_CONNECTOR_LISTS),
            "opened_by to user_name impairment discovery destination_filter max_inactivity_ms",
        ),
    ],
)
def test_no_field_of_the_model_is_forgotten(
    model: type, tables: tuple[dict[str, str], ...], rendered_otherwise: str
) -> None:
    named = [field for table in tables for field in table if field != "own_name"] + rendered_otherwise.split()
    assert sorted(named) == sorted(field.name for field in dataclasses.fields(model))


def test_secrets_are_placeholders_only() -> None:
    text = render(build("mesh"), Broker("broker-1"), site_of(build("mesh")))[ACTIVEMQ_XML]
    element = broker_element(build("mesh"), "broker-1")
    written = {
        value
        for part in element.iter()
        for name, value in part.attrib.items()
        if "password" in name.lower() or "username" in name.lower()
    }
    assert written == {f"${{{key}}}" for key in SECRET_KEYS}
    assert "file:${brokerbench.secrets}" in text


def test_every_port_binds_to_the_host_of_the_site() -> None:
    ports = {("broker-1", "openwire"): 1, ("broker-1", "stomp"): 2, ("broker-1", "amqp"): 3}
    site = Site(ports=ports, bind_host="127.0.0.9")
    heads = [uri.partition("?")[0] for uri in uris(build("single"), "broker-1", "transportConnector", site)]
    assert heads == ["tcp://127.0.0.9:1", "stomp://127.0.0.9:2", "amqp://127.0.0.9:3"]


def test_a_link_calls_the_other_brokers_openwire_port_by_the_host_brokers_know_it_by() -> None:
    topology = build("source-and-sink")
    ports = {(name, protocol): 5 for name in ("source", "sink") for protocol in ("openwire", "stomp", "amqp")}
    site = Site(ports=ports | {("sink", "openwire"): 61616}, bind_host="0.0.0.0", hosts={"sink": "sink.internal"})
    assert uris(topology, "source", "networkConnector", site)[0].startswith("static:(tcp://sink.internal:61616?")
    assert uris(topology, "sink", "networkConnector", site) == []


def test_a_proxied_link_calls_its_proxy() -> None:
    topology = build("source-and-sink")
    site = dataclasses.replace(site_of(topology), link_addresses={("source-to-sink", "sink"): "127.0.0.1:7777"})
    assert uris(topology, "source", "networkConnector", site)[0].startswith("static:(tcp://127.0.0.1:7777?")


def test_a_link_calls_its_end_by_what_that_listens_for() -> None:
    (secure,) = uris(build("source-and-sink(transport='auto+ssl')"), "source", "networkConnector")
    assert secure.startswith("static:(ssl://127.0.0.1:")
    assert "socket.verifyHostName=true)?" in secure
    (http,) = uris(build("source-and-sink(transport='http')"), "source", "networkConnector")
    assert http.split("?")[0].startswith("static:(http://127.0.0.1:")
    assert ")" in http.split("?")[0]


def test_both_ends_of_a_secure_link_are_told_of_their_certificates_and_no_others() -> None:
    secure, plain = build("source-and-sink(transport='ssl')"), build("source-and-sink(transport='nio')")
    for name in ("source", "sink"):
        (context,) = broker_element(secure, name).findall(f"{CORE}sslContext/{CORE}sslContext")
        assert context.get("keyStorePassword") == "${brokerbench.keystore.password}"
        assert context.get("trustStore") == "file:${brokerbench.truststore}"
        assert broker_element(plain, name).find(f"{CORE}sslContext") is None


def telling(topology: Topology, name: str, site: Site | None = None) -> list[str | None]:
    connectors = broker_element(topology, name, site).iter(f"{CORE}transportConnector")
    return [element.get("discoveryUri") for element in connectors if element.get("name") == "openwire"]


def test_who_is_looked_for_by_multicast_tells_in_the_group_that_is_listened_to() -> None:
    topology = build("mesh(brokers=2, discovery='multicast')")
    (listening,) = uris(topology, "broker-1", "networkConnector")
    (discovery_uri,) = telling(topology, "broker-2")
    port = site_of(topology).port("broker-2", "openwire")
    start = (
        f"multicast://239.255.2.3:6155?group=broker-2-{port}&joinNetworkInterface=lo&networkInterface=lo&timeToLive=1"
    )
    assert listening.startswith(start)
    assert discovery_uri
    assert discovery_uri.startswith(start)
    assert listening.endswith("&discovered.wireFormat.maxInactivityDuration=30000")
    assert telling(topology, "broker-1") == [None]


def test_multicast_beyond_loopback_goes_where_the_system_sends_it() -> None:
    topology = build("mesh(brokers=2, discovery='multicast')")
    site = dataclasses.replace(site_of(topology), bind_host="0.0.0.0")
    assert "nterface" not in uris(topology, "broker-1", "networkConnector", site)[0]


def through_proxies(topology: Topology) -> Site:
    """Return a site where each link reaches each broker that it may call through a separate proxy port."""
    called = [(link.name, broker.name) for link in topology.links for broker in link.called(topology.brokers)]
    addresses = {call: f"127.0.0.1:{7001 + n}" for n, call in enumerate(called)}
    return dataclasses.replace(site_of(topology), link_addresses=addresses)


def test_multicast_announces_each_links_proxy_separately(
    classic_schema: etree.XMLSchema,
) -> None:
    """Each link has its own discovery group."""
    topology = build("mesh(discovery='multicast')")
    site = through_proxies(topology)
    called_broker = topology.brokers[-1]  # by both links, which the other brokers open
    assert_golden(
        f"multicast-through-proxies/{called_broker.name}.xml", render(topology, called_broker, site)[ACTIVEMQ_XML]
    )
    for broker in topology.brokers:
        element = broker_element(topology, broker.name, site)
        etree.strip_elements(element, f"{{{SPRING}}}*")  # the broker's schema does not cover these
        classic_schema.assertValid(element)
    for link in ("broker-1-to-broker-3", "broker-2-to-broker-3"):
        looked = next(uri for uri in uris(topology, link[:8], "networkConnector", site) if f"group={link}-" in uri)
        end = topology.broker("broker-3")
        assert isinstance(end, Broker)
        assert looked.startswith(proxied_announcements(topology, end, site)[link][0])


def test_no_connector_tells_the_address_of_a_broker_whose_links_go_through_proxies() -> None:
    topology = build("mesh(discovery='multicast')")
    assert telling(topology, "broker-3") != [None]
    assert telling(topology, "broker-3", through_proxies(topology)) == [None]


def test_a_standby_tells_its_own_proxy_in_its_actives_group() -> None:
    client, active, standby = Broker("client"), Broker("active"), Broker("standby", standby_of="active")
    link = NetworkConnector(opened_by=client, to=active, discovery=MulticastDiscovery())
    topology = Topology("pair", (client, active, standby), (link,), (), CLASSIC)
    site = through_proxies(topology)
    groups, addresses = zip(
        *(proxied_announcements(topology, broker, site)[link.name] for broker in (active, standby)), strict=True
    )
    assert len(set(groups)) == 1
    assert addresses == ("tcp://127.0.0.1:7001", "tcp://127.0.0.1:7002")


def test_the_failover_transport_calls_the_end_and_its_standby(classic_schema: etree.XMLSchema) -> None:
    client, active, standby = Broker("client"), Broker("active"), Broker("standby", standby_of="active")
    link = NetworkConnector(client, active, discovery=FailoverDiscovery(randomize=False, max_reconnect_attempts=0))
    topology = Topology("pair", (client, active, standby), (link,), (), CLASSIC)
    (uri,) = uris(topology, "client", "networkConnector")
    inner = "?wireFormat.maxInactivityDuration=30000"
    assert uri == (
        f"static:(failover:(tcp://127.0.0.1:40003{inner},tcp://127.0.0.1:40006{inner})?initialReconnectDelay=10"
        "&maxReconnectDelay=30000&useExponentialBackOff=true&maxReconnectAttempts=0&randomize=false)"
    )
    classic_schema.assertValid(broker_element(topology, "client"))
    (short,) = uris(topology, "client", "networkConnector", dataclasses.replace(site_of(topology), unset_defaults=True))
    assert (
        short
        == "static:(failover:(tcp://127.0.0.1:40003,tcp://127.0.0.1:40006)?maxReconnectAttempts=0&randomize=false)"
    )


@pytest.mark.parametrize(("attempts", "warned"), [(-1, True), (3, True), (0, False)])
def test_a_transport_that_connects_again_below_its_bridge_is_warned_about(attempts: int, warned: bool) -> None:
    link = NetworkConnector(Broker("a"), Broker("b"), discovery=FailoverDiscovery(max_reconnect_attempts=attempts))
    topology = Topology("pair", (link.opened_by, link.to), (link,), (), CLASSIC)
    assert any("write max_reconnect_attempts: 0" in warning for warning in topology.warnings) == warned


def test_connectors_are_in_the_order_of_the_links() -> None:
    connectors = broker_element(build("mesh"), "broker-1").iter(f"{CORE}networkConnector")
    assert [element.get("name") for element in connectors] == ["broker-1-to-broker-2", "broker-1-to-broker-3"]


def test_brokers_of_a_group_have_one_connector_each_and_announce_themselves_there(
    classic_schema: etree.XMLSchema,
) -> None:
    topology = build("mesh(discovery='group')")
    for broker in topology.brokers:
        element = broker_element(topology, broker.name)
        classic_schema.assertValid(element)
        (connector,) = element.iter(f"{CORE}networkConnector")
        assert (connector.get("name"), connector.get("duplex")) == ("default", "false")
        assert "group=default-40000&" in str(connector.get("uri"))
        (announced,) = filter(None, telling(topology, broker.name))
        assert announced.partition("?")[2].startswith("group=default-40000&")


@pytest.mark.parametrize("unset", [False, True])
def test_a_network_ttl_is_written_instead_of_both_ttls(unset: bool, classic_schema: etree.XMLSchema) -> None:
    link = NetworkConnector(Broker("a"), Broker("b"), network_ttl=5)
    topology = Topology("ttl", (link.opened_by, link.to), (link,), (), CLASSIC)
    site = dataclasses.replace(site_of(topology), unset_defaults=unset)
    element = broker_element(topology, "a", site)
    classic_schema.assertValid(element)
    (connector,) = element.iter(f"{CORE}networkConnector")
    assert connector.get("networkTTL") == "5"
    assert {"messageTTL", "consumerTTL"}.isdisjoint(connector.attrib)
    assert (link.message_ttl, link.consumer_ttl) == (5, 5)


def test_a_link_to_a_broker_with_a_standby_tries_both() -> None:
    client, active, standby = Broker("client"), Broker("active"), Broker("standby", standby_of="active")
    topology = Topology(
        "pair",
        (client, active, standby),
        (NetworkConnector(opened_by=client, to=active),),
        (ClientGroup("producers", (client,)), ClientGroup("consumers", (active,))),
        CLASSIC,
    )
    (uri,) = uris(topology, "client", "networkConnector")
    inner = "?wireFormat.maxInactivityDuration=30000"
    assert uri.startswith(f"masterslave:(tcp://127.0.0.1:40003{inner},tcp://127.0.0.1:40006{inner})?")


def store_of(element: etree._Element) -> str:
    return str(next(element.iter(f"{CORE}kahaDB")).get("directory"))


def test_a_standby_waits_for_the_store_of_its_active() -> None:
    topology = build("active-standby")
    assert store_of(broker_element(topology, "broker-1")) == "${activemq.data}/kahadb"
    assert store_of(broker_element(topology, "broker-1-standby")) == "${brokerbench.store}/kahadb"


def test_a_standby_opens_the_links_of_its_active() -> None:
    topology = build("hub-and-spoke(hub_standby=True)")
    assert uris(topology, "hub-standby", "networkConnector") == uris(topology, "hub", "networkConnector") != []


def test_a_broker_without_a_store_keeps_messages_in_memory() -> None:
    element = broker_element(every_feature(), "right")
    assert element.get("persistent") == "false"
    assert element.find(f"{CORE}persistenceAdapter") is None


def test_the_path_is_stamped_unless_that_is_switched_off() -> None:
    left, right = (broker_element(every_feature(), name) for name in ("left", "right"))
    (plugin,) = left.iter(f"{CORE}traceBrokerPathPlugin")
    assert plugin.get("stampProperty") == BROKER_PATH_PROPERTY
    assert not list(right.iter(f"{CORE}traceBrokerPathPlugin"))


def test_topic_loads_have_no_broker_path_plugin() -> None:
    """The plugin would change messages that other subscribers get, too."""
    topology = build("single")
    files = render_for_topics(topology, topology.broker("broker-1"), site_of(topology))
    assert "traceBrokerPathPlugin" not in files[ACTIVEMQ_XML]


def test_the_published_host_is_spelt_as_the_brokers_enumeration() -> None:
    """The property editor accepts only capitals. The schema does not know that, but Spring rejects the file."""
    strategies = {policy.get("publishedHostStrategy") for policy in broker_element(build("single"), "broker-1").iter()}
    assert strategies == {None, "IPADDRESS"}


def test_names_from_outside_are_escaped_by_the_xml_library() -> None:
    broker = Broker("only", policies=(DestinationPolicy('a"b<c>&d'),))
    topology = Topology("odd", (broker,), (), (ClientGroup("anybody", (broker,)),), CLASSIC)
    entry = next(broker_element(topology, "only").iter(f"{CORE}policyEntry"))
    assert entry.get("queue") == 'a"b<c>&d'


def test_a_site_without_a_needed_port_says_which() -> None:
    with pytest.raises(KeyError, match="no port for stomp on broker 'broker-1'"):
        render(build("single"), Broker("broker-1"), Site(ports={("broker-1", "openwire"): 1}))
