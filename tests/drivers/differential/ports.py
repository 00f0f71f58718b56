"""Provides the ports that both clients connect to. They listen, reject connections or stay silent, as scripted.

A listening port accepts each client: it answers STOMP's CONNECT, speaks AMQP, and sends OpenWire's first frame back,
which is the negotiation that a Java client waits for. A port keeps its number while it rejects connections, so no
other process gets it.
"""

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from tests.drivers.differential.amqp_end import GREETING, AmqpEnd
from tests.support.fake_stomp import CONNECTED

BACKLOG_OF_A_FULL_PORT = 0


@dataclass(frozen=True)
class Port:
    """The behavior of one port. It rejects connections unless it listens; None means never.

    ``closes_after_s``: how long it keeps a connection; it then rejects others for ``refuses_for_s`` (None: forever).
    ``answers``: whether it sends replies. ``full``: connections are neither accepted nor rejected.
    """

    listens_from_s: float | None = None
    closes_after_s: float | None = None
    refuses_for_s: float | None = None
    answers: bool = True
    full: bool = False


DEAD = Port()
LIVE = Port(listens_from_s=0.0)
SILENT = Port(listens_from_s=0.0, answers=False)
FULL = Port(full=True)


class World:
    """The ports of one case, for one client. A context manager; ``begin`` starts the script's clock."""

    def __init__(self, script: dict[str, Port]) -> None:
        self._played = {name: _PlayedPort(port) for name, port in script.items()}

    @property
    def addresses(self) -> dict[str, str]:
        """``host:port`` of each port, by its letter."""
        return {name: f"127.0.0.1:{played.number}" for name, played in self._played.items()}

    def begin(self) -> None:
        for played in self._played.values():
            played.begin()

    def __enter__(self) -> "World":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for played in self._played.values():
            played.end()


class _PlayedPort:
    def __init__(self, port: Port) -> None:
        self._port = port
        self._socket = _bound()
        self._connections: list[socket.socket] = []
        self._timers: list[threading.Timer] = []
        self._over = threading.Event()
        self.number = self._socket.getsockname()[1]
        if port.full:
            self._fill()
        elif port.listens_from_s == 0:
            self._listen()

    def begin(self) -> None:
        if self._port.listens_from_s:
            self._later(self._port.listens_from_s, self._listen)

    def end(self) -> None:
        self._over.set()
        for timer in self._timers:
            timer.cancel()
        self._refuse()
        for each in (self._socket, *self._connections):
            _close(each)

    def _later(self, after_s: float, act: Callable[[], None]) -> None:
        timer = threading.Timer(after_s, act)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _fill(self) -> None:
        """Fill the backlog with one unaccepted connection. The next ones get no reply."""
        self._socket.listen(BACKLOG_OF_A_FULL_PORT)
        self._connections.append(socket.create_connection(("127.0.0.1", self.number)))

    def _listen(self) -> None:
        if not self._over.is_set():
            self._socket.listen()
            threading.Thread(target=self._serve, daemon=True).start()

    def _refuse(self) -> None:
        """Stop listening; the number stays ours, and `_listen` works again."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self._connections.append(connection)
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()
                if self._port.closes_after_s is not None:
                    self._refuse()
                    self._later(self._port.closes_after_s, partial(self._leave, connection))

    def _leave(self, connection: socket.socket) -> None:
        _close(connection)
        if self._port.refuses_for_s is not None:
            self._later(self._port.refuses_for_s, self._listen)

    def _converse(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            began = connection.recv(65_536)
            answer: Callable[[bytes], bytes] = _receipts
            if not self._port.answers:
                answer = _nothing
            elif began.startswith(GREETING):
                answer = AmqpEnd().answer
            else:
                connection.sendall(CONNECTED if began.startswith((b"CONNECT", b"STOMP")) else _first_frame(began))
                began = connection.recv(65_536)
            while began:
                connection.sendall(answer(began))
                began = connection.recv(65_536)


def _bound() -> socket.socket:
    """Return a socket that is bound to an explicit port: on Linux, it then keeps the port when it stops listening."""
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        address = asking.getsockname()
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # its old connections do not prevent it from listening
    bound.bind(address)
    return bound


def _nothing(_heard: bytes) -> bytes:
    return b""


def _receipts(heard: bytes) -> bytes:
    """Return the receipt that a STOMP client requests for its DISCONNECT."""
    return b"".join(b"RECEIPT\nreceipt-id:" + each + b"\n\n\0\n" for each in re.findall(rb"receipt:(\S+)", heard))


def _first_frame(began: bytes) -> bytes:
    """Return OpenWire's first frame. Frames begin with their length, and the small first one arrives in one piece."""
    return began[: 4 + struct.unpack_from(">I", began)[0]] if len(began) >= 4 else b""


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
