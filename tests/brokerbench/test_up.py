"""Checks that `brokerbench up` starts a network, shows how to connect, and leaves nothing behind however it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from brokerbench.cli import main
from brokerbench.interrupts import signals_interrupt
from brokerbench.up import routes
from tests.support.locust_run import REPOSITORY, as_a_user_has_it, nothing_left
from topologies.catalogue.lookup import build
from topologies.classic.product import CLASSIC
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.products import ENTRIES
from topologies.runtimes.choice import BrokerSetup
from topologies.runtimes.containers import engine
from topologies.runtimes.external.credentials import find
from topologies.runtimes.managed import START_TIMEOUT_S

BROKERBENCH = str(Path(sys.executable).with_name("brokerbench"))
UP_TIMEOUT_S = 120.0


class UpCommandRun:
    """One `brokerbench up` with the process runtime, in a separate folder."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._out, self._stderr = folder / "out", folder / "stderr"
        command = [BROKERBENCH, "up", *arguments, "--runtime", "processes", "--broker-memory", "128"]
        with self._out.open("w") as out, self._stderr.open("w") as stderr:
            runs, env = str(folder / "runs"), as_a_user_has_it()
            self.process = subprocess.Popen([*command, "--runs", runs], stdout=out, stderr=stderr, env=env)

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(encoding="utf-8")

    def wait_for(self, pattern: str) -> None:
        deadline_s = time.monotonic() + UP_TIMEOUT_S
        while not re.search(pattern, self.out + self.stderr):
            assert self.process.poll() is None, f"ended too early:\n{self.out}{self.stderr}"
            assert time.monotonic() < deadline_s, f"no {pattern!r}:\n{self.out}{self.stderr}"
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(120)

    def path(self, name: str) -> Path:
        match = re.search(rf"(\S+)/{name}", self.out)
        assert match, self.out
        return Path(match[1]) / name


@contextmanager
def upped(folder: Path, *arguments: str) -> Iterator[UpCommandRun]:
    network = UpCommandRun(folder, *arguments)
    try:
        yield network
    finally:
        if network.process.poll() is None:
            network.end(signal.SIGTERM)


def test_brokers_get_as_long_to_start_as_is_asked_for_and_else_as_long_as_in_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts_s: list[float] = []

    def as_far_as_this(*arguments: object) -> None:
        timeouts_s.extend(argument.start_timeout_s for argument in arguments if isinstance(argument, BrokerSetup))
        raise ValueError("as far as this")

    monkeypatch.setattr("brokerbench.up.runtime_of", as_far_as_this)
    for options in ([], ["--start-timeout", "300"]):
        CliRunner().invoke(main, ["up", "single", "--runtime", "processes", "--runs", str(tmp_path), *options])
    assert timeouts_s == [START_TIMEOUT_S, 300]


