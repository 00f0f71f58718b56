"""Is a router started as brokers are, and is one that is not there told before anything starts?

The nightly ones take ``qdrouterd`` on PATH: docs/topologies.md says how it is built.
"""

from pathlib import Path

import pytest

from records.rundir import RunDirectory
from topologies.catalogue import build
from topologies.runtimes.artemis_router import RouterUnavailable, command, find_routers, version_of
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.jvm import BrokerFolders
from topologies.runtimes.processes import ProcessRuntime


def program(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("there", ["", "skrouterd"])
def test_a_router_that_is_not_there_is_told_before_anything_starts(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skupper's is no such router."""
    if there:
        program(tmp_path, there, "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    runtime = ProcessRuntime(build("router-peer"), RunDirectory.create(tmp_path, "run"))
    with pytest.raises(RuntimeFailed) as told:
        runtime.up(lambda _line: None)
    assert str(told.value) == (
        "topology 'router-peer': router 'router' needs qdrouterd (Qpid Dispatch 1.19.0) on PATH, and there is none"
        " (Skupper's skrouterd does not do: it has no waypoints); build it as docs/topologies.md says, or choose a"
        " topology of brokers only"
    )
    assert not list(tmp_path.glob("run/brokers/*")), "no broker was prepared"


def test_a_topology_of_brokers_only_looks_for_no_router(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_routers(build("cluster")) == {}


def test_a_router_is_told_its_configuration_and_no_password() -> None:
    line = command(Path("/opt/qdrouterd"), BrokerFolders(Path("/run/brokers/router")))
    assert line == ["/opt/qdrouterd", "--conf", "/run/brokers/router/conf/qdrouterd.conf"]


def test_a_router_says_its_version(tmp_path: Path) -> None:
    assert version_of(program(tmp_path, "qdrouterd", "echo 1.19.0")) == "1.19.0"


def test_a_router_that_does_not_run_is_told_with_its_own_words(tmp_path: Path) -> None:
    broken = program(tmp_path, "qdrouterd", "echo 'libqpid-proton-core.so.10: cannot open' >&2; exit 127")
    with pytest.raises(RouterUnavailable, match=r"qdrouterd --version ends with status 127: libqpid\S+ cannot open; "):
        version_of(broken)
    broken.chmod(0o644)
    with pytest.raises(RouterUnavailable, match="Permission denied"):
        version_of(broken)
