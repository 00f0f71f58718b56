"""Renders a topology as CloudFormation templates of Amazon MQ brokers, one template for each region.

A template has the brokers, their configurations with the network connectors, and two users for each broker: clients and
bridges. Amazon MQ itself fills in the password of a connector's ``userName``. The outputs are the clients' failover
URIs. Passwords are parameters that are not shown again. A pair of brokers is one active/standby broker of Amazon MQ.

Only settings that Amazon MQ permits (`topologies.classic.amazon_mq_permitted`) are written. Any other setting that is
not at its default is rejected.
"""

import json
from collections.abc import Iterator
from typing import Any

from topologies.classic.amazon_mq_configuration import Endpoints, configuration, differences, require_permitted
from topologies.classic.amazon_mq_permitted import ENGINE_VERSION
from topologies.classic.broker import Broker
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

Json = dict[str, Any]

DIFFERENCES = "DifferencesFromMeasuredBrokers"
"""The key below Metadata in a template with the sentences of `differences`."""

PASSWORD = {
    "Type": "String",
    "NoEcho": True,
    "MinLength": 12,
    "MaxLength": 250,
    "AllowedPattern": "[^,:=]+",
    "ConstraintDescription": "12 to 250 characters, at least 4 of them different, without comma, colon and equals sign",
}
USERNAME = {"Type": "String", "MinLength": 2, "MaxLength": 100, "AllowedPattern": "[A-Za-z0-9_.~-]+"}
PARAMETERS: Json = {
    "ClientUsername": USERNAME | {"Default": "client"},
    "ClientPassword": PASSWORD,
    "BridgeUsername": USERNAME | {"Default": "bridge"},
    "BridgePassword": PASSWORD,
    "HostInstanceType": {"Type": "String", "Default": "mq.m5.large"},
    "SubnetIds": {
        "Type": "List<AWS::EC2::Subnet::Id>",
        "Description": "At least two, in different availability zones, if the topology has pairs; otherwise one",
    },
    "SecurityGroupIds": {
        "Type": "List<AWS::EC2::SecurityGroup::Id>",
        "Description": "They must allow port 61617 between the brokers, and the clients' ports",
    },
}


def templates(topology: Topology) -> dict[str, str]:
    """Map file names to templates, one per region. Raises `TopologyInvalid` for settings that Amazon MQ lacks."""
    _require_one_user(topology)
    require_permitted(topology)
    _require_distinct(topology)
    regions = sorted({broker.region for broker in topology.brokers})
    names = {region: f"{topology.name}{'-' + region if region else ''}.template.json" for region in regions}
    return {names[region]: json.dumps(_template(topology, region), indent=2) + "\n" for region in regions}


def _require_one_user(topology: Topology) -> None:
    for link in topology.links:
        if link.user_name:
            raise TopologyInvalid(
                f"link {link.name!r} has user_name={link.user_name!r}, but a template has one user for all links, the"
                " parameter BridgeUsername; leave user_name and the brokers' users out"
            )


def _template(topology: Topology, region: str) -> Json:
    brokers = [broker for broker in topology.brokers if isinstance(broker, Broker)]
    here = [broker for broker in brokers if broker.region == region and not broker.standby_of]
    elsewhere = _called_elsewhere(topology, region)
    resources: Json = {}
    for broker in here:
        resources |= _resources(topology, broker)
    template: Json = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"Topology {topology.name}{', region ' + region if region else ''}, made by brokerbench render",
        "Metadata": {DIFFERENCES: list(differences(topology))},
        "Parameters": PARAMETERS | {_endpoints_parameter(broker): _endpoints_declared(broker) for broker in elsewhere},
    }
    if elsewhere:
        template["Conditions"] = {_condition(broker): _is_given(broker) for broker in elsewhere}
    return template | {"Resources": resources, "Outputs": dict(_outputs(topology, here))}


def _resources(topology: Topology, broker: Broker) -> Json:
    """Return the broker and its configuration.

    They are joined by an association if the broker's links form a circle with other brokers.
    """
    name = logical(broker.name)
    resources: Json = {name: {"Type": "AWS::AmazonMQ::Broker", "Properties": _broker(topology, broker)}}
    links = topology.opened_by(broker.name)
    resources[f"{name}Configuration"] = {
        "Type": "AWS::AmazonMQ::Configuration",
        "Properties": {
            "Name": _named(broker),
            "EngineType": "ACTIVEMQ",
            "EngineVersion": ENGINE_VERSION,
            "Data": {"Fn::Base64": configuration(broker, links, lambda link: _endpoints(topology, broker, link))},
        },
    }
    reference = {
        "Id": {"Ref": f"{name}Configuration"},
        "Revision": {"Fn::GetAtt": [f"{name}Configuration", "Revision"]},
    }
    if _is_in_a_circle(topology, broker):  # the broker must exist before the configurations of the others can
        association = {"Broker": {"Ref": name}, "Configuration": reference}
        resources[f"{name}Association"] = {"Type": "AWS::AmazonMQ::ConfigurationAssociation", "Properties": association}
    else:
        resources[name]["Properties"]["Configuration"] = reference
    return resources


def _broker(topology: Topology, broker: Broker) -> Json:
    paired = is_paired(topology, broker)
    subnet, other_subnet = ({"Fn::Select": [at, {"Ref": "SubnetIds"}]} for at in (0, 1))
    return {
        "BrokerName": _named(broker),
        "EngineType": "ACTIVEMQ",
        "EngineVersion": ENGINE_VERSION,
        "AutoMinorVersionUpgrade": True,
        "DeploymentMode": "ACTIVE_STANDBY_MULTI_AZ" if paired else "SINGLE_INSTANCE",
        "StorageType": "EFS" if paired else "EBS",
        "HostInstanceType": {"Ref": "HostInstanceType"},
        "PubliclyAccessible": False,
        "SubnetIds": [subnet, other_subnet] if paired else [subnet],
        "SecurityGroups": {"Ref": "SecurityGroupIds"},
        "Logs": {"General": True},
        "Users": [_user("Client"), _user("Bridge")],
    }


