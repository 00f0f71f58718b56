"""Does OpenWire over TLS do what it does without, and tell whom it does not trust? A real broker behind a relay."""

import random
from dataclasses import replace

import pytest
import trustme

from drivers import java_vm
from drivers.contract import ConnectFailed, Outcome, Refused
from drivers.openwire import OpenWireConnector
from scenarios.java_parts import find_java_parts
from tests.drivers.conformance.stages import BROKER, Peer, RealStage, queue
from tests.support.relay import Relay
from topologies.runtimes.contract import Runtime
from topologies.trust import Trust

pytestmark = pytest.mark.brokers
java_vm.use(find_java_parts)
OURS = trustme.CA()
HERE = OURS.issue_cert("127.0.0.1")
TRUST = Trust(OURS.cert_pem.bytes().decode())


def reached(runtime: Runtime, relay: Relay, trust: Trust = TRUST) -> RealStage:
    """The broker as it is reached by TLS."""
    endpoint = replace(runtime.endpoint(BROKER, "openwire"), uri=f"ssl://127.0.0.1:{relay.port}")
    return RealStage(OpenWireConnector(trust), runtime.credentials(), endpoint, relay)


def upstream(runtime: Runtime) -> tuple[str, int]:
    host, _, port = runtime.endpoint(BROKER, "openwire").uri.partition("://")[2].partition("?")[0].rpartition(":")
    return host, int(port)


def test_messages_cross_by_tls_and_a_body_larger_than_its_records_too(single_broker: Runtime) -> None:
    with Relay(upstream(single_broker), HERE) as relay:
        client = Peer(reached(single_broker, relay))
        bodies, places = [random.Random(1).randbytes(size) for size in (32, 1_000, 3_000_000)], queue("tls")
        client.listen(places)
        client.send(places, *bodies)
        client.received(3)
        assert [delivery.body for delivery in client.got] == bodies
        assert client.outcomes(3) == [Outcome.ACKED] * 3
        client.close()
        assert client.lost == []


@pytest.mark.parametrize(
    ("certificate", "trust", "says"),
    [
        (OURS.issue_cert("localhost"), TRUST, "reach it by a name that its certificate has"),
        (trustme.CA().issue_cert("127.0.0.1"), TRUST, "name that one's certificate by --ca-file"),
        (HERE, Trust(), "name that one's certificate by --ca-file"),
    ],
    ids=["another name", "a stranger", "nobody's authority"],
)
def test_a_broker_that_is_not_trusted_is_refused_at_once(
    single_broker: Runtime, certificate: trustme.LeafCert, trust: Trust, says: str
) -> None:
    with (
        Relay(upstream(single_broker), certificate) as relay,
        pytest.raises(Refused, match=rf"^broker broker-1 at 127\.0\.0\.1:\d+: its certificate is not to be .*{says}"),
    ):
        Peer(reached(single_broker, relay, trust))


def test_a_port_without_tls_is_told_as_such(single_broker: Runtime) -> None:
    with (
        Relay(upstream(single_broker)) as relay,
        pytest.raises(ConnectFailed, match="check that this is its port for TLS"),
    ):
        Peer(reached(single_broker, relay))
