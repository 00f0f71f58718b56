"""Checks that CI's Docker step leaves a running engine alone, and builds images only if none can be pulled."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from topologies.products import PRODUCTS

NEEDED = ("bash", "cat", "env", "id", "mkdir", "rm", "touch", "dirname", "timeout")


class Machine:
    """A clone whose PATH has fake programs: a docker with the given answers, and an apt that fails."""

    def __init__(self, folder: Path) -> None:
        self.clone, self._bin, self._calls = folder / "clone", folder / "bin", folder / "calls"
        (self.clone / ".ci").mkdir(parents=True)
        for script in ("docker-engine.sh", "apt-install.sh"):
            shutil.copy(ROOT / ".ci" / script, self.clone / ".ci")
        self._bin.mkdir()
        for name in NEEDED:
            (self._bin / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name}"))
        self.tool(self._bin / "sleep", "exit 0")
        self.tool(self._bin / "sudo", 'shift; exec "$@"')
        self.tool(self._bin / "apt-get", "exit 1")
        self.tool(self.clone / ".venv" / "bin" / "python", "exit 0")

    def tool(self, path: Path, body: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!{shutil.which("bash")}\necho "{path.name} $*" >>{self._calls}\n{body}\n', encoding="utf-8")
        path.chmod(0o755)

    def docker(self, body: str) -> None:
        self.tool(self._bin / "docker", body)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": str(self._bin), "BROKERBENCH_CACHE": str(self.clone / "cache")}
        command = ["bash", str(self.clone / ".ci" / "docker-engine.sh"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_engine_that_answers_is_left_alone(machine: Machine) -> None:
    machine.docker("echo 28.0")
    process = machine.run("engine")
    assert (process.returncode, process.stdout) == (0, "docker-engine: engine 28.0 answers\n"), process.stderr
    assert {call.split()[0] for call in machine.calls} == {"docker"}


def test_an_engine_that_cannot_be_installed_is_a_failure_after_two_tries(machine: Machine) -> None:
    assert machine.run("engine").returncode != 0
    assert [call.split()[:2] for call in machine.calls if "apt-get" in call] == [["apt-get", "update"]] * 2


def test_upstreams_images_are_enough(machine: Machine) -> None:
    machine.docker('[ "$1" = image ] && exit 1; exit 0')
    process = machine.run("image")
    assert process.returncode == 0, process.stderr
    for kind in PRODUCTS.values():
        assert f"docker pull --quiet {kind.launch.image.upstream}" in machine.calls
    assert not (machine.clone / "build" / "no-registry").exists()
    assert not [call for call in machine.calls if call.startswith("python")]


def test_where_nothing_can_be_pulled_our_images_are_built_on_the_base_that_is_there(machine: Machine) -> None:
    machine.docker('[ "$3" = brokerbench/base-java:17 ]')
    process = machine.run("image")
    assert process.returncode == 0, process.stderr
    for flavour in PRODUCTS:
        expected = f"python -m topologies.runtimes.containers.image --base brokerbench/base-java:17 --of {flavour}"
        assert expected in machine.calls
    assert (machine.clone / "build" / "no-registry").exists()


def test_stopping_what_was_never_started_does_nothing(machine: Machine) -> None:
    assert machine.run("stop").returncode == 0


@pytest.mark.parametrize(("started_for", "ended"), [("of another script", False), ("its own", True)])
def test_who_follows_a_script_that_ended_stops_no_engine_but_its_own(
    machine: Machine, started_for: str, ended: bool
) -> None:
    gone, engine = subprocess.Popen(["true"]), subprocess.Popen(["sleep", "60"])
    gone.wait()
    folder = machine.clone / "cache" / "docker-engine"
    folder.mkdir(parents=True)
    (folder / "pid").write_text(str(engine.pid), encoding="utf-8")
    (folder / "started-for").write_text(str(gone.pid) if started_for == "its own" else "1", encoding="utf-8")
    try:
        machine.run("follow", str(gone.pid))
        if ended:
            engine.wait(30)
        else:
            assert engine.poll() is None
    finally:
        engine.kill()
        engine.wait()


def test_an_unknown_word_is_told_the_known_ones(machine: Machine) -> None:
    process = machine.run("strat")
    assert process.returncode == 1
    assert "usage: docker-engine.sh engine [PID] | image | stop" in process.stderr