def _user(role: str) -> Json:
    return {"Username": {"Ref": f"{role}Username"}, "Password": {"Ref": f"{role}Password"}}


def _endpoints(topology: Topology, broker: Broker, link: Link) -> Endpoints:
    """Return a link's end as a template expression.

    It is an attribute of the other broker, or a parameter from another stack.
    """
    paired = is_paired(topology, link.to)
    if link.to.region == broker.region:
        return Endpoints({"Fn::Join": [",", {"Fn::GetAtt": [logical(link.to.name), "OpenWireEndpoints"]}]}, paired)
    return Endpoints({"Ref": _endpoints_parameter(link.to)}, paired, condition=_condition(link.to))


def _outputs(topology: Topology, here: list[Broker]) -> Iterator[tuple[str, Json]]:
    for broker in here:
        joined = {"Fn::Join": [",", {"Fn::GetAtt": [logical(broker.name), "OpenWireEndpoints"]}]}
        yield f"{logical(broker.name)}OpenWireEndpoints", {"Description": f"Of {broker.name}", "Value": joined}
    for group in topology.groups:
        entries = [broker for broker in here if broker in group.enter_at]
        if entries:
            yield (
                f"{logical(group.name)}FailoverUri",
                _description(group, entries) | {"Value": _failover_uri(group, entries)},
            )
    circular = [broker.name for broker in here if _is_in_a_circle(topology, broker)]
    if circular:
        yield (
            "RebootNeeded",
            {"Description": "They use their configuration only after a reboot", "Value": ",".join(circular)},
        )


def _description(group: ClientGroup, entries: list[Broker]) -> Json:
    """Return a description for a group with brokers in several regions: a template has only one region's addresses."""
    missing = [broker.name for broker in group.enter_at if broker not in entries and not broker.standby_of]
    if not missing:
        return {}
    own = ", ".join(broker.name for broker in entries)
    return {"Description": f"Of {own}; add {', '.join(missing)}, whose addresses are outputs of other stacks"}


def _failover_uri(group: ClientGroup, entries: list[Broker]) -> Json:
    """Return ``failover:(ssl://…:61617,…)?…``, with both addresses of each pair."""
    uris = [{"Fn::Join": [",", {"Fn::GetAtt": [logical(broker.name), "OpenWireEndpoints"]}]} for broker in entries]
    query = f"?{group.failover}" if group.failover else ""
    return {"Fn::Join": ["", ["failover:(", {"Fn::Join": [",", uris]}, f"){query}"]]}


def _called_elsewhere(topology: Topology, region: str) -> list[Broker]:
    """Return brokers in other regions to which brokers of this region open links."""
    called = (link.to for link in topology.links if link.opened_by.region == region != link.to.region)
    return [broker for broker in dict.fromkeys(called) if isinstance(broker, Broker)]


def _endpoints_declared(broker: Broker) -> Json:
    description = (
        f"OpenWire endpoints of {broker.name} in {broker.region or 'the other region'}: the output"
        f" {logical(broker.name)}OpenWireEndpoints of its stack. Leave it empty until that stack exists, then update"
    )
    return {"Type": "String", "Default": "", "Description": description}


def _is_given(broker: Broker) -> Json:
    return {"Fn::Not": [{"Fn::Equals": [{"Ref": _endpoints_parameter(broker)}, ""]}]}


def _is_in_a_circle(topology: Topology, broker: Broker) -> bool:
    """Return whether links that are opened within its region lead back to it."""
    reached: set[str] = set()
    waiting = [broker.name]
    while waiting:
        for link in topology.opened_by(waiting.pop()):
            if link.to.region == broker.region and link.to.name not in reached:
                reached.add(link.to.name)
                waiting.append(link.to.name)
    return broker.name in reached


def _require_distinct(topology: Topology) -> None:
    """Require names that differ in more than punctuation, and pairs in one region, as a pair is one broker there."""
    names_by_resource: dict[str, str] = {}
    for broker in topology.brokers:
        earlier = names_by_resource.setdefault(logical(broker.name), broker.name)
        if earlier != broker.name:
            raise TopologyInvalid(
                f"brokers {earlier!r} and {broker.name!r} are both {logical(broker.name)} in a template; rename one"
            )
        if broker.standby_of and topology.broker(broker.standby_of).region != broker.region:
            raise TopologyInvalid(
                f"broker {broker.name!r} in {broker.region!r} is a standby for {broker.standby_of!r} of another region;"
                " a pair of Amazon MQ is in one region, so give both the same"
            )


def is_paired(topology: Topology, broker: AnyBroker) -> bool:
    return any(standby.standby_of == broker.name for standby in topology.brokers)


def logical(name: str) -> str:
    """Return the CloudFormation name of a resource: ``Broker1`` for ``broker-1``."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("_", "-").replace(".", "-").split("-"))


def _named(broker: Broker) -> Json:
    return {"Fn::Sub": f"${{AWS::StackName}}-{broker.name.replace('.', '-')}"}


def _endpoints_parameter(broker: AnyBroker) -> str:
    return f"{logical(broker.name)}OpenWireEndpoints"


def _condition(broker: AnyBroker) -> str:
    return f"Has{logical(broker.name)}"
