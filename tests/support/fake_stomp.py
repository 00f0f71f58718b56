"""Runs a STOMP listener that a test plays by hand, for replies of misbehaving brokers."""

import contextlib
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType

import trustme

from tests.support.stomp_cutter import END, FrameCutter
from tests.support.stomp_faults import StompFrame
from topologies.model.endpoints import Endpoint

CONNECTED = b"CONNECTED\nversion:1.2\nheart-beat:0,0\n\n\0\n"


class FakeStompSession:
    """The broker's end of one connection."""

    def __init__(self, sock: socket.socket):
        self._sock, self._cutter = sock, FrameCutter()
        self._pieces = deque[bytes]()

    def read(self) -> StompFrame:
        """Return the client's next frame, without heart-beats. Raises EOFError if the client has disconnected."""
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                if piece.endswith(END):
                    return StompFrame.parse(piece)
            chunk = self._sock.recv(65_536)
            if not chunk:
                raise EOFError
            self._pieces += self._cutter.feed(chunk)

    def write(self, data: bytes) -> None:
        self._sock.sendall(data)

    def welcome(self, connected: bytes = CONNECTED) -> StompFrame:
        """Read the client's first frame and accept the connection."""
        hello = self.read()
        self.write(connected)
        return hello

    def receipt(self, frame: StompFrame) -> None:
        self.write(f"RECEIPT\nreceipt-id:{frame.headers['receipt']}\n\n\0\n".encode())

    def until_gone(self) -> None:
        """Answer requests for receipts until the client disconnects."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                frame = self.read()
                if "receipt" in frame.headers:
                    self.receipt(frame)


class FakeStompBroker:
    """Plays ``script`` to each connection, then closes it. With a ``certificate`` it speaks TLS.

    ``receive_bytes``: the receive buffer's size. It is set before a client connects: if it shrinks later, Linux drops
    segments that were sent for the larger buffer, and both sides wait for longer and longer retransmission timeouts.
    """

    def __init__(
        self,
        script: Callable[[FakeStompSession], None],
        certificate: trustme.LeafCert | None = None,
        receive_bytes: int | None = None,
    ):
        self._script = script
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self.show(certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        if receive_bytes:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "FakeStompBroker":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)

    def show(self, certificate: trustme.LeafCert) -> None:
        """Show this certificate to all new connections."""
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._tls)

    def endpoint(self, query: str = "") -> Endpoint:
        scheme = "stomp+ssl" if self._tls else "stomp"
        return Endpoint("fake", "stomp", f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}{query}")

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(EOFError, OSError), sock:
                wrapped = self._tls.wrap_socket(sock, server_side=True) if self._tls else sock
                with wrapped:
                    self._script(FakeStompSession(wrapped))
