"""Relays bytes between clients and a broker, over TLS if asked. Its connections can be cut.

with Relay(("127.0.0.1", 61616)) as relay:
    ... connect to relay.port ...
    relay.cut()  # every connection is reset; new ones are let in
"""

import contextlib
import select
import socket
import ssl
import struct
import threading
from types import TracebackType

import trustme

CHUNK_BYTES = 65_536
LOOK_EVERY_S = 0.1
WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
RESET = struct.pack("ii", 1, 0)  # no lingering: the other side gets a reset, like when a process dies


class Relay:
    """Relays connections to an address.

    ``identity``: the certificate for clients; without it, TLS is off. ``hang_ups``: the number of next clients that are
    disconnected after their first bytes.
    """

    def __init__(
        self, upstream: tuple[str, int], identity: trustme.LeafCert | None = None, *, hang_ups: int = 0
    ) -> None:
        self.hang_ups = hang_ups
        self._upstream = upstream
        self._context = _context(identity)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._links: list[socket.socket] = []
        self._closed = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        self._accepting.join()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def show(self, identity: trustme.LeafCert) -> None:
        """Show this certificate to all new connections."""
        self._context = _context(identity)

    def cut(self) -> None:
        links, self._links = self._links, []
        for client in links:
            with contextlib.suppress(OSError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.hang_ups > 0:
                self.hang_ups -= 1
                threading.Thread(target=_hang_up, args=(client,), daemon=True).start()
                continue
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        """Pass bytes until either side ends. One thread serves both ways, as TLS requires, without waiting."""
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection(self._upstream) as broker,
            self._context.wrap_socket(client, server_side=True) if self._context else client as near,
        ):
            self._links.append(near)
            for side in (near, broker):
                side.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
                )  # otherwise small replies wait for each other
            streams = (_Stream(near, broker), _Stream(broker, near))
            near.setblocking(False)
            broker.setblocking(False)
            while not any(stream.over for stream in streams):
                waiting = [stream for stream in streams if not stream.held]
                buffered = isinstance(near, ssl.SSLSocket) and near.pending() > 0
                holding = [stream.to for stream in streams if stream.held]
                select.select([stream.source for stream in waiting], holding, [], 0 if buffered else LOOK_EVERY_S)
                for stream in streams:
                    stream.move()


def _hang_up(client: socket.socket) -> None:
    """Read all pending bytes before closing, as the socket would otherwise send a reset instead of an end of stream."""
    with contextlib.suppress(OSError), client:
        client.recv(CHUNK_BYTES)
        client.shutdown(socket.SHUT_WR)
        while client.recv(CHUNK_BYTES):
            pass


class _Stream:
    """One direction. ``held``: bytes that the other side has not accepted yet; reading pauses until then."""

    def __init__(self, source: socket.socket, to: socket.socket) -> None:
        self.source, self.to = source, to
        self.held = b""
        self.over = False

    def move(self) -> None:
        with contextlib.suppress(*WOULD_BLOCK):
            if not self.held:
                self.held = self.source.recv(CHUNK_BYTES)
                self.over = not self.held
            while self.held:
                self.held = self.held[self.to.send(self.held) :]


def _context(identity: trustme.LeafCert | None) -> ssl.SSLContext | None:
    if identity is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    identity.configure_cert(context)
    return context
