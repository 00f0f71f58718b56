"""Checks how running brokers are reached and recognized, and that runs do not change them."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.locust_run import free_port
from topologies.catalogue.lookup import build
from topologies.management.links import prove_links
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.management import ManagementFailed
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.external.file import BrokersFile, ExternalBroker
from topologies.runtimes.external.runtime import ExternalRuntime

CLASSIC, ARTEMIS = "org.apache.activemq:type=Broker,brokerName={}", 'org.apache.activemq.artemis:broker="{}"'
WHO = ExternalCredentials(Credentials("anna", "s3cret"), Credentials("admin", "s3cret-too"))


def runtime_of(*brokers: ExternalBroker, topology: str = "single") -> ExternalRuntime:
    return ExternalRuntime(
        build(topology), BrokersFile(Path("b.yaml"), {broker.name: broker for broker in brokers}), WHO
    )


def broker(port: int, name: str = "broker-1", management: str = "") -> ExternalBroker:
    return ExternalBroker(name, 2, {"stomp": f"stomp://127.0.0.1:{port}"}, management)


@contextmanager
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def console(broker_name: str, mbean: str = CLASSIC, version: str = "BrokerVersion") -> Iterator[str]:
    """Serve the Jolokia of a web console that has one broker, and rejects requests without an origin."""

    class ConsoleHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            (request,) = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            value = [mbean.format(broker_name)] if request["type"] == "search" else {version: "5.16.7"}
            body = json.dumps([{"status": 200, "value": value}]).encode()
            host = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            self.send_response(200 if self.headers.get("Origin") == host else 403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), ConsoleHandler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api/jolokia/"
    finally:
        server.shutdown()
        server.server_close()


def test_a_broker_that_answers_is_up_and_where_the_file_says() -> None:
    progress: list[str] = []
    with listener() as port, console("broker-1") as url:
        runtime = runtime_of(broker(port, management=url))
        runtime.up(progress.append)
    assert progress == ["broker broker-1 answers; it is external and is not changed"]
    assert runtime.endpoint("broker-1", "stomp") == Endpoint("broker-1", "stomp", f"stomp://127.0.0.1:{port}")
    assert runtime.versions() == {"activemq": "5.16.7"}
    assert runtime.credentials() == WHO.client
    assert runtime.management("broker-1").username == "admin"


def test_a_broker_that_is_not_ours_cannot_be_absent() -> None:
    with (
        listener() as port,
        pytest.raises(RuntimeFailed, match="broker 'broker-1' cannot be left out: it is external"),
    ):
        runtime_of(broker(port)).up(lambda line: None, absent=["broker-1"])


def test_a_broker_of_artemis_is_known_by_what_it_calls_itself() -> None:
    with listener() as port, console("broker-1", ARTEMIS, "Version") as url:
        runtime = runtime_of(broker(port, management=url), topology="artemis-single")
        runtime.up(lambda line: None)
    assert runtime.versions() == {"artemis": "5.16.7"}


def test_a_broker_that_does_not_answer_is_named_with_its_file() -> None:
    port = free_port()
    with pytest.raises(RuntimeFailed) as failed:
        runtime_of(broker(port)).up(lambda line: None)
    assert str(failed.value) == (
        f"broker 'broker-1' cannot be reached for stomp at 127.0.0.1:{port}: Connection refused; "
        "start it, or correct its URI in b.yaml"
    )


def test_a_management_address_of_another_broker_is_refused_with_that_ones_name() -> None:
    with (
        listener() as port,
        console("localhost") as url,
        pytest.raises(
            RuntimeFailed, match="reports a broker named localhost; if that is the broker, write name: localhost"
        ),
    ):
        runtime_of(broker(port, management=url)).up(lambda line: None)


def test_a_broker_may_call_itself_otherwise() -> None:
    with listener() as port, console("localhost") as url:
        runtime = runtime_of(replace(broker(port, management=url), calls_itself="localhost"))
        runtime.up(lambda line: None)
    assert runtime.versions() == {"activemq": "5.16.7"}
    assert (runtime.management("broker-1").broker, runtime.management("broker-1").calls_itself) == (
        "broker-1",
        "localhost",
    )


def test_a_management_address_where_nobody_answers_is_refused() -> None:
    with listener() as port, pytest.raises(RuntimeFailed, match=r"cannot be reached .* or leave it out"):
        runtime_of(broker(port, management=f"http://127.0.0.1:{free_port()}/")).up(lambda line: None)


@pytest.mark.parametrize("operation", ["start", "stop", "kill", "pause", "resume"])
def test_nothing_can_be_done_to_a_broker_that_is_not_ours(operation: str) -> None:
    with pytest.raises(
        RuntimeFailed, match=r"^broker 'broker-1' cannot be [\w ]+: it is external, and --runtime external"
    ):
        getattr(runtime_of(broker(1)), operation)("broker-1")


def test_what_only_its_host_knows_is_not_made_up() -> None:
    runtime = runtime_of(broker(1))
    assert (runtime.pid("broker-1"), runtime.log_path("broker-1"), runtime.log_tail("broker-1")) == (None, None, [])
    assert (runtime.rendered(), runtime.versions()) == ({}, {})


def test_a_broker_without_a_management_address_says_so() -> None:
    with pytest.raises(ManagementFailed, match=r"^broker 'broker-1' has no management address in b\.yaml$"):
        runtime_of(broker(1)).management("broker-1")


def test_links_of_brokers_that_cannot_be_asked_are_left_to_the_canaries() -> None:
    topology, lines = build("source-and-sink"), list[str]()
    runtime = runtime_of(broker(1, "source"), broker(2, "sink"), topology=topology.name)
    assert prove_links(runtime, topology, progress=lines.append) == 0
    assert lines == ["canaries must prove the links: source, sink have no management address"]


def test_names_and_protocols_that_are_not_there_name_those_that_are() -> None:
    runtime = runtime_of(broker(1))
    with pytest.raises(KeyError, match=r"no broker 'hub'.*broker-1"):
        runtime.kill("hub")
    with pytest.raises(KeyError, match=r"'broker-1' has no amqp URI in b\.yaml; it has stomp"):
        runtime.endpoint("broker-1", "amqp")


def test_no_password_is_in_what_is_printed_of_it() -> None:
    assert "s3cret" not in repr(runtime_of(broker(1)).__dict__)
