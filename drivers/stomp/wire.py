"""Moves frames to one broker and back: one socket, one reader, and the heart-beats that show whether it is alive.

This module replaces parts of stomp.py's Transport. It keeps the reader's thread, and the frames that open, reject and
end a connection. The replaced parts:

- connecting: one attempt, with the reason if it fails, and without Nagle's delay, which would be measured as latency;
- MESSAGE and RECEIPT frames (`drivers.stomp.stream`): stomp.py takes 27 µs for each, and may lose one;
- writing: frames come encoded, and several are written together. The reader collects the acknowledgments for one read
  and sends them in one write. Another thread may be writing at that moment, and may wait for a broker that reads
  nothing. Then the reader continues reading, and the other thread sends the acknowledgments after its own frames. The
  reader waits for room in the socket only while there is nothing to read;
- heart-beats: stomp.py stops checking them while a write is blocked, and a frozen broker blocks a producer's writes.
  stomp.py also gives up after 1.5 intervals, but ActiveMQ may leave 2 intervals between two beats.

Only the reader closes the socket. All other threads shut it down, which wakes every thread that is blocked on it.
"""

import array
import contextlib
import fcntl
import select
import socket
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from stomp.transport import Transport
from stomp.utils import Frame

from drivers.stomp.frames import Beats, StompAddress
from drivers.stomp.stream import BrokenStream, FrameReader, RawFrame
from drivers.tls import TlsSocket, secured
from topologies.model.trust import Trust

RECEIVE_BYTES = 65_536
MUCH_BYTES = 16_384  # a read of this size is followed by others without a pause: let other greenlets run in between
MOST_HELD_BACK = 32  # replies that wait for the rest of a read: few enough that a broker never waits for them
LITTLE_BYTES = 4_096  # unsent: any socket has room for as much again
JOIN_S = 5.0


