"""TLS over a socket that one greenlet or thread reads and others write.

Two threads cannot use Python's own SSLSocket at once. Selectors of the libraries above it also conflict with gevent's.
Here TLS works in memory, behind a lock that is held only briefly. The socket below remains a plain one: its waiting,
shutdown and file number work as usual.
"""

import contextlib
import socket
import ssl
import threading
from functools import lru_cache

from drivers.contract import ConnectFailed, DriverError, Untrusted
from topologies.model.trust import Trust, explain_untrusted

RECEIVE_BYTES = 65_536


class TlsSocket:
    """The part of a socket that drivers use. Created around a connected socket; call `shake_hands` first."""

    def __init__(self, plain: socket.socket, host: str, trust: Trust) -> None:
        """``host``: the name that the other side has to prove."""
        self._plain = plain
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _context(trust.pem).wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._thinking = threading.Lock()  # guards TLS itself, which never blocks
        self._sending = threading.Lock()  # held around writes, so that records are sent in order

    def shake_hands(self) -> None:
        """Complete the TLS handshake. Raises SSLError without TLS or trust, and OSError if the connection is lost."""
        while True:
            try:
                self._tls.do_handshake()
                self._flush()
                return
            except ssl.SSLWantReadError:
                self._flush()
            except ssl.SSLError:
                with contextlib.suppress(OSError):  # the alert: why we close
                    self._flush()
                raise
            self._take(self._plain.recv(RECEIVE_BYTES))

    def recv(self, most_bytes: int) -> bytes:
        """Return received bytes. Waits for the first byte; empty if the other side has closed. Raises OSError."""
        while True:
            try:
                with self._thinking:
                    return self._tls.read(most_bytes)
            except ssl.SSLWantReadError:
                self._flush_if_free()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""
            self._take(self._plain.recv(RECEIVE_BYTES))

    def pending(self) -> bool:
        """Whether `recv` has data to return or to process before it waits for the socket."""
        with self._thinking:
            return self._tls.pending() > 0 or self._incoming.pending > 0

    def send(self, data: bytes | memoryview) -> int:
        """Send all data. Raises OSError."""
        self.sendall(data)
        return len(data)

    def sendall(self, data: bytes | memoryview) -> None:
        with self._sending:
            unwritten = memoryview(data)
            with self._thinking:
                while unwritten:
                    unwritten = unwritten[self._tls.write(unwritten) :]
            self._send_out()

    def fileno(self) -> int:
        return self._plain.fileno()

    def settimeout(self, timeout_s: float | None) -> None:
        self._plain.settimeout(timeout_s)

    def shutdown(self, how: int) -> None:
        """End the connection below: every reader and writer gets the error."""
        self._plain.shutdown(how)

    def close(self) -> None:
        self._plain.close()

    def _take(self, chunk: bytes) -> None:
        with self._thinking:
            if chunk:
                self._incoming.write(chunk)
            else:
                self._incoming.write_eof()

    def _flush(self) -> None:
        with self._sending:
            self._send_out()

    def _flush_if_free(self) -> None:
        """Send TLS's own records. A writing thread sends them too; waiting for it could take forever."""
        if self._outgoing.pending and self._sending.acquire(blocking=False):
            try:
                self._send_out()
            finally:
                self._sending.release()

    def _send_out(self) -> None:
        with self._thinking:
            data = self._outgoing.read()
        if data:
            self._plain.sendall(data)


def secured(plain: socket.socket, host: str, trust: Trust) -> TlsSocket:
    """Wrap a connected socket in TLS, within the socket's own timeout. Raises OSError, after closing the socket."""
    try:
        tls = TlsSocket(plain, host, trust)
        tls.shake_hands()
    except BaseException:
        plain.close()
        raise
    return tls


def handshake_error(broker_at: str, error: ssl.SSLError) -> DriverError:
    """Return the error for a failed handshake: a certificate does not improve by trying again."""
    if doubt := explain_untrusted(error):
        return Untrusted(f"{broker_at}: {doubt}")
    why = (error.reason or str(error)).replace("_", " ").lower()
    return ConnectFailed(f"{broker_at}: no TLS there ({why}); check that this is its port for TLS")


def handshake_problem(broker_at: str, host: str, port: int, trust: Trust, timeout_s: float) -> DriverError | None:
    """Return why a handshake with that port fails, in words common to all protocols; None if it succeeds.

    This is for libraries that report a failure without its cause, or in their own words.
    """
    try:
        secured(socket.create_connection((host, port), timeout_s), host, trust).close()
    except ssl.SSLError as error:
        return handshake_error(broker_at, error)
    except OSError:
        return None
    return None


@lru_cache(maxsize=8)
def _context(pem: str) -> ssl.SSLContext:
    """Create a context once per process: reading the authorities takes longer than a handshake."""
    return Trust(pem).context()
