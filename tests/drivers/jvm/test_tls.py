"""Checks that Java clients work over TLS, and report untrusted brokers. The brokers are real, behind a relay."""

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme

from drivers import canary
from drivers.client.contract import ProducerSettings
from drivers.contract import DriverError, Refused, Subscription
from drivers.jvm import vm
from drivers.jvm.client import JavaClient
from drivers.jvm.producer import JavaProducer
from drivers.protocols import connector_of
from harness.java_parts import find_java_parts
from tests.drivers.doubles import Control
from tests.drivers.java_bench import BROKER, RUN, JavaBench, every_ms
from tests.drivers.java_loading import classes
from tests.support.relay import Relay
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.model.endpoints import Endpoint
from topologies.model.paths import Path as Route
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)
OURS = trustme.CA()
HERE, STRANGER = OURS.issue_cert("127.0.0.1"), trustme.CA().issue_cert("127.0.0.1")
TRUST = Trust(OURS.cert_pem.bytes().decode())


@dataclass(frozen=True)
class PlainBroker:
    """A broker without TLS, and a protocol for it."""

    runtime: Runtime
    protocol: str

    @property
    def upstream(self) -> tuple[str, int]:
        at = self.runtime.endpoint(BROKER, self.protocol).uri.partition("://")[2].partition("?")[0]
        host, _, port = at.rpartition(":")
        return host, int(port)

    def bench(self, relay: Relay, folder: Path, trust: Trust = TRUST) -> JavaBench:
        """Clients that reach the broker by TLS."""
        at = f"127.0.0.1:{relay.port}"
        return JavaBench(
            folder, {at: BROKER}, self.runtime.credentials(), f"failover:(ssl://{at})", self.protocol, trust
        )


@pytest.fixture(params=["openwire", pytest.param("core", marks=pytest.mark.nightly)])
def broker(request: pytest.FixtureRequest) -> PlainBroker:
    runtime: Runtime = request.getfixturevalue("single_artemis" if request.param == "core" else "single_broker")
    return PlainBroker(runtime, request.param)


def test_messages_cross_by_tls_and_a_body_larger_than_its_records_too(broker: PlainBroker, tmp_path: Path) -> None:
    with Relay(broker.upstream, HERE) as relay:
        bench, places, sizes = broker.bench(relay, tmp_path), queue("tls"), (32, 1_000, 3_000_000)
        client = bench.opened()
        client.consumer(Subscription(places), run=RUN)
        for number, body_bytes in enumerate(sizes):
            producer = client.producer(
                places, ProducerSettings(body_bytes=body_bytes, in_flight=1), number=number, run=RUN
            )
            assert producer.run(every_ms(1), Control()) == 1
        until(lambda: bench.statistics.receipts == bench.statistics.settled == len(sizes))
        tables = bench.tables()
    assert [(row["outcome"], row["body_bytes"]) for row in tables["sends"]] == [("acked", size) for size in sizes]
    assert [row["integrity"] for row in tables["receipts"]] == ["intact"] * len(sizes)
    assert "lost" not in {row["event"] for row in tables["connections"]}


@pytest.mark.parametrize(
    ("certificate", "trust", "says"),
    [
        (OURS.issue_cert("localhost"), TRUST, "connect to a name that its certificate has"),
        (STRANGER, TRUST, "pass its certificate with --ca-file"),
        (HERE, Trust(), "pass its certificate with --ca-file"),
    ],
    ids=["another name", "a stranger", "nobody's authority"],
)
def test_a_broker_that_is_not_trusted_is_refused_at_once(
    broker: PlainBroker, tmp_path: Path, certificate: trustme.LeafCert, trust: Trust, says: str
) -> None:
    words = rf"^g client 0: broker broker-1 at 127\.0\.0\.1:\d+: its certificate is not to be .*{says}"
    with Relay(broker.upstream, certificate) as relay, pytest.raises(Refused, match=words):
        broker.bench(relay, tmp_path, trust).client().open()


def test_a_client_ends_on_an_untrusted_broker_without_retries(broker: PlainBroker, tmp_path: Path) -> None:
    with Relay(broker.upstream, HERE) as relay:
        at = f"127.0.0.1:{relay.port}"
        bench = JavaBench(
            tmp_path, {at: BROKER}, broker.runtime.credentials(), f"failover:(ssl://{at})", broker.protocol
        )
        with pytest.raises(Refused, match=rf"^g client 0: broker {BROKER} at {at}: its certificate is not.*--ca-file"):
            bench.client().open()
        bench.tables()