class StompWire(Transport):  # type: ignore[misc]  # stomp.py has no type hints
    """A connected socket and its reader. ``reason``: why the connection ended; empty until then.

    ``on_traffic`` gets the MESSAGE and RECEIPT frames, ``on_frame`` all others, each with the time (ns) of its turn.
    """

    def __init__(
        self,
        address: StompAddress,
        on_traffic: Callable[[RawFrame, int], None],
        on_frame: Callable[[Frame, int], None],
        on_gone: Callable[[str], None],
        trust: Trust,
    ):
        super().__init__([(address.host, address.port)], auto_decode=False)
        self.reason = ""
        self.hung_up = False  # whether the other side ended the connection
        self._address, self._trust = address, trust
        self._on_traffic, self._on_frame, self._on_gone = on_traffic, on_frame, on_gone
        self._writing = threading.Lock()
        self._reader, self._frames = FrameReader(), iter(list[RawFrame]())
        self._replies = deque[bytes]()
        self._unsent_bytes = array.array("i", [0])
        self._reader_ident: int | None = None
        self._received_ns = 0
        self._written_s = self._heard_s = time.monotonic()
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    def open(self, timeout_s: float) -> None:
        """Connect and start reading. Raises OSError, an SSLError if TLS fails."""
        plain = socket.create_connection((self._address.host, self._address.port), timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.socket = secured(plain, self._address.host, self._trust) if self._address.tls else plain
        self.socket.settimeout(None)
        self.start()

    def attempt_connection(self) -> None:
        """Do nothing: `open` has already connected when `start` calls it."""

    def write(self, data: bytes) -> int:
        """Write whole frames; return the time (ns) just before. Raises ConnectionError if not all of it was written."""
        with self._writing:
            at_ns = self._write(data)
        self._write_replies()
        return at_ns

    def reply(self, frame: bytes) -> None:
        """Write a frame.

        The reader's frames are held back and written together: before the next write, or before it reads on.

        Raises ConnectionError, but not in the reader.
        """
        if threading.get_ident() != self._reader_ident:
            self.write(frame)
            return
        self._replies.append(frame)
        if len(self._replies) >= MOST_HELD_BACK:
            self._write_replies()

    def _write_replies(self) -> None:
        """Write the reader's replies, unless another thread is writing. That thread writes them when it has finished.

        The reader itself writes a few at a time, as long as there is room for them.
        """
        reading = self.in_reader()
        while self._replies and (not reading or self._has_room()) and self._writing.acquire(blocking=False):
            try:
                self._write(b"")
            except ConnectionError:
                return  # `lose` reports it
            finally:
                self._writing.release()

    def _reply_or_hear(self) -> None:
        """Write the reader's replies, until there is something to read: the reader never waits only for room."""
        while self._replies and not self._writing.locked() and not self.reason:
            self._write_replies()
            if not self._replies or self._unread():
                return
            if self._events(select.POLLIN | select.POLLOUT, None) & ~select.POLLOUT:
                return

    def _unread(self) -> bool:
        """Whether data was already taken from the socket, and waits in TLS."""
        return isinstance(self.socket, TlsSocket) and self.socket.pending()

    def _has_room(self) -> bool:
        """Whether a few frames would be sent at once. Checked for each read, so the cheapest check comes first."""
        sock = self.socket
        if sock is None or sock.fileno() < 0:
            return True  # it is gone: the write will raise
        fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, self._unsent_bytes)
        return self._unsent_bytes[0] < LITTLE_BYTES or self._ready(select.POLLOUT, 0)

    def write_soon(self, data: bytes, timeout_s: float) -> bool:
        """Write a few bytes if that takes at most ``timeout_s``; return whether they were sent. Raises
        ConnectionError."""
        deadline_s = time.monotonic() + timeout_s
        if not self._writing.acquire(timeout=timeout_s):
            return False
        try:
            ready = self._ready(select.POLLOUT, max(0.0, deadline_s - time.monotonic()))
            if ready:
                self._write(data)
        finally:
            self._writing.release()
        if ready and self._replies:  # from the reader, in the meantime; without room, a later beat sends them too
            self.write_soon(b"", 0)
        return ready

    def _write(self, data: bytes) -> int:
        sock = self.socket
        if sock is None or self.reason:
            raise ConnectionError(f"{self._address}: {self.reason or 'the connection is closed'}")
        if self._replies:
            data = b"".join([*self._taken_replies(), data])
        at_ns = time.perf_counter_ns()
        try:
            written = sock.send(data)  # nearly always all of it; gevent's `sendall` queries the kernel's buffer first
            if written < len(data):
                sock.sendall(memoryview(data)[written:])
        except OSError as error:
            self.lose(f"writing failed: {error}")
            raise ConnectionError(f"{self._address}: {self.reason}") from error
        except BaseException:  # a killed greenlet: half a frame may have gone, and nothing can follow it
            self.lose("a write was interrupted")
            raise
        self._written_s = time.monotonic()
        return at_ns

    def _taken_replies(self) -> Iterator[bytes]:
        """Yield all replies, or as many as one write of the reader may have."""
        most = MOST_HELD_BACK if self.in_reader() else len(self._replies)
        while self._replies and most > 0:
            most -= 1
            yield self._replies.popleft()

    def lose(self, reason: str) -> None:
        """End the connection from any thread, at once; the first reason is kept."""
        self.reason = self.reason or reason
        sock = self.socket
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        """End the connection and wait for its threads, unless one of them is the caller."""
        self.lose("closed")
        for thread in (self.io_thread, self._watcher):
            if thread is not None and thread is not threading.current_thread():
                thread.join(JOIN_S)

    def in_reader(self) -> bool:
        return threading.get_ident() == self._reader_ident

    def watch(self, beats: Beats) -> None:
        """Begin to send heart-beats and to expect them."""
        if beats.tick_s:
            self._watcher = threading.Thread(target=self._watch, args=(beats,), name="stomp-heartbeat", daemon=True)
            self._watcher.start()

    def _watch(self, beats: Beats) -> None:
        while not self._ended.wait(beats.tick_s):
            now_s = time.monotonic()
            if beats.silent(now_s - self._heard_s) and not self._ready(select.POLLIN, 0):
                self.lose(f"no heart-beat from the broker for {now_s - self._heard_s:.1f} s")
            elif beats.needs_heartbeat(now_s - self._written_s):
                with contextlib.suppress(ConnectionError):
                    self.write_soon(b"\n", 0)

    def _ready(self, event: int, timeout_s: float) -> bool:
        """Whether the socket can be written to, or has something unread (then we are the slow side)."""
        return bool(self._events(event, timeout_s))

    def _events(self, wanted: int, timeout_s: float | None) -> int:
        """Wait for these poll events, and return the events that occurred; 0 on a timeout or without a connection."""
        sock = self.socket
        if sock is None or sock.fileno() < 0:
            return 0
        poll = select.poll()
        poll.register(sock.fileno(), wanted)
        events = poll.poll(None if timeout_s is None else timeout_s * 1_000)
        return events[0][1] if events else 0

    def receive(self) -> bytes:
        """Return the next frame for stomp.py's loop, after handling all others; empty once the connection has ended."""
        self._reader_ident = threading.get_ident()
        while True:
            for frame in self._frames:
                at_ns = time.perf_counter_ns()  # the earliest moment at which this frame has its turn
                if not frame.head.startswith((b"MESSAGE", b"RECEIPT")):
                    self._received_ns = at_ns
                    return frame.whole()
                self._take(frame, at_ns)
            if not self._read_on():
                return b""

    def _take(self, frame: RawFrame, at_ns: int) -> None:
        try:
            self._on_traffic(frame, at_ns)
        except Exception as error:
            self.lose(f"handling a {frame.command.decode()} frame failed: {error!r}")

    def _read_on(self) -> bool:
        """Write the replies to the last read, then read more; return False once the connection has ended."""
        self._reply_or_hear()
        chunk = self._read()  # also for a broker that accepts no more data: its last frames are still read
        if not chunk:
            return False
        self._heard_s = time.monotonic()
        try:
            self._frames = iter(self._reader.feed(chunk))
        except BrokenStream as error:
            self.lose(f"the received data is not STOMP: {error}")
            return False
        return True

    def _read(self) -> bytes:
        try:
            chunk: bytes = self.socket.recv(RECEIVE_BYTES)
            if len(chunk) >= MUCH_BYTES:
                time.sleep(0)
        except OSError as error:
            self.reason = self.reason or f"reading failed: {error}"
            return b""
        if not chunk:
            self.hung_up, self.reason = not self.reason, self.reason or "the broker closed the connection"
        return chunk

    def process_frame(self, f: Frame, frame_str: bytes) -> None:
        """Handle a parsed frame; stomp.py's loop calls it."""
        try:
            self._on_frame(f, self._received_ns)
        except Exception as error:
            self.lose(f"handling a {f.cmd} frame failed: {error!r}")

    def notify(self, frame_type: str, frame: Frame | None = None) -> None:
        """Handle an event of stomp.py's loop, which reports ``disconnected`` last."""
        if frame_type == "disconnected":
            self._ended.set()
            self._on_gone(self.reason)
