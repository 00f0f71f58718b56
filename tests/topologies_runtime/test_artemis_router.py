"""Checks how a router is started with the brokers, and the error before the start if it is missing.

`test_real_router` tests with a real router.
"""

import sys
from pathlib import Path

import pytest

from records.errors import UserError
from records.store.rundir import RunDirectory
from topologies.artemis.router import command, find, listens, version_of
from topologies.catalogue.lookup import build
from topologies.model.broker import AnyBroker
from topologies.model.launch import LOOPBACK, BrokerFolders
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.processes.runtime import ProcessRuntime


def named_brokers(entry: str) -> tuple[str, tuple[AnyBroker, ...]]:
    topology = build(entry)
    return topology.name, topology.brokers


def program(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all programs outside ``folder``."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


@pytest.mark.parametrize("there", ["", "skrouterd"])
def test_a_router_that_is_not_there_is_told_before_anything_starts(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skupper's router does not count as a Qpid Dispatch router."""
    if there:
        program(tmp_path, there, "exit 0")
    nowhere(tmp_path, monkeypatch)
    runtime = ProcessRuntime(build("router-peer"), RunDirectory.create(tmp_path, "run"))
    with pytest.raises(RuntimeFailed) as refused:
        runtime.up(lambda _line: None)
    assert str(refused.value) == (
        "topology 'router-peer': router 'router' needs qdrouterd (Qpid Dispatch 1.19.0), which is not on PATH or"
        f" in {tmp_path} (Skupper's skrouterd cannot be used: it has no waypoints); build it by bash"
        " .ci/build-router.sh SOURCES, as docs/topologies.md says, or choose another topology"
    )
    assert not list(tmp_path.glob("run/brokers/*")), "no broker was prepared"


def test_a_topology_of_brokers_only_looks_for_no_router(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere(tmp_path, monkeypatch)
    assert find(*named_brokers("cluster"), LOOPBACK) is None


@pytest.mark.parametrize("where", ["PATH", "beside"])
def test_a_router_is_looked_for_on_the_path_and_beside_python(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = program(tmp_path, "qdrouterd", "exit 0")
    nowhere(tmp_path / "empty", monkeypatch)
    if where == "PATH":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find(*named_brokers("router-peer"), LOOPBACK) == router


def test_a_router_asks_nobody_for_a_password_so_it_stays_on_loopback() -> None:
    with pytest.raises(UserError, match=r"so it listens on 127\.0\.0\.1 and not on 10\.0\.0\.1; leave --bind-host"):
        find(*named_brokers("router-peer"), "10.0.0.1")


def test_a_router_is_told_its_configuration_and_no_password() -> None:
    line = command(Path("/opt/qdrouterd"), BrokerFolders(Path("/run/brokers/router")))
    assert line == ["/opt/qdrouterd", "--conf", "/run/brokers/router/conf/qdrouterd.conf"]


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("2026-11-22 01:34:52.663192 +0000 SERVER (notice) Listening on 127.0.0.1:44991", True),
        ("2026-11-22 01:34:52.662376 +0000 CONN_MGR (info) Configured Listener: 127.0.0.1:44991 proto=any", False),
        ("2026-11-22 01:34:54.815810 +0000 SERVER (error) Listener error on 127.0.0.1:44991: Address already", False),
    ],
)
def test_a_router_listens_once_it_says_so(line: str, does: bool) -> None:
    assert listens(["Router started", line]) is does


def test_a_router_says_its_version(tmp_path: Path) -> None:
    assert version_of(program(tmp_path, "qdrouterd", "echo 1.19.0")) == "1.19.0"


def test_a_router_that_does_not_run_is_told_with_its_own_words(tmp_path: Path) -> None:
    broken = program(tmp_path, "qdrouterd", "echo 'libqpid-proton-core.so.10: cannot open' >&2; exit 127")
    with pytest.raises(UserError, match=r"qdrouterd --version ends with status 127: libqpid\S+ cannot open; "):
        version_of(broken)
    broken.chmod(0o644)
    with pytest.raises(UserError, match="Permission denied"):
        version_of(broken)
