"""Checks that missing, rejected and malformed replies of a broker give one clear error without a password."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
import trustme

from topologies.management.jolokia import Jolokia, execute, object_name, read, search
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import ManagementFailed

PASSWORD = "s3cret-never-shown"


@contextmanager
def agent(
    status: int, body: bytes, delay_s: float = 0.0, certificate: trustme.LeafCert | None = None
) -> Iterator[tuple[ManagementEndpoint, list[Any]]]:
    """Run an HTTP server that answers every request the same way, and collect the request bodies."""
    requests: list[Any] = []

    class AgentHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            time.sleep(delay_s)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), AgentHandler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    with serving(server) as port:
        yield ManagementEndpoint("hub", f"{scheme}://127.0.0.1:{port}/jolokia/", "agent", PASSWORD), requests


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[int]:
    """Serve in a thread, and give the port."""
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def answer(*answers: dict[str, Any]) -> bytes:
    return json.dumps(answers).encode()


def failure(status: int, body: bytes, delay_s: float = 0.0) -> str:
    with agent(status, body, delay_s) as (endpoint, _), pytest.raises(ManagementFailed) as failed:
        Jolokia(endpoint, 0.3 if delay_s else 60.0).read("java.lang:type=Memory", "HeapMemoryUsage")
    return str(failed.value)


def test_many_questions_are_one_request() -> None:
    with agent(200, answer({"status": 200, "value": 1}, {"status": 200, "value": ["x"]})) as (endpoint, requests):
        answers = Jolokia(endpoint).bulk([read("a:type=A", "B"), search("a:*")])
    assert [result.value for result in answers] == [1, ["x"]]
    assert requests == [[{"type": "read", "mbean": "a:type=A", "attribute": ["B"]}, {"type": "search", "mbean": "a:*"}]]


def test_a_missing_mbean_is_an_answer_among_the_others() -> None:
    with agent(200, answer({"status": 404, "error": "none"}, {"status": 200, "value": 2})) as (endpoint, _):
        missing, present = Jolokia(endpoint).bulk([read("a:x=*"), read("a:y=1")])
    assert (missing.status, missing.error, present.value) == (404, "none", 2)


def test_asked_for_alone_a_missing_mbean_is_an_error() -> None:
    assert failure(200, answer({"status": 404, "error": "No MBean"})) == (
        "broker 'hub', MBean java.lang:type=Memory: No MBean"
    )


def test_an_operation_is_executed_with_its_arguments() -> None:
    with agent(200, answer({"status": 200, "value": None})) as (endpoint, requests):
        assert Jolokia(endpoint).execute("a:b=c", "purge", 3) is None
    assert requests == [[execute("a:b=c", "purge", 3)]]


def test_a_broker_that_does_not_answer_is_told_with_the_time_it_was_given() -> None:
    assert failure(200, answer(), delay_s=20) == "broker 'hub', MBean java.lang:type=Memory: no answer within 0.3 s"


def test_a_broker_that_is_not_there_is_told() -> None:
    endpoint = ManagementEndpoint("hub", "http://127.0.0.1:1/jolokia/", "agent", PASSWORD)
    with pytest.raises(
        ManagementFailed, match=r"http://127\.0\.0\.1:1/jolokia/ cannot be reached \(Connection refused\)"
    ):
        Jolokia(endpoint).search("a:*")


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (401, b"", "rejects the user name or password of the run"),
        (403, b"", "rejects the user name or password of the run"),
        (500, b"", "answers with HTTP status 500"),
        (200, b"<html>", "does not answer like a Jolokia agent"),
        (200, b"{}", "the agent's answer does not match the request"),
        (200, b"[]", "the agent's answer does not match the request"),
        (200, json.dumps({"error": "IllegalState : x", "status": 500}).encode(), "answers: IllegalState : x"),
        (
            200,
            json.dumps(
                {"error": "Exception : Origin http://localhost:1 is not allowed to call", "status": 403}
            ).encode(),
            "rejects the origin http://localhost:",
        ),
    ],
)
def test_other_answers_are_told_without_the_password(status: int, body: bytes, sentence: str) -> None:
    message = failure(status, body)
    assert message.startswith("broker 'hub', MBean java.lang:type=Memory: ")
    assert sentence in message
    assert PASSWORD not in message


def test_loopback_is_localhost_where_its_address_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Artemis allows only pages from localhost by default."""
    rejected = {"error": "java.lang.Exception : Origin http://127.0.0.1:8161 is not allowed", "status": 403}
    seen: list[str] = []

    def post(session: requests.Session, *_: object, **__: object) -> SimpleNamespace:
        seen.append(str(session.headers["Origin"]))
        body = [{"status": 200, "value": []}] if "localhost" in seen[-1] else rejected
        return SimpleNamespace(status_code=200, json=lambda: body)

    monkeypatch.setattr(requests.Session, "post", post)
    agent = Jolokia(ManagementEndpoint("hub", "http://127.0.0.1:8161/console/jolokia/", "", ""))
    assert [agent.search("a:*"), agent.search("b:*")] == [[], []]
    assert seen == ["http://127.0.0.1:8161", "http://localhost:8161", "http://localhost:8161"]
    with pytest.raises(ManagementFailed, match=r"rejects the origin http://10\.0\.0\.7:8161; use a host name"):
        Jolokia(ManagementEndpoint("hub", "http://10.0.0.7:8161/console/jolokia/", "", "")).search("a:*")


