"""Checks runs whose Docker engine is killed or has no disk space left, on an engine that the test starts."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from records.store.rundir import RunDirectory
from tests.support.locust_run import LocustRun, nothing_left
from tests.support.own_engine import OwnEngine, own_engine
from topologies.catalogue.lookup import build
from topologies.products import PRODUCTS
from topologies.runtimes.containers.cleanup import remove_leftovers
from topologies.runtimes.containers.engine import find
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.contract import RuntimeFailed

pytestmark = pytest.mark.containers

STEADY = "scenarios/steady.py"
IMAGE = PRODUCTS["classic"].launch.image


@pytest.fixture
def engine() -> Iterator[OwnEngine]:
    with own_engine() as own:
        yield own


def copy_image(engine: OwnEngine) -> str:
    """The brokers' image, from the engine that all tests use."""
    here = subprocess.run(["docker", "images", "--quiet", IMAGE.upstream], capture_output=True, check=True).stdout
    name = IMAGE.upstream if here.strip() else IMAGE.built
    with subprocess.Popen(["docker", "save", name], stdout=subprocess.PIPE) as saved:
        subprocess.run(["docker", "--host", engine.host, "load"], stdin=saved.stdout, check=True, capture_output=True)
    return name


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_killed_docker_engine_invalidates_the_run(
    engine: OwnEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run reports the engine in one sentence, and the next run cleans up."""
    image = copy_image(engine)
    monkeypatch.setenv("DOCKER_HOST", engine.host)
    monkeypatch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
    arguments = ("--runtime", "containers", "--image", image, "--topology", "mesh(brokers=2)", "-t", "60s")
    run = LocustRun(STEADY, *arguments, "--drain-timeout", "10", runs=tmp_path / "runs", wrapper=engine.inside)
    run.wait_for(r"load: \d+ s of 60 s")
    engine.kill()
    outcome = run.outcome()
    assert (outcome.status, outcome.summary["verdict"]) == (3, "invalid"), outcome.output
    sentence = f"the Docker engine at {engine.host} no longer answers, so this run's brokers are lost"
    (problem,) = outcome.info["problems"]
    assert sentence in problem
    assert "ended unexpectedly" not in outcome.output
    assert "Traceback" not in outcome.output
    assert outcome.output.count(f"containers and network are left on the Docker engine at {engine.host}") == 1
    assert nothing_left(tmp_path / "runs"), "brokers are ended without the engine"
    engine.start()
    assert len(engine.docker("ps", "--all", "--quiet").split()) == 2
    lines: list[str] = []
    remove_leftovers(find(), lines.append)
    assert len(lines) == 1
    assert engine.docker("ps", "--all", "--quiet") == ""
    assert engine.docker("network", "ls", "--quiet", "--filter", "label=brokerbench.run") == ""


def test_an_engine_without_room_is_one_sentence_that_says_to_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own_engine(disk_mb=64) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        monkeypatch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        subprocess.run(
            f"tar --create --files-from /dev/null | docker --host {engine.host} import - brokerbench/empty:test",
            shell=True, check=True, capture_output=True,
        )  # fmt: skip
        subprocess.run(f"cat /dev/zero >{engine.folder}/rest", shell=True, check=False, stderr=subprocess.DEVNULL)
        directory = RunDirectory.create(tmp_path, "run")
        with pytest.raises(RuntimeFailed) as failed:
            ContainerRuntime(build("single"), directory, image="brokerbench/empty:test").up(lambda _line: None)
        (engine.folder / "rest").unlink()
        assert "no space left on device" in str(failed.value)
        assert "the engine's disk is full: free some space; docker system df shows its use" in str(failed.value)
        assert "\n" not in str(failed.value)
        assert engine.docker("ps", "--all", "--quiet") == ""
