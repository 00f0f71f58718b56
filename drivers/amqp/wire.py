"""Moves bytes between proton's engine and one broker: one socket, one reader, and the ticks that detect silence.

proton's engine does no I/O: it turns bytes into events and back. Its own event loop, `proton.reactor.Container`, is not
used. It waits by select(), which is limited to 1,024 connections. It is also one loop for all clients: a callback that
waits for a recorder or a frozen broker would stop every client of the process.

One lock guards engine and socket. No thread waits while it holds the lock. So a broker that stops accepting data stops
its writers but not the reader. TLS is Python's own, with contexts that verify certificates, so proton may be built
without TLS. Only the reader closes the socket. All other threads shut it down, which wakes every thread that waits for
it.
"""

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable

from proton import Collector, Connection, Event, Transport

from drivers.amqp.addresses import AmqpAddress
from drivers.amqp.engine import Transfer, take_events
from drivers.client.loop_waits import let_others_run

CHUNK_BYTES = 65_536
JOIN_S = 5.0
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Call = Callable[[], None]


class AmqpWire:
    """A socket and the engine behind it. ``reason``: why it ended, once it has.

    ``on_event`` turns an event into calls to make, under the lock; the reader makes them without the lock, in order.
    """

    def __init__(
        self, address: AmqpAddress, on_event: Callable[[Event | Transfer], Call | None], on_gone: Callable[[str], None]
    ):
        self.lock = threading.RLock()
        self.reason = ""
        self.hung_up = False  # whether the other side ended the connection
        self.connection = Connection()
        self.transport = Transport()
        self._address, self._on_event, self._on_gone = address, on_event, on_gone
        self._collector = Collector()
        self._socket: socket.socket | None = None
        self._reader = threading.Thread(target=self._read, name=f"amqp-{address}", daemon=True)

    # -- for any thread

    def open(self, timeout_s: float, context: ssl.SSLContext | None) -> None:
        """Connect, by TLS if there is a context, and begin to exchange data. Raises OSError."""
        host, port = self._address.host, self._address.port
        plain = socket.create_connection((host, port), timeout_s)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._socket = context.wrap_socket(plain, server_hostname=host) if context else plain
        except BaseException:
            plain.close()
            raise
        self._socket.setblocking(False)
        self.connection.collect(self._collector)
        self.transport.bind(self.connection)
        self._reader.start()

    def flush(self) -> bool:
        """Pass the engine's output to the socket, with the lock held; False if the socket is full for now."""
        try:
            while not self.reason and (pending := self._pending()) > 0:
                assert self._socket is not None
                self.transport.pop(self._socket.send(self.transport.peek(min(pending, CHUNK_BYTES))))
        except _WOULD_BLOCK:
            return False
        except OSError as error:
            self.lose(f"writing failed: {error}")
        return True

    def write_out(self) -> None:
        """Wait, without the lock, until the system has all output or the connection has ended."""
        while True:
            with self.lock:
                if self.flush():
                    return
            self._wait(select.POLLOUT, None)

    def lose(self, reason: str) -> None:
        """End the connection from any thread, at once; the first reason is kept."""
        with self.lock:
            self.reason = self.reason or reason
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        """End the connection and wait for the reader, unless the reader itself is the caller."""
        self.lose("closed")
        if self._reader.is_alive() and not self.in_reader():
            self._reader.join(JOIN_S)

    def in_reader(self) -> bool:
        return threading.current_thread() is self._reader

    # -- the reader

    def _read(self) -> None:
        try:
            while not self.reason:
                self._turn()
        except Exception as error:  # our error or the library's: no other code would report it
            self.lose(f"error while handling data from the broker: {error!r}")
        finally:
            if self._socket is not None:
                self._socket.close()
            self._on_gone(self.reason)

    def _turn(self) -> None:
        """Write pending output, read available input, and make the resulting calls; wait if there was nothing."""
        with self.lock:
            heard = self._fill()
            calls = self._take_events()
            deadline_s = self._tick()
            all_written = self.flush()
            calls += self._take_events()
        for call in calls:
            call()
        if calls or heard:
            let_others_run()  # under gevent, others would starve while the broker keeps sending
        else:
            until_s = max(0.0, deadline_s - time.monotonic()) if deadline_s else None
            self._wait(select.POLLIN if all_written else select.POLLIN | select.POLLOUT, until_s)

    def _fill(self) -> bool:
        """Read once; return whether anything came."""
        capacity = self.transport.capacity()
        if capacity <= 0 or self.reason:
            return self._ended_by_engine()
        assert self._socket is not None
        try:
            chunk = self._socket.recv(min(capacity, CHUNK_BYTES))
        except _WOULD_BLOCK:
            return False
        except OSError as error:
            self.lose(f"reading failed: {error}")
            return False
        if chunk:
            self.transport.push(chunk)
        else:
            self.hung_up = True
            self.lose("the broker closed the connection")
        return bool(chunk)

    def _ended_by_engine(self) -> bool:
        """Whether the engine is closed: the connection is over once its last output is sent."""
        if self.flush():
            condition = self.transport.condition
            self.lose(f"{condition.name}: {condition.description}" if condition else "the broker closed the connection")
        return False

    def _take_events(self) -> list[Call]:
        calls = (self._on_event(event) for event in take_events(self._collector))
        return [call for call in calls if call is not None]

    def _tick(self) -> float:
        """Return when (s, monotonic) to tick again, 0 for never. Runs after reading: unread data must not count as
        silence."""
        return 0.0 if self.reason else float(self.transport.tick(time.monotonic()))

    def _pending(self) -> int:
        return int(self.transport.pending())

    def _wait(self, events: int, timeout_s: float | None) -> None:
        """Wait until the socket is ready for one of these events, or was shut down."""
        sock = self._socket
        if sock is None or sock.fileno() < 0 or self.reason:
            return
        poll = select.poll()
        poll.register(sock.fileno(), events)
        poll.poll(None if timeout_s is None else timeout_s * 1_000)
