"""Checks that TLS sockets carry data both ways at once. conformance/test_ports.py has servers that are not trusted."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import trustme

from drivers.tls import TlsSocket, secured
from topologies.model.trust import Trust

OURS = trustme.CA()
TRUST = Trust(OURS.cert_pem.bytes().decode())


def echo(connection: ssl.SSLSocket) -> None:
    while chunk := connection.recv(65_536):
        connection.sendall(chunk)


@contextmanager
def server(serve: Callable[[ssl.SSLSocket], None], certificate: trustme.LeafCert) -> Iterator[int]:
    """A TLS server for one connection; the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)

    def run() -> None:
        with contextlib.suppress(OSError):
            plain, _ = listening.accept()
            with context.wrap_socket(plain, server_side=True) as connection:
                serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(60)


def connected(port: int, trust: Trust = TRUST) -> TlsSocket:
    return secured(socket.create_connection(("127.0.0.1", port), 5), "127.0.0.1", trust)


def test_what_is_written_by_one_thread_while_another_reads_arrives_whole() -> None:
    sent = bytes(range(256)) * 8_192  # two megabytes: more than all buffers on the way hold
    with server(echo, OURS.issue_cert("127.0.0.1")) as port:
        client = connected(port)
        writer = threading.Thread(target=client.sendall, args=(sent,))
        writer.start()
        received = bytearray()
        while len(received) < len(sent):
            received += client.recv(65_536)
        writer.join(60)
        client.close()
    assert bytes(received) == sent


def test_the_end_of_the_other_side_is_an_empty_read() -> None:
    with server(lambda connection: connection.sendall(b"bye"), OURS.issue_cert("127.0.0.1")) as port:
        client = connected(port)
        assert (client.recv(100), client.recv(100)) == (b"bye", b"")
        client.close()


def test_a_shutdown_wakes_whoever_reads() -> None:
    with server(echo, OURS.issue_cert("127.0.0.1")) as port:
        client = connected(port)
        read: list[bytes | OSError] = []

        def wait_for_more() -> None:
            try:
                read.append(client.recv(100))
            except OSError as error:  # where the other side had something under way
                read.append(error)

        reader = threading.Thread(target=wait_for_more)
        reader.start()
        client.shutdown(socket.SHUT_RDWR)
        reader.join(60)
        client.close()
    assert len(read) == 1
    assert read[0] == b"" or isinstance(read[0], ConnectionError)


def test_a_silent_port_is_given_up_within_the_sockets_time_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(TimeoutError):
        secured(socket.create_connection(listening.getsockname(), 0.2), "127.0.0.1", TRUST)
