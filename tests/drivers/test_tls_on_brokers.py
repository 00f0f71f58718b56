"""Checks a load over a broker's own TLS, by each protocol, and the broker names in its records.

Untrusted certificates are tested in conformance/test_ports.py and jvm/test_tls.py.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers.conformance.conftest import REAL
from tests.support.brokers import running
from tests.support.loads import UserLoad
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.classic.broker import Broker
from topologies.classic.product import CLASSIC
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
NAME, MESSAGES, BODY_BYTES = "broker-1", 200, 50_000  # a body is more than one record of TLS
SECURE = Broker(NAME, connectors=tuple(TransportConnector(protocol, transport="ssl") for protocol in REAL))


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A Classic broker that speaks nothing but TLS."""
    groups = tuple(ClientGroup(group, (SECURE,)) for group in ("producers", "consumers"))
    with running(Topology("secure", (SECURE,), (), groups, CLASSIC), tmp_path_factory.mktemp("secure")) as runtime:
        yield runtime


@pytest.mark.parametrize("protocol", REAL)
def test_a_loads_messages_cross_by_the_brokers_own_tls(secure: Runtime, protocol: str, tmp_path: Path) -> None:
    assert secure.endpoint(NAME, protocol).uri.partition("://")[0] in ("stomp+ssl", "amqps", "ssl")
    load = UserLoad(tmp_path, secure, protocol, [NAME], trust=Trust(secure.trusted_pem))
    place = queue("secure")
    load.consume(load.client("consumer"), place)
    load.produce(load.client("producer"), place, MESSAGES, BODY_BYTES).join(120)
    until(lambda: load.tally.received == load.tally.settled == MESSAGES)
    tables = load.tables()
    assert {(row["outcome"], row["broker"]) for row in tables["sends"]} == {("acked", NAME)}
    assert Counter(row["seq"] for row in tables["receipts"]) == Counter(range(MESSAGES))
    assert {row["integrity"] for row in tables["receipts"]} == {"intact"}
    assert {row["broker"] for row in tables["connections"]} == {NAME}
