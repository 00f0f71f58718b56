"""Checks the specifics of brokers in containers. test_contract.py has the contract of all runtimes."""

import io
import json
import os
import platform
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from records.store.rundir import RunDirectory
from tests.support.docker import docker, on_engine, severable_engine
from tests.support.runtimes import GONE_WITHIN_S, eventually, private_folder, secrets_of, stores_in
from topologies.catalogue.lookup import build
from topologies.management.control_groups import quota_group_of
from topologies.management.jolokia import Jolokia
from topologies.management.sampling import throttling_rows
from topologies.runtimes.containers.cleanup import remove_leftovers
from topologies.runtimes.containers.engine import find
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.contract import RuntimeFailed

pytestmark = pytest.mark.containers

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
from topologies.runtimes.containers.runtime import ContainerRuntime

runtime = ContainerRuntime(build("single"), RunDirectory.create(Path(sys.argv[1]), sys.argv[3]), broker_memory_mb=128)
signal.signal(signal.SIGTERM, lambda *_: (runtime.close(), sys.exit(3)))
print(json.dumps("starting"), flush=True)
runtime.up(lambda line: None)
print(json.dumps({"pid": runtime.pid("broker-1"), "private": str(runtime._prepared.private.path)}), flush=True)
time.sleep(600)
"""


def runtime_in(folder: Path, prefix: str = "run", **options: Any) -> ContainerRuntime:
    directory = RunDirectory.create(
        folder, f"{prefix}-{folder.name}"
    )  # this distinguishes its containers from those of other tests
    return ContainerRuntime(build("single"), directory, broker_memory_mb=128, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("one")


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[ContainerRuntime]:
    runtime = runtime_in(folder)
    try:
        runtime.up(lambda _line: None)
        yield runtime
    finally:
        runtime.close()


def inspected(runtime: ContainerRuntime) -> dict[str, Any]:
    assert runtime._prepared is not None
    name = runtime._prepared.handles["broker-1"]._container._name
    return json.loads(docker("inspect", str(name)))[0]  # type: ignore[no-any-return]


def test_brokers_are_published_on_loopback_only(running: ContainerRuntime) -> None:
    assert running._prepared is not None
    published = inspected(running)["HostConfig"]["PortBindings"]
    assert published == {
        f"{port}/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]
        for port in running._prepared.ports_of("broker-1").values()
    }
    assert len(published) == 1 + len(build("single").brokers[0].protocols), "and management"


def test_a_broker_has_its_share_of_the_cores(running: ContainerRuntime, tmp_path: Path) -> None:
    assert inspected(running)["HostConfig"]["NanoCpus"] == 0, "no limit"
    limited = runtime_in(tmp_path, broker_cpus=0.5)
    try:
        limited.up(lambda _line: None)
        assert inspected(limited)["HostConfig"]["NanoCpus"] == 500_000_000
        agent = Jolokia(limited.management("broker-1"), 5.0)
        assert agent.read("java.lang:type=OperatingSystem", "AvailableProcessors") == {"AvailableProcessors": 1}
        if (pid := limited.pid("broker-1")) is not None:  # the engine's processes are visible here
            sampled = {row.metric for row in throttling_rows("broker-1", quota_group_of(pid))}
            assert sampled == {"quota_periods", "throttled_periods", "throttled_ns"}
    finally:
        limited.close()


def test_a_broker_is_on_its_own_network_by_its_own_name(running: ContainerRuntime) -> None:
    networks = inspected(running)["NetworkSettings"]["Networks"]
    assert len(networks) == 1
    (name, network), *_ = networks.items()
    assert name.startswith("brokerbench-run-one")
    assert "broker-1" in network["Aliases"]


def test_containers_and_network_are_labeled_with_run_and_harness(running: ContainerRuntime) -> None:
    container = inspected(running)
    network = json.loads(docker("network", "inspect", next(iter(container["NetworkSettings"]["Networks"]))))[0]
    for labels in (container["Config"]["Labels"], network["Labels"]):
        assert labels["brokerbench.run-id"].startswith("run-one")
        assert f"/{os.getpid()}/" in labels["brokerbench.owner"]


def test_passwords_go_by_files_that_only_their_owner_can_read(running: ContainerRuntime) -> None:
    inspection = json.dumps(inspected(running))
    for secret in secrets_of(running):
        assert secret not in inspection
    mounts = {mount["Destination"]: mount for mount in inspected(running)["Mounts"]}
    mounted = [mount for place, mount in mounts.items() if "/private/" in place]
    assert len(mounted) == 2
    for mount in mounted:
        assert not mount["RW"]
        assert Path(mount["Source"]).parent == private_folder(running)
        assert Path(mount["Source"]).stat().st_mode & 0o777 == 0o600
    assert {place for place, mount in mounts.items() if mount["RW"]} == {"/brokerbench/data", "/brokerbench/log"}


def test_what_a_broker_writes_belongs_to_this_user(running: ContainerRuntime, folder: Path) -> None:
    written = [path for path in folder.rglob("*") if path.name in ("broker.log", "db.data")]
    assert len(written) == 2
    assert {path.stat().st_uid for path in written} == {os.getuid()}


def test_versions_tell_image_and_engine(running: ContainerRuntime) -> None:
    versions = running.versions()
    assert versions["image"].endswith("activemq-classic:5.18.3")
    assert versions["image-id"].startswith("sha256:")
    assert versions["docker-engine"] == find().version


def test_the_engine_is_as_before_after_close(tmp_path: Path) -> None:
    before = on_engine()
    runtime = runtime_in(tmp_path)
    runtime.up(lambda _line: None)
    assert len(on_engine(tmp_path) - before) >= 2, "a container and a network"
    runtime.close()
    assert on_engine(tmp_path) == before


@THREADS
def test_nothing_is_left_soon_after_the_harness_was_killed(tmp_path: Path, threads: str) -> None:
    before = on_engine()
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, tmp_path, threads, f"run-{tmp_path.name}"], stdout=subprocess.PIPE
    ) as harness:
        assert harness.stdout is not None
        assert json.loads(harness.stdout.readline()) == "starting"
        started = json.loads(harness.stdout.readline())
        os.kill(started["pid"], signal.SIGSTOP)  # the hardest case: a frozen broker
        harness.kill()
        assert eventually(lambda: on_engine(tmp_path) == before)
        assert eventually(lambda: not Path(started["private"]).exists())
        assert eventually(lambda: not stores_in(tmp_path))


@pytest.mark.nightly  # test_processes.py closes from a handler, and the test above checks that nothing is left
@THREADS
def test_closing_from_a_signal_handler_while_a_broker_starts_leaves_nothing(tmp_path: Path, threads: str) -> None:
    before = on_engine()
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, tmp_path, threads, f"run-{tmp_path.name}"], stdout=subprocess.PIPE
    ) as harness:
        assert harness.stdout is not None
        assert json.loads(harness.stdout.readline()) == "starting"
        assert eventually(lambda: len(on_engine(tmp_path) - before) >= 2), "container and network"
        harness.terminate()
        assert harness.wait(2 * GONE_WITHIN_S) == 3
        assert eventually(lambda: on_engine(tmp_path) == before)
        assert not stores_in(tmp_path)


@pytest.mark.nightly  # the test below kills both the harness and its guard
def test_a_run_whose_guard_was_killed_removes_everything_itself(tmp_path: Path) -> None:
    before = on_engine()
    earlier_children = set(psutil.Process().children())
    runtime = runtime_in(tmp_path)
    runtime.up(lambda _line: None)
    (guard,) = set(psutil.Process().children()) - earlier_children
    guard.kill()
    runtime.close()
    assert on_engine(tmp_path) == before


def test_what_a_killed_harness_and_its_killed_guard_left_goes_with_the_next_run(tmp_path: Path) -> None:
    before = on_engine()
    command = [sys.executable, "-c", HARNESS, tmp_path, "plain", f"first-{tmp_path.name}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        harness.stdout.readline()
        harness.stdout.readline()
        for guard in psutil.Process(harness.pid).children():
            guard.kill()
        harness.kill()
    assert len(on_engine(tmp_path) - before) >= 2, "no process was left to remove them"
    progress: list[str] = []
    runtime = runtime_in(tmp_path, "second")
    try:
        runtime.up(progress.append)
    finally:
        runtime.close()
    assert [line for line in progress if "left when its harness was killed" in line]
    assert on_engine(tmp_path) == before


def test_an_engine_of_this_machine_shares_its_kernel() -> None:
    assert find().differing_kernel(platform.release()) == ""


def test_while_the_engine_answers_there_is_no_outage(running: ContainerRuntime) -> None:
    assert running.outage() == ""


def test_another_run_that_is_going_on_is_left_alone(running: ContainerRuntime) -> None:
    progress: list[str] = []
    remove_leftovers(find(), progress.append)
    assert progress == []
    assert running.alive("broker-1")


def test_an_engine_that_goes_away_is_told_and_what_runs_is_ended_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = on_engine()
    with severable_engine(tmp_path) as engine:
        runtime = runtime_in(tmp_path)
        runtime.up(lambda _line: None)
        pid = runtime.pid("broker-1")
        assert pid is not None
        assert runtime.alive("broker-1")  # a handle caches the engine's answer for a moment
        engine.sever()
        assert runtime.outage()
        assert eventually(lambda: not runtime.alive("broker-1"))
        assert runtime.outage() == (
            f"the Docker engine at unix://{engine.path} no longer answers, so this run's brokers are lost: "
            "start it, then run again"
        )
        assert "no longer answers" in runtime.log_tail("broker-1")[-1]
        with pytest.raises(
            RuntimeFailed, match=r"'broker-1' cannot be started: the Docker engine at .* start it again"
        ):
            runtime.start("broker-1")
        began = time.monotonic()
        runtime.close()
        assert time.monotonic() - began < 2 * GONE_WITHIN_S
        assert eventually(lambda: not psutil.pid_exists(pid))
        assert "containers and network are left on the Docker engine at unix://" in caplog.text
        assert "the next run in containers removes them if the engine answers (docker ps --all --filter" in caplog.text
    assert len(on_engine(tmp_path) - before) >= 2, "without an engine nothing can be removed from it"
    remove_by_hand(f"run-{tmp_path.name}")
    assert on_engine(tmp_path) == before


def remove_by_hand(run: str) -> None:
    """Remove a run's containers and networks. The next run leaves them alone, as this process is still alive."""
    label = f"label=brokerbench.run-id={run}"
    docker("rm", "--force", docker("ps", "--all", "--quiet", "--filter", label))
    docker("network", "rm", docker("network", "ls", "--quiet", "--filter", label))


