"""Checks the command line of a Classic broker, and that it contains no password."""

from dataclasses import replace
from pathlib import Path

import pytest

from records.errors import UserError
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.classic.broker import Broker
from topologies.classic.launch import arguments
from topologies.classic.product import CLASSIC
from topologies.jvm.java import require_taken
from topologies.jvm.launch import JavaParts, agent_properties, environment
from topologies.jvm.settings import Jvm
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.launch import BrokerFolders, BrokerPlace
from topologies.model.topology import BrokerProduct
from topologies.runtimes.containers.runtime import INSIDE, place_inside

PARTS = JavaParts(Path("/jdk/bin/java"), Path("/activemq"), Path("/agent.jar"))
PLACE = BrokerPlace(
    Broker("hub"),
    BrokerFolders(Path("/run/brokers/hub")),
    secrets=Path("/private/brokers.properties"),
    management=None,
    management_file=Path("/private/agent-hub.properties"),
    memory_mb=256,
)
OVERLAY = "brokers: {all: {jvm: {heap_mb: 1024, options: [-XX:+UseZGC, -Xss1m]}}}"


def line() -> list[str]:
    return arguments(PARTS, PLACE)


def line_with(jvm: Jvm) -> list[str]:
    return arguments(PARTS, replace(PLACE, broker=Broker("hub", jvm=jvm)))


def test_the_heap_neither_grows_nor_shrinks_during_a_run() -> None:
    assert line()[:3] == ["/jdk/bin/java", "-Xms256m", "-Xmx256m"]


def test_a_brokers_jvm_settings_override_the_runs() -> None:
    own = line_with(Jvm(1024, ("-XX:+UseZGC", "-Xss1m")))
    assert own[:5] == ["/jdk/bin/java", "-Xms1024m", "-Xmx1024m", "-XX:+UseZGC", "-Xss1m"]
    assert own[5:] == line()[3:]
    without_heap = line_with(Jvm(0, ("-Xss1m",)))
    assert without_heap[:4] == ["/jdk/bin/java", "-Xms256m", "-Xmx256m", "-Xss1m"]


def test_the_distributions_own_jar_is_started() -> None:
    assert line()[-3:] == ["-jar", "/activemq/bin/activemq.jar", "start"]


def test_agent_and_broker_are_told_files_not_passwords() -> None:
    assert "-javaagent:/agent.jar=config=/private/agent-hub.properties" in line()
    assert "-Dbrokerbench.secrets=/private/brokers.properties" in line()
    assert not [argument for argument in line() if "password" in argument.lower()]


def test_no_management_port_is_opened() -> None:
    assert not [argument for argument in line() if "jmxremote" in argument]


def test_configuration_data_and_log_are_the_brokers_own() -> None:
    assert {
        "-Dactivemq.conf=/run/brokers/hub/conf",
        "-Dactivemq.data=/run/brokers/hub/data",
        "-Dlog4j2.configurationFile=/run/brokers/hub/conf/log4j2.properties",
        "-Djava.io.tmpdir=/run/brokers/hub/data/tmp",
    } <= set(line())


def test_what_would_change_the_jvm_is_not_inherited() -> None:
    inherited = {"PATH": "/bin", "JAVA_TOOL_OPTIONS": "-Xint", "ACTIVEMQ_OPTS": "-Xmx1m", "LANG": "C"}
    assert environment(inherited) == {"PATH": "/bin", "LANG": "C", "LC_ALL": "C.UTF-8"}


def test_the_agent_listens_where_its_endpoint_says_and_does_not_answer_multicasts() -> None:
    endpoint = ManagementEndpoint("hub", "http://127.0.0.1:21003/jolokia/", "agent", "s3cret")
    assert agent_properties(endpoint).splitlines() == [
        "host=127.0.0.1",
        "port=21003",
        "user=agent",
        "password=s3cret",
        "discoveryEnabled=false",
    ]


@pytest.mark.parametrize("product", [CLASSIC, ARTEMIS], ids=["classic", "artemis"])
def test_in_a_container_it_is_the_same(product: BrokerProduct) -> None:
    topology = Overlay(Path("o.yaml"), OVERLAY).apply(
        build({"classic": "single", "artemis": "artemis-single"}[product.name])
    )
    programs = product.launch.find_in_image(Path("/opt"), INSIDE.root, lambda _line: None)
    endpoint = ManagementEndpoint("hub", "http://127.0.0.1:21003/jolokia/", "agent", "s3cret")
    place = place_inside(topology.brokers[0], endpoint, 512, tls=False, shares_store=False)
    assert programs.command(place).arguments[:5] == ["java", "-Xms1024m", "-Xmx1024m", "-XX:+UseZGC", "-Xss1m"]


@pytest.mark.java
def test_java_is_asked_before_a_run_whether_it_takes_the_options() -> None:
    require_taken(("-XX:+UseSerialGC", "-Xss1m"), "hub")
    with pytest.raises(
        UserError, match=r"^broker 'hub': jvm options -XX:\+UseNothing: Java .* does not start with them: .*UseNothing"
    ):
        require_taken(("-XX:+UseNothing",), "hub")
