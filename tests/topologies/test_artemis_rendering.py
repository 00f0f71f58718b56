"""Checks rendered Artemis brokers against golden files and the broker's own schema."""

import dataclasses
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from lxml import etree

from tests.topologies.artemis_samples import clusters_and_connections, every_artemis_feature
from tests.topologies.conftest import artemis_configuration_xsd
from tests.topologies.golden_files import FOLDER, assert_golden, settings_in
from tests.topologies.samples import site_of
from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import Acceptor, ArtemisBroker, HaPolicy, Journal
from topologies.artemis.links import BrokerConnection, ClusterConnection, ClusterLink, Mirror, unsupported_settings
from topologies.artemis.render import names
from topologies.artemis.render.broker_xml import BROKER_XML, core, listening_uri
from topologies.artemis.render.files import BROKER_PROPERTIES, ROLES, USERS
from topologies.artemis.render.links import connection_uri
from topologies.catalogue.lookup import build
from topologies.model.broker import AnyBroker
from topologies.model.site import SECRET_KEYS, SECRETS_FOLDER, Site, fill_placeholders
from topologies.model.topology import Topology
from topologies.pinned import pinned_versions
from topologies.products import ENTRIES
from topologies.runtimes.prepared import render

CORE = "{urn:activemq:core}"
OF_ONE_BROKER = (BROKER_XML, BROKER_PROPERTIES, "qdrouterd.conf")
VARIANTS = ("live-backup(ha='replication')", "senders(alternate=True)", "dual-mirror(alternate=True)")
ARTEMIS = [*(name for name in ENTRIES if build(name).flavour == "artemis"), *VARIANTS]
GOLDEN = {
    "every-artemis-feature": every_artemis_feature(),
    "live-backup": build("live-backup"),
    "live-backup-ha-replication": build("live-backup(ha='replication')"),
    "router-peer": build("router-peer"),
    "senders-alternate-True": build("senders(alternate=True)"),
}
"""By folder. Together they have every setting that a rendered broker can have, most of them once."""


def artemis_broker(topology: Topology, name: str) -> ArtemisBroker:
    broker = topology.broker(name)
    assert isinstance(broker, ArtemisBroker)
    return broker


def core_of(topology: Topology, name: str, site: Site | None = None) -> etree._Element:
    return core(topology, artemis_broker(topology, name), site or site_of(topology))


def texts(element: etree._Element, tag: str) -> list[str]:
    return [str(child.text) for child in element.iter(f"{CORE}{tag}")]


def files_of(topology: Topology, broker: AnyBroker) -> dict[str, str]:
    return render(topology, broker, site_of(topology))


@pytest.mark.parametrize("folder", GOLDEN)
def test_a_topology_renders_to_its_golden_files(folder: str) -> None:
    topology = GOLDEN[folder]
    for broker in topology.brokers:
        for filename, text in files_of(topology, broker).items():
            of_one = filename in OF_ONE_BROKER or (broker.link_users and filename in (USERS, ROLES))
            assert_golden(f"{folder}/{broker.name}/{filename}" if of_one else f"artemis/{filename}", text)


def test_no_golden_file_is_left_over() -> None:
    expected = {
        f"{folder}/{broker.name}/{filename}"
        for folder, topology in GOLDEN.items()
        for broker in topology.brokers
        for filename in files_of(topology, broker)
        if filename in OF_ONE_BROKER
    }
    golden_files = {str(path.relative_to(FOLDER)) for name in OF_ONE_BROKER for path in FOLDER.glob(f"*/*/{name}")}
    assert golden_files == expected


@pytest.mark.parametrize("entry", ARTEMIS)
def test_an_entry_has_no_setting_that_is_in_no_golden_file(entry: str) -> None:
    golden = {
        setting
        for topology in GOLDEN.values()
        for broker in topology.brokers
        for setting in settings_in(files_of(topology, broker))
    }
    for broker in build(entry).brokers:
        assert settings_in(files_of(build(entry), broker)) - golden == set(), broker.name


@pytest.mark.parametrize("entry", ARTEMIS)
def test_a_catalogue_entry_is_valid_by_the_brokers_own_schema(entry: str, artemis_schema: etree.XMLSchema) -> None:
    topology = build(entry)
    for broker in topology.brokers:
        if isinstance(broker, ArtemisBroker):
            artemis_schema.assertValid(core_of(topology, broker.name))


