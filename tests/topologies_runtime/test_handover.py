"""Checks that a process hands over a socket that shows its connections, and then runs its command."""

import gc
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from topologies.runtimes.containers import handover
from topologies.runtimes.containers.handover import Handover
from topologies.runtimes.proxies.socket_bytes import Connection, connections_at

SCRIPT = [sys.executable, "-I", "-S", str(handover.__file__)]


def test_what_is_handed_over_tells_of_connections_and_the_process_runs_its_command(tmp_path: Path) -> None:
    handed = Handover(tmp_path / "socket")
    with subprocess.Popen([*SCRIPT, handed.place, "/bin/echo", "here"], stdout=subprocess.PIPE) as process:
        netlink = handed.take(lambda: True, 20)
        assert process.stdout is not None
        assert process.stdout.read() == b"here\n"
    handed.close()
    assert netlink is not None
    with netlink, socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller, server.accept()[0] as called:
            caller.sendall(b"abc")
            assert called.recv(3, socket.MSG_WAITALL) == b"abc"
            for _ in range(2):
                assert connections_at(port, netlink) == [Connection(("127.0.0.1", caller.getsockname()[1]), 3, 0)]


def test_nothing_is_waited_for_that_will_not_come(tmp_path: Path) -> None:
    handed = Handover(tmp_path / "socket")
    assert handed.take(lambda: False, 3600) is None
    assert handed.take(lambda: True, 0) is None
    handed.close()


def test_a_caller_that_hands_nothing_over_is_no_reason_to_fail(tmp_path: Path) -> None:
    handed = Handover(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(handed.place))
        caller.sendall(b"1")
        assert handed.take(lambda: True, 20) is None
    handed.close()


@pytest.mark.timeout(60)
def test_a_caller_that_says_nothing_is_waited_for_no_longer_than_it_is_worth(tmp_path: Path) -> None:
    handed = Handover(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(handed.place))
        assert handed.take(lambda: True, 0.2) is None
    handed.close()


def test_a_place_that_no_socket_can_have_leaves_none_open(tmp_path: Path) -> None:
    gc.collect()  # what other tests forgot is not to go in between
    here, before = psutil.Process(), psutil.Process().num_fds()
    with pytest.raises(OSError, match="too long") as refused:
        Handover(tmp_path / ("long" * 40))
    assert here.num_fds() <= before, f"while {refused.value} is still looked at"
