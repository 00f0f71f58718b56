"""Checks that a worker that connects after the start of its master's run takes no part in it."""

from argparse import Namespace
from collections.abc import Iterator

import gevent
import pytest
from locust.env import Environment
from locust.rpc import Message, zmqrpc
from locust.runners import STATE_RUNNING

from harness.distributed.channel import ANY_PORT, WorkerSocket
from harness.distributed.runners import TOO_LATE, SecuredMaster
from harness.distributed.secret import Keys

KEYS = Keys.of(b"of this run" * 3)
HERE, ENOUGH_S = "127.0.0.1", 10.0


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> Iterator[SecuredMaster]:
    monkeypatch.setattr(zmqrpc, "Server", zmqrpc.Server)  # which the master replaces
    environment = Environment(user_classes=[])
    environment.parsed_options = Namespace(processes=None, enable_rebalancing=False)
    master = SecuredMaster(environment, KEYS, HERE, ANY_PORT)
    yield master
    master.greenlet.kill()
    master.server.close(linger=0)


def answer_to(master: SecuredMaster, identity: str) -> str:
    """Return the type of the message that a ready worker gets."""
    worker = WorkerSocket(HERE, master.server.port, identity, keys=KEYS, handshake=lambda _: None)
    worker.send(Message("client_ready", -1, identity))
    with gevent.Timeout(ENOUGH_S):
        answer = worker.recv()
    worker.close(linger=0)
    return str(answer.type)


def test_a_worker_that_comes_during_a_run_is_rejected(master: SecuredMaster) -> None:
    assert answer_to(master, "in time") == "ack"
    master.state = STATE_RUNNING
    assert answer_to(master, "late") == TOO_LATE
    assert list(master.clients) == ["in time"]
