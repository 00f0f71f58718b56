"""Checks the command line of an Artemis broker, and that it contains no password."""

from dataclasses import replace
from pathlib import Path

import yaml

from brokerbench.rendering import compose_files
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.launch import arguments
from topologies.catalogue.lookup import build
from topologies.jvm.launch import JavaParts
from topologies.model.launch import BrokerFolders, BrokerPlace
from topologies.runtimes.prepared import store_of
from topologies.runtimes.release import release_of

PARTS = JavaParts(Path("/jdk/bin/java"), Path("/artemis"), Path("/agent.jar"))
PLACE = BrokerPlace(
    ArtemisBroker("hub"),
    BrokerFolders(Path("/run/brokers/hub")),
    secrets=Path("/private/broker-hub"),
    management=None,
    management_file=Path("/private/agent-hub.properties"),
    memory_mb=256,
)


def line(store: Path | None = None) -> list[str]:
    return arguments(PARTS, replace(PLACE, store=store))


def test_the_heap_neither_grows_nor_shrinks_during_a_run() -> None:
    assert line()[:3] == ["/jdk/bin/java", "-Xms256m", "-Xmx256m"]


def test_the_distributions_own_boot_jar_is_started_with_the_secrets_of_this_broker() -> None:
    assert line()[-6:] == [
        "-classpath",
        "/run/brokers/hub/conf:/artemis/lib/artemis-boot.jar",
        "org.apache.activemq.artemis.boot.Artemis",
        "run",
        "--properties",
        "/private/broker-hub/broker.properties",
    ]


def test_agent_and_broker_are_told_files_not_passwords() -> None:
    assert "-javaagent:/agent.jar=config=/private/agent-hub.properties" in line()
    assert "-Dbrokerbench.secrets=/private/broker-hub" in line()
    assert not [argument for argument in line() if "password" in argument.lower()]


def test_configuration_data_and_log_are_the_brokers_own() -> None:
    assert {
        "-Dartemis.instance.etc=/run/brokers/hub/conf",
        "-Dartemis.instance.etc.uri=file:///run/brokers/hub/conf",
        "-Dactivemq.data=/run/brokers/hub/data",
        "-Dlog4j2.configurationFile=/run/brokers/hub/conf/log4j2.properties",
        "-Djava.security.auth.login.config=/run/brokers/hub/conf/login.config",
    } <= set(line())


def test_artemis_can_write_to_its_lock_folder() -> None:
    """In a container, root owns the parent of configuration and data, no matter which user runs the broker."""
    assert "-Dartemis.instance=/run/brokers/hub/data" in line()
    for entry in ("cluster", "live-backup"):
        service = yaml.safe_load(compose_files(build(entry), 61616)["docker-compose.yml"])["services"]["broker-1"]
        assert "broker-1-data:/var/lib/artemis-instance" in service["volumes"]
        assert '"-Dartemis.instance=/var/lib/artemis-instance"' in compose_files(build(entry), 61616)["start.sh"]


def test_a_backup_is_told_where_its_actives_store_is() -> None:
    pair = build("live-backup")
    assert store_of(pair, "broker-1", lambda name: Path("/data") / name) is None
    store = store_of(pair, "broker-1-backup", lambda name: Path("/data") / name)
    assert "-Dbrokerbench.store=/data/broker-1" in line(store)


def test_a_broker_has_names_of_its_own_only_where_it_is_told_some() -> None:
    named = arguments(PARTS, replace(PLACE, hosts_file=Path("/conf/hosts")))
    assert "-Djdk.net.hosts.file=/conf/hosts" in named[: named.index("-classpath")]
    assert set(named) - set(line()) == {"-Djdk.net.hosts.file=/conf/hosts"}


def test_each_flavour_has_a_distribution_of_its_own() -> None:
    folders = {entry: release_of(build(entry)).folder for entry in ("cluster", "mesh")}  # type: ignore[attr-defined]
    assert folders == {"cluster": "apache-artemis-2.44.0", "mesh": "apache-activemq-5.18.3"}
