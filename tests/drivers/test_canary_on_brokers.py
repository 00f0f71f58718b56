"""Checks for every protocol that a canary proves a path on a real broker, and reports the cause if it cannot."""

import re
import socket
import time
from collections.abc import Callable

import pytest

from drivers import canary
from drivers.canary import PathsUnproven, Side
from drivers.jvm import vm
from drivers.protocols import connector_of
from harness.java_parts import find_java_parts
from tests.drivers.conformance.stages import BROKER
from tests.support.relay import Relay
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.paths import Path
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)
BROKERS = {"stomp": "single_broker", "amqp": "single_broker", "openwire": "single_broker", "core": "single_artemis"}


@pytest.fixture(params=BROKERS)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def broker(request: pytest.FixtureRequest, protocol: str) -> Runtime:
    runtime: Runtime = request.getfixturevalue(BROKERS[protocol])
    return runtime


def prove(where: Callable[[str], Endpoint], protocol: str, credentials: Credentials) -> None:
    side = Side(connector_of(protocol, Trust()), where)
    canary.prove([Path((BROKER,))], side, side, credentials, timeout_s=30)


def at(protocol: str, port: int) -> Callable[[str], Endpoint]:
    scheme = protocol if protocol in ("stomp", "amqp") else "tcp"
    return lambda broker: Endpoint(broker, protocol, f"{scheme}://127.0.0.1:{port}")


def upstream(broker: Runtime, protocol: str) -> tuple[str, int]:
    host, _, port = broker.endpoint(BROKER, protocol).uri.partition("://")[2].partition("?")[0].rpartition(":")
    return host, int(port)


def test_a_path_is_proven_again_and_again(broker: Runtime, protocol: str) -> None:
    for _ in range(2):
        prove(lambda name: broker.endpoint(name, protocol), protocol, broker.credentials())


def test_a_refused_login_is_told_with_the_broker_and_without_the_password(broker: Runtime, protocol: str) -> None:
    wrong = Credentials(broker.credentials().username, "letmein")
    with pytest.raises(PathsUnproven) as caught:
        prove(lambda name: broker.endpoint(name, protocol), protocol, wrong)
    words = str(caught.value)
    assert re.search(rf"broker {BROKER} at 127\.0\.0\.1:\d+ refused user '{wrong.username}': .*password", words)
    assert "letmein" not in words


@pytest.mark.parametrize("hang_ups", [1, 2])
def test_a_broker_that_hangs_up_on_a_login_is_asked_again_for_its_reason(single_broker: Runtime, hang_ups: int) -> None:
    # A real one does so now and then: it stops a connection that it refuses, and has not wholly started, at once.
    wrong = Credentials(single_broker.credentials().username, "letmein")
    relaying = Relay(upstream(single_broker, "openwire"), hang_ups=hang_ups)
    with relaying as relay, pytest.raises(PathsUnproven, match="password is invalid"):
        prove(at("openwire", relay.port), "openwire", wrong)


@pytest.mark.parametrize(
    "protocol", ["stomp", "amqp", "openwire", pytest.param("core", marks=pytest.mark.nightly)], indirect=True
)
def test_a_broker_that_hangs_up_on_every_login_is_left_in_the_end(broker: Runtime, protocol: str) -> None:
    with Relay(upstream(broker, protocol), hang_ups=1_000_000) as relay, pytest.raises(PathsUnproven, match=BROKER):
        prove(at(protocol, relay.port), protocol, broker.credentials())


def test_a_broker_that_is_not_there_is_told_at_once(protocol: str) -> None:
    began_s = time.monotonic()
    with pytest.raises(PathsUnproven, match=rf"{BROKER} .*(refused|Cannot connect)"):
        prove(at(protocol, 1), protocol, Credentials("u", "p"))
    assert time.monotonic() - began_s < canary.CONNECT_TIMEOUT_S


def test_a_broker_that_does_not_answer_is_left_after_a_time_that_is_told(
    monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setattr(canary, "CONNECT_TIMEOUT_S", 2.0)
    words = rf"{BROKER} at 127\.0\.0\.1:\d+ did not answer within 2 s; .*{protocol} port"
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(PathsUnproven, match=words):
        prove(at(protocol, silent.getsockname()[1]), protocol, Credentials("u", "p"))
