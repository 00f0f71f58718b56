"""Do Java clients do over TLS what they do without, and tell whom they do not trust? Real brokers behind a relay."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme

from drivers import java_vm
from drivers.contract import ConnectFailed, Outcome, Refused
from drivers.protocols import connector_of
from scenarios.java_parts import find_java_parts
from tests.drivers.conformance.stages import BROKER, Peer, RealStage, queue
from tests.drivers.java_bench import Bench
from tests.support.relay import Relay
from topologies.runtimes.contract import Runtime
from topologies.trust import Trust

pytestmark = pytest.mark.brokers
java_vm.use(find_java_parts)
OURS = trustme.CA()
HERE = OURS.issue_cert("127.0.0.1")
SAYS_NOTHING = "did not answer within 10 s"  # a Core acceptor without TLS waits for more than a client's hello
TRUST = Trust(OURS.cert_pem.bytes().decode())


@dataclass(frozen=True)
class Broker:
    """A broker without TLS, and the protocol in which it is spoken to."""

    runtime: Runtime
    protocol: str

    @property
    def upstream(self) -> tuple[str, int]:
        at = self.runtime.endpoint(BROKER, self.protocol).uri.partition("://")[2].partition("?")[0]
        host, _, port = at.rpartition(":")
        return host, int(port)

    def reached(self, relay: Relay, trust: Trust = TRUST) -> RealStage:
        """The broker as it is reached by TLS."""
        endpoint = replace(self.runtime.endpoint(BROKER, self.protocol), uri=f"ssl://127.0.0.1:{relay.port}")
        return RealStage(connector_of(self.protocol, trust), self.runtime.credentials(), endpoint, relay)


@pytest.fixture(params=["openwire", pytest.param("core", marks=pytest.mark.nightly)])
def broker(request: pytest.FixtureRequest) -> Broker:
    runtime: Runtime = request.getfixturevalue("single_artemis" if request.param == "core" else "single_broker")
    return Broker(runtime, request.param)


def test_messages_cross_by_tls_and_a_body_larger_than_its_records_too(broker: Broker) -> None:
    with Relay(broker.upstream, HERE) as relay:
        client = Peer(broker.reached(relay))
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
    broker: Broker, certificate: trustme.LeafCert, trust: Trust, says: str
) -> None:
    with (
        Relay(broker.upstream, certificate) as relay,
        pytest.raises(Refused, match=rf"^broker broker-1 at 127\.0\.0\.1:\d+: its certificate is not to be .*{says}"),
    ):
        Peer(broker.reached(relay, trust))


def test_a_client_of_a_load_ends_on_a_broker_that_is_not_trusted_where_java_tries_for_ever(
    broker: Broker, tmp_path: Path
) -> None:
    with Relay(broker.upstream, HERE) as relay:
        at = f"127.0.0.1:{relay.port}"
        bench = Bench(tmp_path, {at: BROKER}, broker.runtime.credentials(), f"failover:(ssl://{at})", broker.protocol)
        with pytest.raises(Refused, match=rf"^g client 0: broker {BROKER} at {at}: its certificate is not.*--ca-file"):
            bench.client().open()
        bench.tables()


def test_a_port_without_tls_is_told_as_such(broker: Broker) -> None:
    with (
        Relay(broker.upstream) as relay,
        pytest.raises(ConnectFailed, match=SAYS_NOTHING if broker.protocol == "core" else "its port for TLS"),
    ):
        Peer(broker.reached(relay))
