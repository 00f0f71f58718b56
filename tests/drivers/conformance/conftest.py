"""Which drivers keep the contract? Every test of this folder runs once for each driver that is listed here.

The driver to the brokers in memory takes part in every run, a real broker's in what is marked ``smoke``; the rest of
the matrix is nightly.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from drivers.jvm import vm
from drivers.protocols import connector_of
from drivers.stomp.frames import WINDOW_BYTES_A_MESSAGE
from scenarios.java_parts import find_java_parts
from tests.drivers.conformance.stages import BROKER, Connect, MemoryStage, Peer, RealStage, Stage
from tests.support.relay import Relay
from topologies.endpoints import Endpoint
from topologies.runtimes.contract import Runtime
from topologies.trust import Trust

vm.use(find_java_parts)


CLASSIC, ARTEMIS = "single_broker", "single_artemis"
STAGES: Mapping[str, tuple[str, str]] = {
    "stomp": ("stomp", CLASSIC),
    "amqp": ("amqp", CLASSIC),
    "openwire": ("openwire", CLASSIC),
    "core": ("core", ARTEMIS),
    "stomp-on-artemis": ("stomp", ARTEMIS),
    "amqp-on-artemis": ("amqp", ARTEMIS),
    "openwire-on-artemis": ("openwire", ARTEMIS),
}
"""A protocol of real brokers is tried by one line here: its name, and the fixture that is the broker."""

REAL = tuple(protocol for protocol, broker in STAGES.values() if broker == CLASSIC)
"""What tests with brokers of their own try, which are Classic's."""

DIFFERS: Mapping[str, Mapping[str, Any]] = {
    "core": {"tells_returns": False},
    "amqp-on-artemis": {"tells_returns": False, "shares_ids": True},
    "stomp-on-artemis": {
        "tells_returns": None,
        "tells_losses": False,
        "durable_selector": "AMQDurable = 'DURABLE'",
        "prefetched_bytes": WINDOW_BYTES_A_MESSAGE,
        "survives_refusals": False,
        "shares_ids": True,
    },
}
"""What Artemis makes of a protocol, where Classic does otherwise. docs/drivers.md has the same in words."""

CANNOT_BROWSE = {"stomp-on-artemis": "amqp"}
"""Which protocol looks into queues there instead."""

ALWAYS_NIGHTLY = {name for name, (protocol, broker) in STAGES.items() if broker == ARTEMIS and protocol in REAL}
"""Each half is in CI: the driver on the other broker, the broker by another driver."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    smoke = metafunc.definition.get_closest_marker("smoke") is not None
    if "stage" in metafunc.fixturenames:
        real = [pytest.param(name, marks=_marks(smoke, name)) for name in STAGES]
        metafunc.parametrize("stage", ["memory", *real], indirect=True)
    if "crossing" in metafunc.fixturenames:
        pairs = [
            pytest.param((one, other), marks=_marks(smoke, one, other), id=f"{one}:{other}")
            for one, (_, broker) in STAGES.items()
            for other, (_, same) in STAGES.items()
            if same == broker
        ]
        metafunc.parametrize("crossing", pairs, indirect=True)


def _marks(smoke: bool, *names: str) -> list[pytest.MarkDecorator]:
    in_ci = smoke and not ALWAYS_NIGHTLY & set(names)
    return [pytest.mark.brokers] if in_ci else [pytest.mark.brokers, pytest.mark.nightly]


def real_stage(request: pytest.FixtureRequest, name: str) -> Iterator[RealStage]:
    protocol, broker = STAGES[name]
    runtime: Runtime = request.getfixturevalue(broker)
    scheme, _, address = runtime.endpoint(BROKER, protocol).uri.partition("://")
    host, _, port = address.partition("?")[0].rpartition(":")
    other = CANNOT_BROWSE.get(name)
    with Relay((host, int(port))) as relay:
        endpoint = Endpoint(BROKER, protocol, f"{scheme}://127.0.0.1:{relay.port}")
        yield RealStage(
            connector_of(protocol, Trust()),
            runtime.credentials(),
            endpoint,
            relay,
            hops_at_home=0 if broker == CLASSIC else None,
            looks_by=(connector_of(other, Trust()), runtime.endpoint(BROKER, other)) if other else None,
            **DIFFERS.get(name, {}),
        )


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "memory":
        made = MemoryStage()
        yield made
        made.network.close()
    else:
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
