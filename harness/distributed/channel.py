"""Encrypted sockets for Locust's channel, which only processes with the run's secret can use.

Locust's sockets are plain ZeroMQ: the master answers any peer that claims to be a worker. The sockets here use ZeroMQ's
CURVE mechanism instead. In the handshake, the master proves that it has the master's key, and a worker that it has the
workers' key (`harness.distributed.secret`). All further messages are encrypted with keys that exist only for that
connection, so a recorded message cannot be read or replayed. A peer that fails in the handshake receives no messages,
and none of its messages reach Locust.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import zmq.green as zmq
from locust.exception import RPCError
from locust.rpc import zmqrpc
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

from harness.distributed.secret import Keys

log = logging.getLogger("brokerbench")

ZAP_ADDRESS = "inproc://zeromq.zap.01"
ZAP_DOMAIN = b"brokerbench"
ANY_PORT = 0
FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH


class MasterSocket(zmqrpc.Server):
    """The master's socket.

    ``refused`` is called with the address of each peer that failed in the handshake, or '' if it is unknown.
    """

    def __init__(self, host: str, port: int, *, keys: Keys, refused: Callable[[str], None]) -> None:
        zmqrpc.BaseSocket.__init__(self, zmq.ROUTER, self.ipv4_only(host, port))
        self._worker_key = z85.decode(keys.worker.public)
        self._refused = refused
        self.socket.curve_server = True
        self.socket.curve_secretkey = keys.master.private
        self.socket.zap_domain = ZAP_DOMAIN
        self.socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)  # without a key check, no peer is accepted
        self._key_checks = self.socket.context.socket(zmq.REP)
        self._key_checks.bind(ZAP_ADDRESS)
        self._watch = _watching(self.socket, zmq.EVENT_ACCEPTED | FAILED, self._on_event)
        try:
            self.socket.bind(f"tcp://{host}:{'*' if port == ANY_PORT else port}")
        except zmq.ZMQError as error:
            self.close(linger=0)
            raise RPCError(f"cannot listen there: {error}") from error
        self.port = int(self.socket.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
        self._checker = gevent.spawn(self._check_keys)
        self._last_accepted = ""

    def close(self, linger: int | None = None) -> None:
        self._watch.kill(block=False)
        if checker := getattr(self, "_checker", None):
            checker.kill(block=False)
        self.socket.disable_monitor()
        self._key_checks.close(linger=0)
        super().close(linger)  # type: ignore[no-untyped-call]

    def _check_keys(self) -> None:
        """Answer ZeroMQ's authentication requests (RFC 27, ZAP): accept the workers' key, and reject all others."""
        while True:
            version, request, _domain, _address, _identity, *credentials = self._key_checks.recv_multipart()
            known = credentials == [b"CURVE", self._worker_key]
            self._key_checks.send_multipart([version, request, b"200" if known else b"400", b"", b"", b""])

    def _on_event(self, event: dict[str, Any]) -> None:
        if event["event"] == zmq.EVENT_ACCEPTED:
            self._last_accepted = _peer_of(event["value"])
        else:
            self._refused(self._last_accepted)


class WorkerSocket(zmqrpc.Client):
    """A worker's socket. ``handshake`` is called with True for each successful handshake, and with False otherwise."""

    def __init__(self, host: str, port: int, identity: str, *, keys: Keys, handshake: Callable[[bool], None]) -> None:
        zmqrpc.BaseSocket.__init__(self, zmq.DEALER, self.ipv4_only(host, port))
        self._handshake = handshake
        self.socket.setsockopt(zmq.IDENTITY, identity.encode())
        self.socket.curve_serverkey = keys.master.public
        self.socket.curve_publickey = keys.worker.public
        self.socket.curve_secretkey = keys.worker.private
        self._watch = _watching(self.socket, zmq.EVENT_HANDSHAKE_SUCCEEDED | FAILED, self._on_event)
        self.socket.connect(f"tcp://{host}:{port}")

    def close(self, linger: int | None = None) -> None:
        self._watch.kill(block=False)
        self.socket.disable_monitor()
        super().close(linger)  # type: ignore[no-untyped-call]

    def _on_event(self, event: dict[str, Any]) -> None:
        self._handshake(event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED)


def _watching(watched: Any, events: int, listener: Callable[[dict[str, Any]], None]) -> gevent.Greenlet:
    """Call ``listener`` with each of the socket's ``events``, in a greenlet that ends with the socket."""
    monitor = watched.get_monitor_socket(events | zmq.EVENT_MONITOR_STOPPED)

    def watch() -> None:
        for event in _events(monitor):
            listener(event)

    return gevent.spawn(watch)


def _events(monitor: Any) -> Iterator[dict[str, Any]]:
    while True:
        event = dict(parse_monitor_message(monitor.recv_multipart()))
        if event["event"] == zmq.EVENT_MONITOR_STOPPED:
            return
        yield event


def _peer_of(descriptor: int) -> str:
    """Return the peer's address of an accepted connection; '' if ZeroMQ has already closed it."""
    try:
        copy = os.dup(descriptor)
    except OSError:
        return ""
    try:
        connection = socket.socket(fileno=copy)
    except OSError:  # the descriptor number now belongs to a file
        os.close(copy)
        return ""
    with connection:
        try:
            return str(connection.getpeername()[0])
        except (OSError, IndexError):
            return ""
