"""Checks the CloudFormation templates: they are valid, match the topology and contain no password."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lxml import etree

from brokerbench.cli import main
from brokerbench.rendering import write_files
from tests.topologies.golden_files import assert_golden
from topologies.catalogue.lookup import build
from topologies.classic.amazon_mq import templates
from topologies.classic.amazon_mq_permitted import PERMITTED, permitted
from topologies.classic.broker import Broker, KahaDb
from topologies.classic.policies import DEFAULT_POLICIES, BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import ENTRIES

CLASSIC_ENTRIES = [name for name in ENTRIES if build(name).flavour == "classic"]
CORE = "{http://activemq.apache.org/schema/core}"
EAST = {"BridgeUsername": "bridge", "Broker4OpenWireEndpoints": "ssl://four.example.com:61617"}


def read(topology: Topology) -> dict[str, Any]:
    """Every template, by its file."""
    return {name: json.loads(text) for name, text in templates(topology).items()}


def only(entry: str) -> dict[str, Any]:
    (template,) = read(build(entry)).values()
    return dict(template)


def resolved(value: Any, parameters: dict[str, str]) -> str:
    """What CloudFormation would make of an expression; a broker's endpoints are ``ssl://ITS-ID:61617``."""
    if isinstance(value, str):
        return value
    ((function, argument),) = value.items()
    if function == "Ref":
        return parameters[argument]
    if function == "Fn::If":
        endpoints = parameters.get(f"{argument[0].removeprefix('Has')}OpenWireEndpoints")
        return resolved(argument[1 if endpoints else 2], parameters)
    if function == "Fn::GetAtt":
        return f"ssl://{argument[0]}:61617"
    assert function == "Fn::Join"
    separator, parts = argument
    if isinstance(parts, dict):
        return resolved(parts, parameters)
    return separator.join(resolved(part, parameters) for part in parts)


def connectors(template: dict[str, Any], broker: str, parameters: dict[str, str] | None = None) -> list[dict[str, str]]:
    data = template["Resources"][f"{broker}Configuration"]["Properties"]["Data"]["Fn::Base64"]
    text = resolved(data, parameters or {"BridgeUsername": "bridge"})
    return [dict(link.attrib) for link in etree.fromstring(text.encode()).iter(f"{CORE}networkConnector")]