def test_what_the_catalogue_does_not_use_is_valid_by_the_brokers_own_schema(artemis_schema: etree.XMLSchema) -> None:
    topology = every_artemis_feature()
    for broker in topology.brokers:
        artemis_schema.assertValid(core_of(topology, broker.name))


@settings(max_examples=40, deadline=None)
@given(topology=clusters_and_connections())
def test_any_topology_is_valid_by_the_brokers_own_schema(topology: Topology, artemis_schema: etree.XMLSchema) -> None:
    for broker in topology.brokers:
        artemis_schema.assertValid(core_of(topology, broker.name))


@pytest.mark.parametrize("version", pinned_versions("activemq-artemis")[1:])
def test_what_is_rendered_is_valid_by_the_schema_of_each_older_version(version: str) -> None:
    schema = artemis_configuration_xsd(version)
    for topology in (*map(build, ARTEMIS), every_artemis_feature()):
        for broker in topology.brokers:
            if isinstance(broker, ArtemisBroker):
                schema.assertValid(core_of(topology, broker.name, replace(site_of(topology), version=version)))


@pytest.mark.parametrize(("version", "count"), [("2.40.0", 0), ("2.41.0", 1), ("2.44.0", 1), ("", 1)])
def test_a_cluster_scans_its_topology_since_2_41(version: str, count: int) -> None:
    cluster = build("cluster")
    element = core_of(cluster, "broker-1", replace(site_of(cluster), version=version))
    assert len(texts(element, "topology-scanner-attempts")) == count


def test_a_setting_unknown_to_a_version_is_reported() -> None:
    """The error names the setting, and the first version with this setting."""
    built = build("cluster")
    links = tuple(
        replace(link, cluster=replace(link.cluster, topology_scanner_attempts=5))
        for link in built.links
        if isinstance(link, ClusterLink)
    )
    refusals = ["cluster 'cluster' sets topology_scanner_attempts, which Artemis supports since 2.41"]
    assert list(unsupported_settings(replace(built, links=links), "2.40.0")) == refusals
    assert list(unsupported_settings(replace(built, links=links), "2.41.0")) == []
    assert list(unsupported_settings(built, "2.40.0")) == []


def test_the_schema_refuses_an_element_that_does_not_exist(artemis_schema: etree.XMLSchema) -> None:
    element = core_of(build("artemis-single"), "broker-1")
    etree.SubElement(element, f"{CORE}journal-typ").text = "NIO"
    assert not artemis_schema.validate(element)


@pytest.mark.parametrize(
    ("model", "tables", "rendered_otherwise"),
    [
        (
            ArtemisBroker,
            (names.BROKER,),
            "name broker_name region standby_of acceptors address_settings addresses persistence ha"
            " memory_percent_of_heap memory_limit_bytes users jvm",
        ),
        (Journal, (names.JOURNAL,), ""),
        (
            Acceptor,
            (names.ACCEPTOR, *names.ACCEPTOR_OF_A_PROTOCOL.values(), names.ACCEPTOR_PREFIXES),
            "protocol name",
        ),
        (AddressSetting, (names.ADDRESS_SETTING,), "match max_redelivery_delay_ms default_routing"),
        (Address, (), "name routing queue"),
        (ClusterConnection, (names.CLUSTER_CONNECTION,), "name"),
        (
            BrokerConnection,
            (names.BROKER_CONNECTION,),
            "opened_by to duplex message_ttl consumer_ttl user_name impairment senders receivers peers mirror"
            " alternates",
        ),
        (Mirror, (names.MIRROR,), "address_filter properties"),
        (HaPolicy, ({name: "" for table in names.HA.values() for name in table},), "kind"),
    ],
)
def test_no_field_of_the_model_is_forgotten(
    model: type, tables: tuple[dict[str, str], ...], rendered_otherwise: str
) -> None:
    given_names = [field for table in tables for field in table if field != "own_name"] + rendered_otherwise.split()
    assert sorted(given_names) == sorted(field.name for field in dataclasses.fields(model))


