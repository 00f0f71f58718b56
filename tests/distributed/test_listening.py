"""Checks where the processes of runs listen, and that a peer without a run's secret gets nothing from its master."""

import ipaddress
import re
import signal
import socket
import threading
import time
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gevent
import psutil
import pytest
from locust.rpc import Message, zmqrpc

from tests.support.locust_run import LocustRun, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.links]

STEADY = "scenarios/steady.py"
QUICK = ("-t", "8s", "--warm-up", "1", "--processes", "2")
SLOW_LINK = ("--topology", "mesh(brokers=2)", "--link", "*:delay=5ms")
LOOK_EVERY_S, LISTENS_S, QUIET_S = 0.2, 1.0, 3.0

Listening = tuple[str, str, str, int]
"""A listening socket: the program, "tcp" or "udp", the address and the port."""
Commands = dict[Listening, str]
"""The command line of the process that had a socket."""


def test_two_runs_at_once_listen_on_loopback_only(tmp_path: Path) -> None:
    """Both pass with their own workers, although a plain worker tries to join each.

    One run has proxies and Classic brokers, the other has Artemis brokers.
    """
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    runs = [
        LocustRun(STEADY, *QUICK, *SLOW_LINK, runs=tmp_path / "one" / "runs"),
        LocustRun(STEADY, *QUICK, "--topology", "senders", runs=tmp_path / "two" / "runs"),
    ]
    with listening_of(runs) as seen:
        for run in runs:
            run.wait_for(r"load: \d+ s of 8 s")
            (port,) = ports_of(run.process.pid)
            assert answer_to_a_rogue_worker(port) is None
        outcomes = [run.outcome() for run in runs]
    for outcome in outcomes:
        assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
        refused = re.findall("a process on (.*) without this run's secret tried to connect", outcome.output)
        assert refused, outcome.output
        assert len(refused) == len(set(refused)), "each host is named once"
        assert [process["name"] for process in outcome.info["processes"]] == ["master", "worker-1", "worker-2"]
        assert {row["producer"] // 1_000_000 for row in outcome.events("sends")} == {1, 2}
    assert {program for program, *_ in seen} >= {"locust", "java", "toxiproxy-server"}
    assert {each: command for each, command in seen.items() if not is_loopback(each[2])} == {}
    assert nothing_left(tmp_path)


def is_loopback(text: str) -> bool:
    """Whether an address is loopback's. A JVM binds IPv4 addresses as ``::ffff:127.0.0.1``."""
    address = ipaddress.ip_address(text)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def answer_to_a_rogue_worker(port: int) -> object:
    """Return the master's reply to a ready worker of plain Locust; None if there is no reply."""
    peer = zmqrpc.Client("127.0.0.1", port, "rogue")
    peer.send(Message("client_ready", "2.47.0", "rogue"))
    answer = None
    with gevent.Timeout(QUIET_S, False):
        answer = peer.recv()
    peer.close(linger=0)
    return answer


def ports_of(pid: int) -> list[int]:
    return [each.laddr.port for each in psutil.Process(pid).net_connections() if each.status == psutil.CONN_LISTEN]


@contextmanager
def listening_of(runs: list[LocustRun]) -> Iterator[Commands]:
    """Collect the listening sockets of all processes of these runs, until the context ends.

    A socket counts once it has listened for a second. ActiveMQ's ``IdGenerator``, which Artemis uses for OpenWire too,
    binds a socket to every interface for 100 ms and never accepts on it: its port becomes part of the broker's ids.
    A resolver's UDP socket has no peer for an instant.
    """
    seen: Commands = {}
    over = threading.Event()

    def look() -> None:
        since_s: dict[Listening, float] = {}
        while not over.wait(LOOK_EVERY_S):
            started_s = time.monotonic()
            now = dict(ChainMap(*(_listening(run) for run in runs)))
            since_s = {each: since_s.get(each, started_s) for each in now}
            seen.update({each: command for each, command in now.items() if started_s - since_s[each] >= LISTENS_S})

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield seen
    finally:
        over.set()
        looking.join()
        for run in runs:
            if run.process.poll() is None:
                run.send(signal.SIGTERM)


def _listening(run: LocustRun) -> Commands:
    found: Commands = {}
    for process in psutil.process_iter():
        try:
            command = " ".join(process.cmdline())
            ours = process.pid == run.process.pid or run.process.pid in {parent.pid for parent in process.parents()}
            if not ours and str(run.runs) not in command:
                continue
            for each in process.net_connections("inet"):
                if each.status == psutil.CONN_LISTEN or (each.status == psutil.CONN_NONE and not each.raddr):
                    kind = "tcp" if each.type == socket.SOCK_STREAM else "udp"
                    found[process.name(), kind, each.laddr.ip, each.laddr.port] = command
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            time.sleep(0)
    return found
