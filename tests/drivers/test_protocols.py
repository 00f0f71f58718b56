"""Every protocol of the table states its failover options once, and its connector makes clients by them."""

import pytest

from drivers import protocols
from drivers.failover.uri import FailoverUri
from drivers.memory.connector import MEMORY_OPTIONS, MemoryConnector
from drivers.memory.network import MemoryNetwork
from drivers.protocols import PROTOCOLS, connector_of, unsupported
from topologies.model.trust import Trust


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "memory"])
def test_a_connector_has_the_name_and_the_options_of_its_row(protocol: str) -> None:
    connector = connector_of(protocol, Trust())
    assert connector.protocol == connector.supported_options.protocol == protocol
    assert connector.supported_options is protocols._DRIVERS[protocol].options
    assert callable(connector.client)


def test_brokers_in_memory_have_no_connector_but_that_of_their_network() -> None:
    assert MemoryConnector(MemoryNetwork(["a"])).supported_options is MEMORY_OPTIONS
    with pytest.raises(KeyError, match="the memory runtime creates it"):
        connector_of("memory", Trust())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_uri_without_options_is_supported_by_every_protocol(protocol: str) -> None:
    assert unsupported(FailoverUri.parse("failover:(tcp://a:1,tcp://b:2)"), protocol) == ()