def test_no_user_and_no_password_is_in_a_file_but_as_a_placeholder() -> None:
    topology = build("dual-mirror")
    files = files_of(topology, topology.brokers[0])
    assert "password" not in files[BROKER_XML].lower()
    secret = "".join(text for name, text in files.items() if name.startswith(SECRETS_FOLDER))
    values = {line.partition("=")[2] for line in secret.splitlines()}
    assert values == {f"${{{key}}}" for key in SECRET_KEYS}


def test_a_template_is_filled_by_the_secrets_of_a_run() -> None:
    topology = build("mirror")
    secrets = {key: key.rpartition(".")[2] + "-of-" + key.split(".")[1] for key in SECRET_KEYS}
    files = {
        name: fill_placeholders(text, secrets)
        for name, text in files_of(topology, topology.brokers[0]).items()
        if name.startswith(SECRETS_FOLDER)
    }
    assert files[USERS] == "username-of-client=password-of-client\nusername-of-bridge=password-of-bridge\n"
    assert files[ROLES] == "clients=username-of-client\nbridges=username-of-bridge\n"
    assert files[BROKER_PROPERTIES] == (
        'AMQPConnections."broker-1-to-broker-2".user=username-of-bridge\n'
        'AMQPConnections."broker-1-to-broker-2".password=password-of-bridge\n'
    )


def test_every_port_binds_to_the_host_of_the_site() -> None:
    topology = build("artemis-single")
    site = dataclasses.replace(site_of(topology), bind_host="127.0.0.9")
    heads = [uri.partition("?")[0] for uri in texts(core_of(topology, "broker-1", site), "acceptor")]
    assert heads == [f"tcp://127.0.0.9:{port}" for port in range(40000, 40004)]


def test_clients_write_destinations_as_they_do_for_classic() -> None:
    uris = {uri for uri in texts(core_of(build("artemis-single"), "broker-1"), "acceptor")}
    (stomp,) = (uri for uri in uris if "protocols=STOMP" in uri)
    assert "anycastPrefix=/queue/;multicastPrefix=/topic/" in stomp


def test_one_port_can_serve_every_protocol() -> None:
    broker = ArtemisBroker("b", acceptors=(Acceptor("all"),))
    uri = listening_uri(broker, broker.acceptors[0], Site(ports={("b", "all"): 61616}))
    assert uri.startswith("tcp://127.0.0.1:61616?protocols=CORE,AMQP,STOMP,OPENWIRE,MQTT;")
    assert broker.listener("stomp") == "all"


def test_a_broker_publishes_the_address_at_which_the_site_has_it() -> None:
    topology = build("cluster(brokers=2)")
    site = dataclasses.replace(site_of(topology), hosts={"broker-2": "two.internal"})
    connectors = core_of(topology, "broker-1", site).find(f"{CORE}connectors")
    assert connectors is not None
    uris = {str(connector.get("name")): str(connector.text) for connector in connectors}
    assert uris == {"broker-1": "tcp://127.0.0.1:40000", "broker-2": "tcp://two.internal:40004"}


def test_members_of_a_cluster_name_each_other_and_not_themselves() -> None:
    element = core_of(build("cluster(brokers=3)"), "broker-2")
    assert texts(element, "connector-ref") == ["broker-2", "broker-1", "broker-3"]


@pytest.mark.parametrize(("name", "role"), [("broker-1", "primary"), ("broker-1-backup", "backup")])
def test_a_pair_is_joined_by_a_cluster_connection_of_its_own(name: str, role: str) -> None:
    element = core_of(build("live-backup"), name)
    assert element.find(f"{CORE}ha-policy/{CORE}shared-store/{CORE}{role}") is not None
    assert texts(element, "message-load-balancing") == ["OFF"]


def test_a_backup_works_in_its_actives_store_unless_it_has_a_copy() -> None:
    shared, copied = build("live-backup"), build("live-backup(ha='replication')")
    assert texts(core_of(shared, "broker-1"), "journal-directory") == ["${activemq.data}/journal"]
    assert texts(core_of(shared, "broker-1-backup"), "journal-directory") == ["${brokerbench.store}/journal"]
    assert texts(core_of(copied, "broker-1-backup"), "journal-directory") == ["${activemq.data}/journal"]


def test_alternates_stand_behind_the_hash() -> None:
    topology = build("senders(alternate=True)")
    (link,) = topology.links
    assert isinstance(link, BrokerConnection)
    assert connection_uri(link, site_of(topology)) == "tcp://127.0.0.1:40005#tcp://127.0.0.1:40009"