def test_a_console_that_hangs_up_after_a_rejected_origin_is_asked_on_a_new_connection() -> None:
    """A stock Artemis rejects the request without reading it. Jetty then closes the connection without saying so."""

    class Console(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        rejected = False

        def do_POST(self) -> None:
            if self.rejected:
                self.close_connection = True
                return
            self.rfile.read(int(self.headers["Content-Length"]))
            self.rejected = "localhost" not in self.headers["Origin"]
            error = {"error": "java.lang.Exception : Origin http://127.0.0.1 is not allowed", "status": 403}
            body = json.dumps(error if self.rejected else [{"status": 200, "value": ["found"]}]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Console)) as port:
        agent = Jolokia(ManagementEndpoint("hub", f"http://127.0.0.1:{port}/console/jolokia/", "", ""))
        assert agent.search("a:*") == ["found"]
        agent.close()


def test_no_repr_shows_the_password() -> None:
    endpoint = ManagementEndpoint("hub", "http://127.0.0.1:1/", "agent", PASSWORD)
    assert PASSWORD not in repr(endpoint) + repr(Jolokia(endpoint))


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with agent(200, answer({"status": 200, "value": []})) as (endpoint, _):
        assert Jolokia(endpoint).search("a:*") == []


def test_an_mbeans_name_is_taken_apart() -> None:
    assert object_name("org.x:type=Broker,brokerName=b,queue=a.b_c") == {
        "type": "Broker",
        "brokerName": "b",
        "queue": "a.b_c",
    }


def test_https_is_verified_and_a_stranger_is_told_with_the_next_step(tmp_path: Path) -> None:
    ours, file = trustme.CA(), tmp_path / "ca.pem"
    ours.cert_pem.write_to_path(file)
    with agent(200, answer({"status": 200, "value": 1}), certificate=ours.issue_cert("127.0.0.1")) as (endpoint, _):
        assert Jolokia(replace(endpoint, ca_file=str(file))).bulk([search("a:*")])[0].value == 1
        with pytest.raises(ManagementFailed, match=r"its certificate is not to be trusted .*--ca-file"):
            Jolokia(endpoint).bulk([search("a:*")])
    with (
        agent(200, b"", certificate=ours.issue_cert("localhost")) as (endpoint, _),
        pytest.raises(ManagementFailed, match="connect to a name that its certificate has"),
    ):
        Jolokia(replace(endpoint, ca_file=str(file))).bulk([search("a:*")])
