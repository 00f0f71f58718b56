"""Checks the errors of each driver about ports that are not brokers of its protocol, or are not trusted."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import trustme

from drivers.contract import ConnectFailed, DriverError, Untrusted
from drivers.protocols import connector_of
from tests.support.relay import Relay
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.trust import Trust

OURS = trustme.CA()
TRUST = Trust(OURS.cert_pem.bytes().decode())
HERE, ELSEWHERE = OURS.issue_cert("127.0.0.1"), OURS.issue_cert("localhost")
STRANGER = trustme.CA().issue_cert("127.0.0.1")

SCHEMES = {"stomp": ("stomp", "stomp+ssl"), "amqp": ("amqp", "amqps")}
"""Each protocol's, without TLS and with it. jvm/test_tls.py has Java clients, which have no such connections."""


def never_answers(client: socket.socket) -> None: ...


def hangs_up(client: socket.socket) -> None:
    client.recv(1)
    client.shutdown(socket.SHUT_RDWR)


def speaks_http(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 400 Bad Request\r\nX: \x01\x02\r\n\r\n\0")


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


def refusal(protocol: str, port: int, trust: Trust | None) -> DriverError:
    """The driver's error. ``trust``: whose certificates it believes; None: it speaks without TLS."""
    endpoint = Endpoint("b", protocol, f"{SCHEMES[protocol][trust is not None]}://127.0.0.1:{port}")
    with pytest.raises(DriverError) as caught:
        connector_of(protocol, trust or Trust()).connect(
            endpoint, Credentials("anna", "s3cret"), client_id="c", timeout_s=0.5, on_settled=print, on_lost=print
        )
    assert "s3cret" not in str(caught.value)
    assert "HTTP" not in str(caught.value)
    return caught.value


CHECK = "check that it is up and that this is its {PROTOCOL} port"
NO_TLS = ": no TLS there (*); check that this is its port for TLS"
GONE = " went away before it answered: *; " + CHECK
PORTS: list[tuple[Callable[[socket.socket], None], Trust | None, dict[str, str]]] = [
    (never_answers, None, {"": f" did not answer within 0.5 s; {CHECK}"}),
    (never_answers, TRUST, {"": f" could not be reached: *timed out; {CHECK} for TLS"}),
    (hangs_up, None, {"": GONE}),
    (hangs_up, TRUST, {"": NO_TLS}),
    (speaks_http, None, {"stomp": f" did not answer within 0.5 s; {CHECK}", "amqp": GONE}),
    (speaks_http, TRUST, {"": NO_TLS}),
]
"""A port, the URI's scheme, and the errors about it: by protocol, or the same for all. ``*`` matches any text."""


@pytest.mark.parametrize("protocol", SCHEMES)
@pytest.mark.parametrize(("answer", "trust", "sentences"), PORTS)
def test_a_port_that_is_no_broker_of_the_protocol_is_named_with_the_next_step(
    protocol: str, answer: Callable[[socket.socket], None], trust: Trust | None, sentences: dict[str, str]
) -> None:
    with listening(answer) as port:
        error = refusal(protocol, port, trust)
    sentence = sentences.get(protocol) or sentences[""]
    assert isinstance(error, ConnectFailed)
    expected = f"broker b at 127.0.0.1:{port}" + sentence.replace("{PROTOCOL}", protocol.upper())
    assert re.fullmatch(re.escape(expected).replace(r"\*", ".*"), str(error))


CERTIFICATES = [
    (ELSEWHERE, TRUST, "connect to a name that its certificate has, or issue a certificate for this name"),
    (STRANGER, TRUST, "if you run your own certificate authority, pass its certificate with --ca-file"),
    (HERE, Trust(), "if you run your own certificate authority, pass its certificate with --ca-file"),
]


@pytest.mark.parametrize("protocol", SCHEMES)
@pytest.mark.parametrize(
    ("certificate", "trust", "next_step"), CERTIFICATES, ids=["another name", "a stranger", "nobody's authority"]
)
def test_a_broker_that_is_not_trusted_is_refused_for_good_with_the_next_step(
    protocol: str, certificate: trustme.LeafCert, trust: Trust, next_step: str
) -> None:
    with listening(never_answers) as upstream, Relay(("127.0.0.1", upstream), certificate) as relay:
        port = relay.port
        error = refusal(protocol, port, trust)
    assert isinstance(error, Untrusted)
    assert str(error).startswith(f"broker b at 127.0.0.1:{port}: its certificate is not to be trusted (")
    assert str(error).endswith(f"); {next_step}")
