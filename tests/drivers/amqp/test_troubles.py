"""Checks the AMQP driver's errors for ports that are no AMQP broker and for brokers that are not trusted."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import trustme

from drivers.amqp.connector import AmqpConnector
from drivers.contract import ConnectFailed, DriverError, Refused
from tests.support.relay import Relay
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.trust import Trust

OURS, THEIRS = trustme.CA(), trustme.CA()
TRUST = Trust(OURS.cert_pem.bytes().decode())


def trying(port: int, scheme: str = "amqp", host: str = "127.0.0.1", timeout_s: float = 60) -> str:
    """What the driver says of a broker that it cannot use."""
    endpoint = Endpoint("b", "amqp", f"{scheme}://{host}:{port}")
    with pytest.raises(DriverError) as caught:
        AmqpConnector(trust=TRUST).connect(
            endpoint, Credentials("anna", "s3cret"), client_id="c", timeout_s=timeout_s, on_settled=print, on_lost=print
        )
    assert isinstance(caught.value, Refused if "certificate" in str(caught.value) else ConnectFailed)
    assert "s3cret" not in str(caught.value)
    return str(caught.value)


@contextlib.contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port where one connection after the other is answered so, and stays open until the client leaves."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), client:
                answer(client)
                while client.recv(1_024):
                    pass

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    yield int(listener.getsockname()[1])
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    serving.join(60)


def test_a_port_that_never_answers_is_given_up_in_time() -> None:
    with listening(lambda client: None) as port:
        told = trying(port, timeout_s=0.5)
    assert told == (
        f"broker b at 127.0.0.1:{port} did not answer within 0.5 s; check that it is up and that this is its AMQP port"
    )


SASL_INIT = b"\x00\x53\x41"


def offering(*mechanisms: str) -> Callable[[socket.socket], None]:
    """How a broker begins that lets its clients in by any of these; it then says nothing more."""
    names = b"".join(bytes([len(name)]) + name.encode() for name in mechanisms)
    listed = bytes([0xE0, len(names) + 2, len(mechanisms), 0xA3]) + names  # an array of symbols
    performative = b"\x00\x53\x40\xc0" + bytes([len(listed) + 1, 1]) + listed  # sasl-mechanisms: a list of one
    frame = (len(performative) + 8).to_bytes(4, "big") + b"\x02\x01\x00\x00" + performative
    return lambda client: client.sendall(b"AMQP\x03\x01\x00\x00" + frame)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["PLAIN", "ANONYMOUS"], b"PLAIN"), (["ANONYMOUS", "PLAIN"], b"PLAIN"), (["ANONYMOUS"], b"ANONYMOUS")],
)
def test_a_password_is_given_to_whoever_asks_for_one_and_to_nobody_else(offered: list[str], chosen: bytes) -> None:
    said: list[bytes] = []

    def answer(client: socket.socket) -> None:
        offering(*offered)(client)
        while SASL_INIT not in b"".join(said) and (more := client.recv(1_024)):
            said.append(more)
        client.shutdown(socket.SHUT_RDWR)

    with listening(answer) as port:
        trying(port)
    assert b"\xa3" + bytes([len(chosen)]) + chosen in b"".join(said), "its sasl-init names the mechanism"
    assert (b"s3cret" in b"".join(said)) == (chosen == b"PLAIN")


def test_a_port_of_another_protocol_is_told_without_its_bytes() -> None:
    with listening(lambda client: client.sendall(b"HTTP/1.1 400 Bad Request\r\nX: \x01\x02\r\n\r\n")) as port:
        told = trying(port)
    assert f"broker b at 127.0.0.1:{port} went away before it answered: amqp:connection:framing-error" in told
    assert "check that it is up and that this is its AMQP port" in told
    assert "HTTP" not in told


def test_a_port_that_hangs_up_is_told() -> None:
    with listening(lambda client: client.shutdown(socket.SHUT_RDWR)) as port:
        assert "went away before it answered: " in trying(port)


def test_a_certificate_of_a_stranger_is_refused_with_the_next_step() -> None:
    with listening(print) as upstream, Relay(("127.0.0.1", upstream), THEIRS.issue_cert("127.0.0.1")) as relay:
        told = trying(relay.port, "amqps")
    assert f"broker b at 127.0.0.1:{relay_port(told)}: its certificate is not to be trusted" in told
    assert "--ca-file" in told


def test_a_certificate_for_another_name_is_refused_with_the_next_step() -> None:
    with listening(print) as upstream, Relay(("127.0.0.1", upstream), OURS.issue_cert("b.example")) as relay:
        told = trying(relay.port, "amqps")
    assert "its certificate is not to be trusted" in told
    assert "reach it by a name that its certificate has" in told


def test_a_port_without_tls_is_told() -> None:
    with listening(lambda client: client.sendall(b"AMQP\x03\x01\x00\x00")) as port:
        assert "check that this is its port for TLS" in trying(port, "amqps")


def relay_port(told: str) -> str:
    return told.partition("127.0.0.1:")[2].partition(":")[0]