@pytest.mark.parametrize("runs", ["runs", "."])
def test_a_runtime_that_cannot_be_made_leaves_no_folder(
    runs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impossible(*_: object) -> None:
        raise ValueError("it cannot be")

    monkeypatch.setattr("brokerbench.up.runtime_of", impossible)
    result = CliRunner().invoke(main, ["up", "single", "--runtime", "processes", "--runs", str(tmp_path / runs)])
    assert (result.exit_code, "brokerbench: it cannot be\n" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_what_may_not_be_meant_is_warned_of_before_any_broker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impossible(*_: object) -> None:
        raise ValueError("as far as this")

    monkeypatch.setattr("brokerbench.up.runtime_of", impossible)
    result = CliRunner().invoke(main, ["up", "ring(ttl=2)", "--runtime", "processes", "--runs", str(tmp_path)])
    lines = result.stderr.splitlines()
    assert lines[1].startswith("warning: a message sent at 'broker-1' cannot reach a consumer at 'broker-4': raise")
    assert lines[-1] == "brokerbench: as far as this"


def test_the_topology_is_built_once_and_docker_is_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()

    @wraps(ENTRIES["mesh"])
    def built(*arguments: Any, **named: Any) -> Topology:
        counts["builds"] += 1
        return mesh(*arguments, **named)

    def looked_for() -> None:
        counts["looks"] += 1
        raise engine.EngineTrouble("planted: there is no engine")

    def as_far_as_this(*_: object) -> None:
        raise ValueError("as far as this")

    mesh = ENTRIES["mesh"]
    monkeypatch.setitem(ENTRIES, "mesh", built)
    monkeypatch.setattr(engine, "find", looked_for)
    monkeypatch.setattr("brokerbench.up.runtime_of", as_far_as_this)
    result = CliRunner().invoke(main, ["up", "mesh", "--runs", str(tmp_path)])
    assert "brokerbench: as far as this" in result.stderr
    assert counts == {"builds": 1, "looks": 1}


def test_it_has_no_part_of_locust_nor_spark() -> None:
    heavy = "{'locust', 'gevent', 'pyspark', 'harness.run'}"
    code = f"import sys, brokerbench.up; print(sorted({heavy} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert process.stdout == "[]\n"


def test_a_mistake_is_one_sentence_of_the_command_as_a_user_has_it(tmp_path: Path) -> None:
    command = [BROKERBENCH, "up", "nonsuch", "--runtime", "processes", "--runs", str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=as_a_user_has_it())
    assert (process.returncode, process.stdout) == (2, "")
    assert re.fullmatch(r"brokerbench: .*'?nonsuch'?.*\n", process.stderr), process.stderr


def test_paths_are_proven_from_producers_to_consumers() -> None:
    """A topology without groups of producers and consumers has its paths proven between the groups that it has."""
    mesh = build("mesh")
    assert len(routes(mesh)) == 9
    broker = mesh.brokers[0]
    assert len(routes(Topology("t", mesh.brokers, mesh.links, (ClientGroup("all", (broker,)),), CLASSIC))) == 1


def test_the_first_signal_interrupts_and_no_other_does_until_all_is_down() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals_interrupt():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.brokers
def test_a_network_is_up_until_ctrl_c_and_then_nothing_is_left(tmp_path: Path) -> None:
    with upped(tmp_path, "single") as up:
        up.wait_for("Ctrl-C stops the brokers")
        assert "paths proven by a canary each: 1" in up.stderr
        credentials = up.path("credentials.env")
        password = find(credentials, {}).client.password
        assert len(password) > 20
        assert password not in up.out + up.stderr
        used = subprocess.run(
            [BROKERBENCH, "up", "single", "--brokers-file", str(up.path("brokers.yaml"))],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert (used.returncode, "single is up (external)" in used.stdout) == (0, True), used.stderr
        assert up.process.poll() is None, "and it stays up"
        assert up.end(signal.SIGINT) == 0
    assert not credentials.parent.exists()
    assert not (tmp_path / "runs").exists()
    assert nothing_left(tmp_path / "runs")


@pytest.mark.brokers
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("topology mesh on", signal.SIGTERM),
        ("broker broker-. is up", signal.SIGHUP),
        ("broker broker-. is up", signal.SIGINT),
        ("Ctrl-C stops the brokers", signal.SIGTERM),
    ],
)
def test_it_can_be_ended_at_any_moment_by_any_signal(tmp_path: Path, number: signal.Signals, moment: str) -> None:
    with upped(tmp_path, "mesh") as up:
        up.wait_for(moment)
        assert up.end(number) == (0 if moment.startswith("Ctrl-C") else 130), up.stderr
    assert "Traceback" not in up.stderr
    assert not (tmp_path / "runs").exists()
    assert nothing_left(tmp_path / "runs")


@pytest.mark.brokers
@pytest.mark.nightly
def test_a_broker_that_somebody_ends_is_told_and_data_is_kept_where_wished(tmp_path: Path) -> None:
    with upped(tmp_path, "single", "--keep-data") as up:
        up.wait_for("Ctrl-C stops the brokers")
        (pid,) = [
            process.pid
            for process in psutil.process_iter(["name", "cmdline"])
            if process.info["name"] == "java" and str(tmp_path) in " ".join(process.info["cmdline"])
        ]
        os.kill(pid, signal.SIGKILL)
        up.wait_for("broker broker-1 has ended; it is not restarted")
        assert up.end(signal.SIGINT) == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "brokers" / "broker-1" / "data" / "kahadb").is_dir()
