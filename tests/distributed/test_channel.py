"""Checks who can talk on the channel of a distributed run, and what others can read of it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import gevent
import pytest
import zmq
from locust.exception import RPCError
from locust.rpc import Message, zmqrpc

from harness.distributed.channel import ANY_PORT, MasterSocket, WorkerSocket, _peer_of
from harness.distributed.secret import Keys
from tests.support.locust_run import free_port

SECRET, OTHER_SECRET = Keys.of(b"of this run" * 3), Keys.of(b"of another run" * 3)
PASSWORD = "planted-password"
HERE, ENOUGH_S, QUIET_S = "127.0.0.1", 10.0, 1.0


@dataclass
class Master:
    """A master that sends a password to each peer that sends it a message."""

    port: int = 0
    received: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@pytest.fixture
def master() -> Iterator[Master]:
    state = Master()
    listener = MasterSocket(HERE, ANY_PORT, keys=SECRET, refused=state.refused.append)
    state.port = listener.port

    def serve() -> None:
        while True:
            address, message = listener.recv_from_client()
            state.received.append(message.type)
            listener.send_to_client(Message("equip", PASSWORD, address))

    serving = gevent.spawn(serve)
    yield state
    serving.kill()
    listener.close(linger=0)


def answer_to(worker: zmqrpc.Client, timeout_s: float) -> str | None:
    """Return the master's reply to a peer that claims to be a ready worker; None if there is no reply in time."""
    worker.send(Message("client_ready", "2.47.0", "peer"))
    with gevent.Timeout(timeout_s, False):
        return str(worker.recv().data)
    return None


@contextmanager
def worker_with(keys: Keys, port: int, identity: str = "worker") -> Iterator[tuple[WorkerSocket, list[bool]]]:
    handshakes: list[bool] = []
    worker = WorkerSocket(HERE, port, identity, keys=keys, handshake=handshakes.append)
    yield worker, handshakes
    worker.close(linger=0)


def test_a_worker_with_the_secret_gets_answers(master: Master) -> None:
    with worker_with(SECRET, master.port) as (worker, handshakes):
        assert answer_to(worker, ENOUGH_S) == PASSWORD
        gevent.sleep(0.1)
    assert (master.received, master.refused, handshakes) == (["client_ready"], [], [True])


def test_a_plain_peer_gets_nothing(master: Master) -> None:
    """Locust's own workers are plain peers."""
    peer = zmqrpc.Client(HERE, master.port, "plain")
    assert answer_to(peer, QUIET_S) is None
    peer.close(linger=0)
    assert master.received == []
    assert set(master.refused) <= {HERE, ""}
    assert master.refused


def test_workers_and_masters_of_another_run_refuse_each_other(master: Master) -> None:
    with worker_with(OTHER_SECRET, master.port) as (worker, handshakes):
        assert answer_to(worker, QUIET_S) is None
    assert (master.received, set(handshakes)) == ([], {False})
    assert master.refused


def test_knowing_the_masters_public_key_is_not_enough(master: Master) -> None:
    keys = Keys(SECRET.master, OTHER_SECRET.worker)
    with worker_with(keys, master.port) as (worker, handshakes):
        assert answer_to(worker, QUIET_S) is None
    assert (master.received, set(handshakes)) == ([], {False})
    assert master.refused


def test_a_plain_master_is_no_master() -> None:
    """A worker sends it nothing, and counts the handshake as failed."""
    rogue = zmqrpc.Server(HERE, free_port())
    with worker_with(SECRET, rogue.port) as (worker, handshakes):
        assert answer_to(worker, QUIET_S) is None
        with pytest.raises(zmq.Again):
            rogue.socket.recv_multipart(zmq.NOBLOCK)
    rogue.close(linger=0)
    assert set(handshakes) == {False}


def test_recorded_bytes_are_unreadable_and_useless(master: Master) -> None:
    """An eavesdropper finds no password in them, and nothing happens if they are sent again."""
    with recorder_before(master.port) as (port, sent, received), worker_with(SECRET, port) as (worker, _):
        assert answer_to(worker, ENOUGH_S) == PASSWORD
    assert len(received) > 200
    assert not [word for word in (b"client_ready", PASSWORD.encode()) if word in bytes(sent + received)]
    assert not [key for pair in (SECRET.master, SECRET.worker) for key in (pair.private, pair.public) if key in sent]
    with socket.create_connection((HERE, master.port)) as replay:
        replay.sendall(bytes(sent))
        gevent.sleep(QUIET_S)
        replay.settimeout(0)
        answered = replay.recv(1 << 16)
    assert PASSWORD.encode() not in answered
    assert master.received == ["client_ready"]


@contextmanager
def recorder_before(port: int) -> Iterator[tuple[int, bytearray, bytearray]]:
    """Provide a relay to a port that records one connection's bytes in each direction."""
    sent, received = bytearray(), bytearray()
    with closing(socket.create_server((HERE, 0))) as listener:

        def copy(source: socket.socket, sink: socket.socket, record: bytearray) -> None:
            while data := source.recv(1 << 16):
                record += data
                sink.sendall(data)

        def relay() -> None:
            near, _ = listener.accept()
            far = socket.create_connection((HERE, port))
            back = threading.Thread(target=copy, args=(far, near, received), daemon=True)
            back.start()
            copy(near, far, sent)
            far.close()
            near.close()

        relaying = threading.Thread(target=relay, daemon=True)
        relaying.start()
        yield listener.getsockname()[1], sent, received
        relaying.join(ENOUGH_S)


def test_a_taken_port_is_an_error(master: Master) -> None:
    with pytest.raises(RPCError, match="Address already in use"):
        MasterSocket(HERE, master.port, keys=SECRET, refused=master.refused.append)


def test_a_master_listens_again_on_its_port() -> None:
    """Locust closes and reopens its socket if the channel breaks. Workers only know the first port."""
    first = MasterSocket(HERE, ANY_PORT, keys=SECRET, refused=lambda _: None)
    first.close(linger=0)
    gevent.sleep(0.1)
    second = MasterSocket(HERE, first.port, keys=SECRET, refused=lambda _: None)
    second.close(linger=0)
    assert second.port == first.port


def test_a_reused_descriptor_is_closed_again(tmp_path: Path) -> None:
    """ZeroMQ may have closed a connection, and its number may belong to a file, which a copy would keep open."""
    with (tmp_path / "events").open("w") as file:
        before = len([*Path("/proc/self/fd").iterdir()])
        assert [_peer_of(file.fileno()) for _ in range(20)] == [""] * 20
        assert len([*Path("/proc/self/fd").iterdir()]) == before
