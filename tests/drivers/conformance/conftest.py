"""Lists the drivers that must fulfil the driver contract. Every test of this folder runs with each protocol.

The driver of the in-memory brokers takes part in every run. Drivers of real brokers take part in the tests marked
``smoke``; the rest of the matrix is nightly.

Three protocols are spoken by both products. A test tries each of them on Classic, and one of them on Artemis too. A
test marked ``on_artemis`` names those itself: the assertions there say what differs.
"""

import zlib
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from drivers.protocols import connector_of
from drivers.stomp.frames import WINDOW_BYTES_A_MESSAGE
from tests.drivers.conformance.stages import BROKER, Connect, MemoryStage, Peer, RealStage, Stage
from tests.support.relay import Relay
from topologies.model.endpoints import Endpoint
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

CLASSIC, ARTEMIS = "single_broker", "single_artemis"
STAGES: Mapping[str, tuple[str, str]] = {
    "stomp": ("stomp", CLASSIC),
    "amqp": ("amqp", CLASSIC),
    "stomp-on-artemis": ("stomp", ARTEMIS),
    "amqp-on-artemis": ("amqp", ARTEMIS),
}
"""A protocol of real brokers is tried by one line here: its name, and the fixture that is the broker.

Java clients do not have these connections: jvm/test_loads.py checks the contract with their loads.
"""

REAL = ("stomp", "amqp", "openwire")
"""The protocols of a Classic broker, for tests of loads on separate brokers."""

DIFFERS: Mapping[str, Mapping[str, Any]] = {
    # What a lost connection held comes again unmarked 12 times of 17 (2.44.0), after a FIN and after a reset alike.
    "amqp-on-artemis": {
        "tells_returns": False,
        "tells_losses": False,
        "shares_ids": True,
        "dead_letters": "ExpiryQueue",
        "keeps_priorities": True,
    },
    "stomp-on-artemis": {
        "tells_returns": None,
        "tells_losses": False,
        "durable_selector": "AMQDurable = 'DURABLE'",
        "dead_letters": "ExpiryQueue",
        "keeps_priorities": True,
        "prefetched_bytes": WINDOW_BYTES_A_MESSAGE,
        "survives_refusals": False,
        "shares_ids": True,
    },
}
"""What Artemis makes of a protocol, where Classic does otherwise. docs/drivers.md has the same in words."""

CANNOT_BROWSE = {"stomp-on-artemis": "amqp"}
"""Which protocol looks into queues there instead."""

ALWAYS_NIGHTLY = tuple(name for name, (protocol, broker) in STAGES.items() if broker == ARTEMIS and protocol in REAL)
"""Each half is in CI: the driver on the other broker, the broker by another driver."""

KIB, MIB = 1024, 1024 * 1024
CROSSING_BYTES = (32, 300 * KIB, 3 * MIB)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    smoke = metafunc.definition.get_closest_marker("smoke") is not None
    if "stage" in metafunc.fixturenames:
        real = [pytest.param(name, marks=_marks(smoke, name)) for name in stages_of(metafunc)]
        metafunc.parametrize("stage", ["memory", *real], indirect=True)
    if "broker_stage" in metafunc.fixturenames:
        real = [pytest.param(name, marks=_marks(smoke, name)) for name in stages_of(metafunc)]
        metafunc.parametrize("broker_stage", real, indirect=True)
    if "crossing" in metafunc.fixturenames:
        cells = [
            pytest.param(
                (sends, receives),
                size,
                marks=_marks(smoke and size < 3 * MIB, sends, receives),
                id=f"{sends}:{receives}-{size}",
            )
            for sends, receives, size in crossings()
        ]
        metafunc.parametrize(("crossing", "body_bytes"), cells, indirect=["crossing"])


def stages_of(metafunc: pytest.Metafunc) -> list[str]:
    """Return `STAGES` with only one of those that are always nightly, which the test's name selects."""
    name = metafunc.function.__name__
    named = metafunc.definition.get_closest_marker("on_artemis")
    chosen = named.args if named else (ALWAYS_NIGHTLY[zlib.adler32(name.encode()) % len(ALWAYS_NIGHTLY)],)
    return [stage for stage in STAGES if stage not in ALWAYS_NIGHTLY or stage in chosen]


def crossings() -> list[tuple[str, str, int]]:
    """Each two protocols of one broker, with bodies of each size."""
    on = {broker: [name for name, (_, its) in STAGES.items() if its == broker] for broker in (CLASSIC, ARTEMIS)}
    return [cell for names in on.values() for cell in product(names, names, CROSSING_BYTES)]


def _marks(smoke: bool, *names: str) -> list[pytest.MarkDecorator]:
    in_ci = smoke and not {*ALWAYS_NIGHTLY} & {*names}
    return [pytest.mark.brokers] if in_ci else [pytest.mark.brokers, pytest.mark.nightly]


def real_stage(request: pytest.FixtureRequest, name: str) -> Iterator[RealStage]:
    protocol, broker = STAGES[name]
    runtime: Runtime = request.getfixturevalue(broker)
    scheme, _, address = runtime.endpoint(BROKER, protocol).uri.partition("://")
    host, _, port = address.partition("?")[0].rpartition(":")
    browsing = CANNOT_BROWSE.get(name)
    with Relay((host, int(port))) as relay:
        endpoint = Endpoint(BROKER, protocol, f"{scheme}://127.0.0.1:{relay.port}")
        yield RealStage(
            connector_of(protocol, Trust()),
            runtime.credentials(),
            endpoint,
            relay,
            runtime,
            looks_by=(connector_of(browsing, Trust()), runtime.endpoint(BROKER, browsing)) if browsing else None,
            **DIFFERS.get(name, {}),
        )


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "memory":
        memory = MemoryStage()
        yield memory
        memory.network.close()
    else:
        yield from real_stage(request, request.param)


@pytest.fixture
def broker_stage(request: pytest.FixtureRequest) -> Iterator[RealStage]:
    """A stage of real brokers: for what brokers in memory do not have."""
    yield from real_stage(request, request.param)


@pytest.fixture
def crossing(request: pytest.FixtureRequest) -> Iterator[tuple[Stage, Stage]]:
    """The same broker by the producer's protocol and by the consumer's."""
    producer, consumer = request.param
    for sends in real_stage(request, producer):
        for receives in real_stage(request, consumer):
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
