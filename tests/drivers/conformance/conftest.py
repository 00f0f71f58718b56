"""Which drivers keep the contract? Every test of this folder runs once for each driver that is listed here.

The driver to the brokers in memory takes part in every run, a real broker's in what is marked ``smoke``; the rest of
the matrix is nightly.
"""

from collections.abc import Callable, Iterator, Mapping

import pytest

from drivers import java_vm
from drivers.contract import Connector
from drivers.protocols import TRANSACTED, connector_of
from scenarios.java_parts import find_java_parts
from tests.drivers.conformance.stages import BROKER, Connect, MemoryStage, Peer, RealStage, Stage
from tests.support.relay import Relay
from topologies.endpoints import Endpoint
from topologies.runtimes.contract import Runtime
from topologies.trust import Trust

java_vm.use(find_java_parts)

REAL: Mapping[str, Callable[[], Connector]] = {
    "stomp": lambda: connector_of("stomp", Trust()),
    "amqp": lambda: connector_of("amqp", Trust()),
    "openwire": lambda: connector_of("openwire", Trust()),
}
"""A protocol of real brokers is tried by one line here."""

KNOWN_DEFECTS = {("openwire", "test_consumers_of_a_queue_share_its_messages")}
"""Fail now and then, and are not mended yet (docs/drivers.md): told every night, not at each change."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    smoke = metafunc.definition.get_closest_marker("smoke") is not None
    nightly = [pytest.mark.brokers, pytest.mark.nightly]
    marks = [pytest.mark.brokers] if smoke else nightly
    defects = {protocol for protocol, test in KNOWN_DEFECTS if test == metafunc.definition.name}
    tried = [protocol for protocol in REAL if protocol in TRANSACTED or "transacting" not in metafunc.fixturenames]
    real = [pytest.param(protocol, marks=nightly if protocol in defects else marks) for protocol in tried]
    if "stage" in metafunc.fixturenames:
        metafunc.parametrize("stage", ["memory", *real], indirect=True)
    if "crossing" in metafunc.fixturenames:
        pairs = [pytest.param((one, other), marks=marks, id=f"{one}:{other}") for one in REAL for other in REAL]
        metafunc.parametrize("crossing", pairs, indirect=True)


def real_stage(runtime: Runtime, protocol: str) -> Iterator[RealStage]:
    straight = runtime.endpoint(BROKER, protocol).uri
    scheme, _, address = straight.partition("://")
    host, _, port = address.partition("?")[0].rpartition(":")
    with Relay((host, int(port))) as relay:
        endpoint = Endpoint(BROKER, protocol, f"{scheme}://127.0.0.1:{relay.port}")
        yield RealStage(REAL[protocol](), runtime.credentials(), endpoint, relay)


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "memory":
        made = MemoryStage()
        yield made
        made.network.close()
    else:
        yield from real_stage(request.getfixturevalue("single_broker"), request.param)


@pytest.fixture
def crossing(request: pytest.FixtureRequest) -> Iterator[tuple[Stage, Stage]]:
    """The same broker by the producer's protocol and by the consumer's."""
    runtime = request.getfixturevalue("single_broker")
    producer, consumer = request.param
    for sends in real_stage(runtime, producer):
        for receives in real_stage(runtime, consumer):
            yield sends, receives


@pytest.fixture
def connect(stage: Stage) -> Iterator[Connect]:
    """Opens peers of the stage, and closes them."""
    peers: list[Peer] = []

    def opened(**options: object) -> Peer:
        peers.append(Peer(stage, **options))  # type: ignore[arg-type]
        return peers[-1]

    yield opened
    for peer in peers:
        peer.close()
