"""Compares docs/topology-fields.md with the model: every field of a topology file, with its default."""

import dataclasses
import json
from pathlib import Path

import pytest

from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import Acceptor, ArtemisBroker, HaPolicy, Journal
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterConnection, ClusterLink, Mirror
from topologies.artemis.router import Router
from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import MulticastDiscovery, NetworkConnector, StaticDiscovery
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.client_groups import ClientGroup
from topologies.model.jvm import Jvm

PAGE = (Path(__file__).parents[2] / "docs" / "topology-fields.md").read_text(encoding="utf-8")
SECTIONS = {
    "Client groups": ClientGroup,
    "Classic: brokers": Broker,
    "Connectors": TransportConnector,
    "Policies": DestinationPolicy,
    "Dead letters": DeadLetters,
    "Bridge filter": BridgeFilter,
    "Store": KahaDb,
    "Classic: links": NetworkConnector,
    "Static discovery": StaticDiscovery,
    "Multicast discovery": MulticastDiscovery,
    "Artemis: brokers": ArtemisBroker,
    "Acceptors": Acceptor,
    "Address settings": AddressSetting,
    "Addresses": Address,
    "Journal": Journal,
    "High availability": HaPolicy,
    "Routers": Router,
    "Artemis: AMQP connections": BrokerConnection,
    "Senders, receivers, peers": AddressMatch,
    "Mirror": Mirror,
    "Artemis: cluster links": ClusterLink,
    "Cluster": ClusterConnection,
    "JVM": Jvm,
}
MAPPINGS = ("transport_options", "properties")
SIGNS = ("", "#", ">")  # what YAML would not read as a text without quotes


def documented(field: "dataclasses.Field[object]") -> str:
    """A field as the page writes it: ``duplex: false``, or its name alone where it has no default."""
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}: …"
    if field.default is dataclasses.MISSING:
        return field.name
    return f"{field.name}: {_written(field.name, field.default)}"


def _written(name: str, value: object) -> str:
    if value == ():
        return "{}" if name in MAPPINGS else "[]"
    if isinstance(value, tuple):
        return "…"
    return value if isinstance(value, str) and value not in SIGNS else json.dumps(value)


def section(heading: str) -> str:
    _, separator, text = PAGE.partition(f"# {heading}\n")
    assert separator, heading
    return text.partition("\n#")[0]


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_field_is_there_with_its_default(heading: str) -> None:
    text = section(heading)
    fields = map(documented, dataclasses.fields(SECTIONS[heading]))
    assert [field for field in fields if f"`{field}`" not in text] == []


def test_every_section_is_compared() -> None:
    assert [line.lstrip("# ") for line in PAGE.splitlines() if line.startswith("##")] == list(SECTIONS)