def lint(*files: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--", *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_cfn_lint_takes_every_template_of_the_catalogue(tmp_path: Path) -> None:
    for entry in CLASSIC_ENTRIES:
        write_files(templates(build(entry)), tmp_path)
    files = sorted(map(str, tmp_path.iterdir()))
    assert len(files) == len(CLASSIC_ENTRIES) + 3  # those of two regions have two
    linted = lint(*files)
    assert (linted.stdout, linted.returncode) == ("", 0)


def test_the_command_writes_templates_that_cfn_lint_takes_and_no_password(tmp_path: Path) -> None:
    arguments = ["render", "cross-region-mesh", "--to", "amazon-mq", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    files = sorted(map(str, tmp_path.iterdir()))
    assert [Path(file).name for file in files] == [f"cross-region-mesh-region-{n}.template.json" for n in (1, 2)]
    assert sorted(result.stdout.splitlines()) == files
    linted = lint(*files)
    assert (linted.stdout, linted.returncode) == ("", 0)
    for text in map(str.lower, (Path(file).read_text("utf-8") for file in files)):
        assert "noecho" in text
        assert not re.findall(r'"password":\s*"|\bpassword\s*=', text), "a password would be text, not a Ref"


def test_cfn_lint_would_find_a_mistake(tmp_path: Path) -> None:
    text = next(iter(templates(build("single")).values())).replace('"DeploymentMode": "SINGLE_INSTANCE",', "")
    (tmp_path / "broken.template.json").write_text(text, "utf-8")
    assert "DeploymentMode" in lint(str(tmp_path / "broken.template.json")).stdout


def test_a_template_is_what_it_was() -> None:
    for name, text in templates(build("cross-region-mesh")).items():
        assert_golden(f"amazon-mq/{name}", text)


@pytest.mark.parametrize("entry", CLASSIC_ENTRIES)
def test_passwords_are_parameters_that_are_not_shown(entry: str) -> None:
    for template in read(build(entry)).values():
        for parameter in ("ClientPassword", "BridgePassword"):
            assert template["Parameters"][parameter]["NoEcho"] is True
            assert "Default" not in template["Parameters"][parameter]
        for resource in template["Resources"].values():
            for user in resource["Properties"].get("Users", ()):
                assert set(user["Password"]) == {"Ref"}
        assert "password=" not in json.dumps(template)


@pytest.mark.parametrize("entry", CLASSIC_ENTRIES)
def test_every_configuration_is_valid_by_the_brokers_own_schema(entry: str, classic_schema: etree.XMLSchema) -> None:
    """Amazon MQ fills in some settings, but the written configuration must still be valid for ActiveMQ."""
    parameters = {"BridgeUsername": "bridge"}
    for template in read(build(entry)).values():
        parameters |= {name: "ssl://elsewhere:61617" for name in template["Parameters"] if name.endswith("Endpoints")}
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::AmazonMQ::Configuration":
                text = resolved(resource["Properties"]["Data"]["Fn::Base64"], parameters)
                classic_schema.assertValid(etree.fromstring(text.encode()))


def test_links_lead_to_the_others_endpoints_under_the_common_user() -> None:
    (link,) = connectors(only("source-and-sink"), "Source")
    assert link["uri"] == "static:(ssl://Sink:61617)"
    assert link["userName"] == "bridge"
    assert (link["messageTTL"], link["duplex"]) == ("1", "false")
    assert connectors(only("source-and-sink"), "Sink") == []


def test_a_pair_is_one_broker_that_is_called_by_masterslave() -> None:
    template = only("mesh-of-pairs(pairs=2)")
    brokers = [resource for resource in template["Resources"].values() if resource["Type"] == "AWS::AmazonMQ::Broker"]
    assert [resource["Properties"]["DeploymentMode"] for resource in brokers] == ["ACTIVE_STANDBY_MULTI_AZ"] * 2
    assert [len(resource["Properties"]["SubnetIds"]) for resource in brokers] == [2, 2]
    assert [resource["uri"] for resource in connectors(template, "Broker1")] == ["masterslave:(ssl://Broker2:61617)"]


def test_clients_get_a_failover_uri_of_their_groups_brokers() -> None:
    outputs = only("hub-and-spoke(spokes=3)")["Outputs"]
    uri = resolved(outputs["ProducersFailoverUri"]["Value"], {})
    assert uri == "failover:(ssl://Spoke1:61617,ssl://Spoke2:61617)?randomize=true"


def test_uri_of_several_regions_reports_missing_addresses() -> None:
    templates_of_regions = read(build("cross-region-mesh"))
    west = templates_of_regions["cross-region-mesh-region-2.template.json"]["Outputs"]["ProducersFailoverUri"]
    assert west["Description"] == (
        "Of broker-4; add broker-1, broker-2, broker-3, whose addresses are outputs of other stacks"
    )
    assert "Description" not in only("mesh-of-pairs")["Outputs"]["ProducersFailoverUri"]


def test_a_link_to_another_region_waits_for_that_stacks_endpoints() -> None:
    templates_of_regions = read(build("cross-region-mesh"))
    east = templates_of_regions["cross-region-mesh-region-1.template.json"]
    assert [link["name"] for link in connectors(east, "Broker1")] == [
        "broker-1-to-broker-2",
        "broker-1-to-broker-3",
    ]
    uris = [link["uri"] for link in connectors(east, "Broker1", EAST)]
    assert uris[-1] == "static:(ssl://four.example.com:61617)"
    west = templates_of_regions["cross-region-mesh-region-2.template.json"]
    assert sorted(name for name in west["Parameters"] if name.endswith("Endpoints")) == [
        "Broker2OpenWireEndpoints",
        "Broker3OpenWireEndpoints",
    ]


def test_brokers_in_a_circle_get_their_configurations_afterwards() -> None:
    """CloudFormation rejects resources that wait for each other."""
    ring, mesh = only("ring"), only("mesh")
    assert "Broker1Association" in ring["Resources"]
    assert "Configuration" not in ring["Resources"]["Broker1"]["Properties"]
    assert ring["Outputs"]["RebootNeeded"]["Value"] == "broker-1,broker-2,broker-3,broker-4"
    assert "Configuration" in mesh["Resources"]["Broker1"]["Properties"]
    assert "RebootNeeded" not in mesh["Outputs"]


A = Broker("a")


def topology_of(broker: Broker) -> Topology:
    return Topology("t", (broker,), (), (ClientGroup("g", (broker,)),), CLASSIC)


def test_what_is_permitted_and_not_at_its_default_is_written() -> None:
    store = KahaDb(concurrent_store_and_dispatch_queues=False)
    openwire = TransportConnector("openwire", update_cluster_clients=True)
    busy = replace(A, persistence=store, connectors=(openwire,), network_connector_start_async=True)
    ((_, template),) = read(topology_of(busy)).items()
    text = resolved(template["Resources"]["AConfiguration"]["Properties"]["Data"]["Fn::Base64"], {})
    assert 'networkConnectorStartAsync="true"' in text
    assert 'concurrentStoreAndDispatchQueues="false"' in text
    assert 'updateClusterClients="true"' in text
    assert "rebalanceClusterClients" not in text


def test_a_broker_that_is_declared_without_openwire_has_it_there_all_the_same() -> None:
    ((_, template),) = read(topology_of(replace(A, connectors=(TransportConnector("stomp"),)))).items()
    assert "OpenWireEndpoints" in json.dumps(template["Outputs"]["GFailoverUri"])


REPLAYING = "mesh(message_ttl=3, replay=True)"
COLLECTIONS = frozenset(
    [
        "destinationPolicy",
        "policyMap",
        "policyEntries",
        "deadLetterStrategy",
        "deadLetterQueue",
        "networkBridgeFilterFactory",
        "networkConnectors",
        "persistenceAdapter",
        "transportConnectors",
        "excludedDestinations",
        "dynamicallyIncludedDestinations",
        "staticallyIncludedDestinations",
        "systemUsage",
    ]
)


def texts(topology: Topology) -> Iterator[str]:
    """Yield each configuration, as CloudFormation would complete it."""
    for template in read(topology).values():
        parameters = {name: "ssl://elsewhere:61617" for name in template["Parameters"] if name.endswith("Endpoints")}
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::AmazonMQ::Configuration":
                data = resource["Properties"]["Data"]["Fn::Base64"]
                yield resolved(data, parameters | {"BridgeUsername": "bridge"})


def unpermitted(text: str) -> list[str]:
    """Return the elements and attributes of a configuration that AWS's schema does not permit."""
    found = []
    for element in etree.fromstring(text.encode()).iter():
        name = etree.QName(element).localname
        if name not in PERMITTED and name not in COLLECTIONS:
            found.append(name)
        found += [f"{name}@{key}" for key in element.attrib if name in PERMITTED and key not in permitted(name)]
    return found


@pytest.mark.parametrize("entry", [*CLASSIC_ENTRIES, REPLAYING])
def test_a_template_has_only_what_awss_schema_permits(entry: str) -> None:
    assert [unpermitted(text) for text in texts(build(entry))] == [[] for _ in texts(build(entry))]


def test_an_unpermitted_attribute_would_be_found() -> None:
    text = '<broker xmlns="http://activemq.apache.org/schema/core" useJmx="true"><sslContext/></broker>'
    assert unpermitted(text) == ["broker@useJmx", "sslContext"]


def test_queues_that_replay_keep_their_policy(tmp_path: Path, classic_schema: etree.XMLSchema) -> None:
    result = CliRunner().invoke(main, ["render", REPLAYING, "--to", "amazon-mq", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert lint(*map(str, tmp_path.iterdir())).stdout == ""
    for text in texts(build(REPLAYING)):
        classic_schema.assertValid(etree.fromstring(text.encode()))
        (entry,) = etree.fromstring(text.encode()).iter(f"{CORE}policyEntry")
        (bridge_filter,) = entry.iter(f"{CORE}conditionalNetworkBridgeFilterFactory")
        assert (dict(entry.attrib), dict(bridge_filter.attrib)) == ({"queue": ">"}, {"replayWhenNoConsumers": "true"})


def test_every_permitted_field_of_a_policy_is_written(classic_schema: etree.XMLSchema) -> None:
    own = DestinationPolicy(
        "orders.>",
        "queue",
        enable_audit=False,
        queue_prefetch=10,
        dead_letters=DeadLetters("individual", "DLQ", process_expired=False),
        bridge_filter=BridgeFilter(replay_when_no_consumers=True, replay_delay_ms=500),
    )
    broker = replace(A, policies=(own, *DEFAULT_POLICIES), memory_percent_of_heap=50)
    (text,) = texts(topology_of(broker))
    classic_schema.assertValid(etree.fromstring(text.encode()))
    assert unpermitted(text) == []
    for part in (
        '<policyEntry queue="orders.&gt;" queuePrefetch="10" enableAudit="false">',
        '<individualDeadLetterStrategy processExpired="false" queuePrefix="DLQ.Queue." topicPrefix="DLQ.Topic."/>',
        'replayWhenNoConsumers="true" replayDelay="500"',
        '<memoryUsage percentOfJvmHeap="50"/>',
    ):
        assert part in text


@pytest.mark.parametrize(
    ("broker", "setting"),
    [
        (replace(A, use_jmx=False), "broker 'a': use_jmx=False, but Amazon MQ does not permit it; leave it at True"),
        (
            replace(A, persistence=KahaDb(enable_ack_compaction=False)),
            "broker 'a': enable_ack_compaction=False, but Amazon MQ does not permit it; leave it at True",
        ),
    ],
)
def test_a_setting_that_the_schema_lacks_is_rejected(broker: Broker, setting: str) -> None:
    with pytest.raises(TopologyInvalid) as raised:
        templates(topology_of(broker))
    assert str(raised.value) == setting


def test_the_command_and_the_template_say_what_is_not_as_measured(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["render", "single", "--to", "amazon-mq", "--out", str(tmp_path)])
    (template,) = read(build("single")).values()
    told = [line.removeprefix("not as measured: ") for line in result.stderr.splitlines()]
    assert told == template["Metadata"]["DifferencesFromMeasuredBrokers"]
    assert [sentence.partition(":")[0] for sentence in told] == [
        "Heap and memory",
        "Disk",
        "Encryption",
        "Hops",
        "Browsing",
        "Defaults",
    ]
