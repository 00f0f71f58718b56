"""Checks that real brokers count the same client connections as the clients themselves."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.support.loads import UserLoad
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia
from topologies.management.sampling import sample
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
NAME, CLIENTS = "broker-1", 3


@pytest.mark.parametrize(
    ("fixture", "entry", "protocol"),
    [
        ("single_broker", "single", "stomp"),
        ("single_broker", "single", "openwire"),
        ("single_artemis", "artemis-single", "stomp"),
        ("single_artemis", "artemis-single", "core"),
    ],
)
def test_a_broker_counts_its_clients_while_they_are_connected_and_no_longer(
    fixture: str, entry: str, protocol: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    runtime: Runtime = request.getfixturevalue(fixture)
    load, queries = UserLoad(tmp_path, runtime, protocol, [NAME]), queries_of(build(entry), NAME)
    with closing(Jolokia(runtime.management(NAME))) as agent:

        def counted() -> tuple[int, int]:
            """Return the sampled connections of the broker without links, and of the clients' protocol."""
            values = {(row.kind, row.object, row.metric): row.value for row in sample(agent, queries)}
            return values["broker", "", "connections"], values.get(("connector", protocol, "connections"), 0)

        until(lambda: counted() == (0, 0))  # connections of earlier tests are closed
        for role in ("producer", "consumer", "consumer"):
            load.client(role)
        until(lambda: counted() == (CLIENTS, CLIENTS))
        assert load.session.connected().total() == load.tally.losses.connected == CLIENTS
        load.tables()
        until(lambda: counted() == (0, 0))
        assert load.session.connected().total() == load.tally.losses.connected == 0