def test_no_engine_is_one_sentence_with_the_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(RuntimeFailed) as failed:
        runtime_in(tmp_path).up(lambda _line: None)
    assert str(failed.value) == (
        f"no Docker engine answers at unix://{tmp_path}/nobody.sock (No such file or directory); "
        "start one, or use --runtime processes"
    )


def test_an_image_that_cannot_be_had_is_one_sentence_with_the_next_step(tmp_path: Path) -> None:
    before = on_engine()
    with pytest.raises(RuntimeFailed) as failed:
        runtime_in(tmp_path, image="localhost:1/no/such:image").up(lambda _line: None)
    message = str(failed.value)
    assert message.startswith("image localhost:1/no/such:image is not on the Docker engine and cannot be pulled (")
    assert "or use --runtime processes" in message
    assert "\n" not in message
    assert on_engine(tmp_path) == before


@pytest.fixture
def empty_image() -> Iterator[str]:
    nothing = io.BytesIO()
    tarfile.open(fileobj=nothing, mode="w").close()
    name = "brokerbench/empty:test"
    docker("import", "-", name, stdin=nothing.getvalue())
    yield name
    docker("rmi", name)


def test_an_image_without_what_a_broker_needs_says_what_that_is(tmp_path: Path, empty_image: str) -> None:
    before = on_engine()
    with pytest.raises(RuntimeFailed) as failed:
        runtime_in(tmp_path, image=empty_image).up(lambda _line: None)
    assert str(failed.value).startswith("broker 'broker-1' cannot be started: ")
    assert str(failed.value).endswith("the image lacks what a broker needs: /bin/sh and java on its PATH")
    assert on_engine(tmp_path) == before