@pytest.mark.parametrize("entry", ["mirror", "dual-mirror"])
def test_every_flag_of_a_mirror_is_a_parameter_and_stands_in_the_configuration(entry: str) -> None:
    flags = {
        "message_acknowledgements": False, "queue_creation": False, "queue_removal": False, "durable": False,
        "sync": True, "address_filter": "eu,!eu.uk", "retry_interval_ms": 7, "reconnect_attempts": 3,
        "auto_start": False,
    }  # fmt: skip
    topology = build(f"{entry}({', '.join(f'{flag}={value!r}' for flag, value in flags.items())})")
    for link in topology.links:
        (connection,) = core_of(topology, link.opened_by.name).iter(f"{CORE}amqp-connection")
        (mirror,) = connection.iter(f"{CORE}mirror")
        written = {str(key): str(value) for key, value in (*connection.attrib.items(), *mirror.attrib.items())}
        assert (
            written.items()
            >= {flag.replace("_", "-").removesuffix("-ms"): str(value).lower() for flag, value in flags.items()}.items()
        )


def test_each_side_of_a_dual_mirror_goes_on_at_the_others_standby() -> None:
    topology = build("dual-mirror(alternate=True)")
    assert [broker.name for broker in topology.brokers] == ["dc-1", "dc-1-backup", "dc-2", "dc-2-backup"]
    uris = {
        str(link.name): str(connection.get("uri"))
        for link in topology.links
        for connection in core_of(topology, link.opened_by.name).iter(f"{CORE}amqp-connection")
    }
    assert all("#tcp://" in uri for uri in uris.values())
    assert core_of(topology, "dc-1-backup").find(f"{CORE}broker-connections") is not None


def test_a_proxied_link_calls_its_proxy() -> None:
    topology = build("mirror")
    site = dataclasses.replace(
        site_of(topology), link_addresses={("broker-1-to-broker-2", "broker-2"): "127.0.0.1:7777"}
    )
    (connection,) = core_of(topology, "broker-1", site).iter(f"{CORE}amqp-connection")
    assert connection.get("uri") == "tcp://127.0.0.1:7777"


def test_dead_letters_have_a_queue_to_go_to() -> None:
    element = core_of(build("artemis-single"), "broker-1")
    assert [queue.get("name") for queue in element.iter(f"{CORE}queue")] == ["DLQ", "ExpiryQueue"]


def test_receivers_have_their_queues_beforehand() -> None:
    element = core_of(build("receivers(queues='orders, prices')"), "sink")
    queues = [str(queue.get("name")) for queue in element.iter(f"{CORE}queue")]
    assert queues == ["DLQ", "ExpiryQueue", "orders", "prices", "brokerbench.canary.sink"]


def test_a_routers_queues_are_predefined_waypoints_with_peers() -> None:
    topology = build("router-peer(queues='orders, prices')")
    element, names = core_of(topology, "broker-1"), ["orders", "prices", "brokerbench.canary.router"]
    assert [str(queue.get("name")) for queue in element.iter(f"{CORE}queue")] == ["DLQ", "ExpiryQueue", *names]
    assert [str(peer.get("address-match")) for peer in element.iter(f"{CORE}peer")] == names
    (text,) = files_of(topology, topology.broker("router")).values()
    assert re.findall(r"^address \{\n    prefix: (\S+)\n    waypoint: yes\n\}", text, re.MULTILINE) == names
    assert topology.warnings == ()


def test_a_broker_without_a_store_keeps_messages_in_memory() -> None:
    element = core_of(every_artemis_feature(), "left")
    assert texts(element, "persistence-enabled") == ["false"]
    assert texts(element, "journal-type") == []


def test_a_member_of_a_cluster_announces_what_it_is_told_to_and_listens_where_it_did() -> None:
    topology = build("cluster(brokers=2)")
    site = dataclasses.replace(site_of(topology), announced={"broker-1": "localhost:1", "broker-2": "localhost:2"})
    assert texts(core_of(topology, "broker-1", site), "connector") == ["tcp://localhost:1", "tcp://localhost:2"]
    assert texts(core_of(topology, "broker-1", site), "acceptor") == texts(core_of(topology, "broker-1"), "acceptor")