@pytest.mark.nightly
def test_a_client_ends_once_its_last_broker_is_untrusted(broker: PlainBroker, tmp_path: Path) -> None:
    with Relay(broker.upstream, HERE) as relay:
        at = f"127.0.0.1:{relay.port}"
        bench = JavaBench(
            tmp_path, {at: BROKER}, broker.runtime.credentials(), f"failover:(ssl://{at})", broker.protocol, TRUST
        )
        client, producing, errors = bench.opened(), Control(), list[str]()
        producer = client.producer(queue("renewed"), ProducerSettings(100, 50), run=RUN)
        keeping = threading.Thread(target=keep, args=(producer, client, producing, errors), daemon=True)
        keeping.start()
        until(lambda: bench.statistics.settled > 50)
        relay.show(STRANGER)
        relay.cut()
        keeping.join(60)
        producing.stop()
        tables = bench.tables()
    assert len(errors) == 1
    doubt = f"broker {BROKER} at {at}: its certificate is not to be trusted"
    assert f"no broker of failover:(ssl://{at}) is trusted any longer: {doubt}" in errors[0]
    assert "--ca-file" in errors[0]
    assert "\n" not in errors[0]
    check_told_as_doubted([row for row in tables["connections"] if row["event"] == "attempt"][1:])
    last = {row["seq"]: row["outcome"] for row in tables["sends"]}
    assert sorted(last) == list(range(producer.begun))
    assert set(last.values()) <= {"acked", "in_doubt", "failed"}


@pytest.mark.nightly
def test_failover_to_an_untrusted_broker_records_attempts_and_ends(broker: PlainBroker, tmp_path: Path) -> None:
    with Relay(broker.upstream, STRANGER) as untrusted:
        with Relay(broker.upstream, HERE) as relay:
            names = {f"127.0.0.1:{relay.port}": "broker-1", f"127.0.0.1:{untrusted.port}": "broker-2"}
            uri = f"failover:({','.join(f'ssl://{at}' for at in names)})?randomize=false&maxReconnectAttempts=3"
            bench = JavaBench(tmp_path, names, broker.runtime.credentials(), uri, broker.protocol, TRUST)
            client = bench.opened()
        error = until(lambda: gives_up(client))
        tables = bench.tables()
    attempts = [row for row in tables["connections"] if row["event"] == "attempt"]
    assert attempts.pop(0)["reason"] == ""
    doubted = [row for row in attempts if row["broker"] == "broker-2"]
    assert len(doubted) >= 3
    check_told_as_doubted(doubted)
    assert not any("certificate" in row["reason"] for row in attempts if row["broker"] == "broker-1")
    assert re.search(r"; broker broker-2 at 127.0.0.1:\d+: its certificate is not to be trusted \(.*--ca-file", error)


def check_told_as_doubted(attempts: list[dict[str, Any]]) -> None:
    assert attempts
    for row in attempts:
        assert row["reason"].startswith("its certificate is not to be trusted (")
        assert row["cause"] == "untrusted"


def gives_up(client: JavaClient) -> str:
    try:
        client.usable()
    except DriverError as error:
        return str(error)
    return ""


def keep(producer: JavaProducer, client: JavaClient, producing: Control, errors: list[str]) -> None:
    """As a user does."""
    try:
        producer.run(every_ms(100_000), producing)
        until(lambda: client.usable())
    except DriverError as error:
        errors.append(str(error))


def test_a_proof_says_that_a_port_without_tls_cannot_be_reached_or_gives_no_answer(broker: PlainBroker) -> None:
    # A Core acceptor without TLS waits for more than a client's hello.
    silence = "did not answer within 10 s; check that it is up and that this is its core port"
    words = silence if broker.protocol == "core" else "could be reached: .*; broker broker-1 at .* its port for TLS"
    with Relay(broker.upstream) as relay:
        endpoint = Endpoint(BROKER, broker.protocol, f"ssl://127.0.0.1:{relay.port}")
        side = canary.Side(connector_of(broker.protocol, TRUST), lambda _broker: endpoint)
        with pytest.raises(canary.PathsUnproven, match=words):
            canary.prove([Route((BROKER,))], side, side, broker.runtime.credentials(), timeout_s=30)


@pytest.mark.parametrize("library", ["openwire", "core"])
def test_authorities_are_read_once_though_each_connection_agrees_on_its_own_keys(library: str) -> None:
    """If read for each connection, a system's certificates took most of the memory of an OpenWire connection."""
    authorities = classes(library)("brokerbench.Authorities")
    assert authorities.readOnce(TRUST.pem)
    assert not authorities.oneContext(TRUST.pem)
