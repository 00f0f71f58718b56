"""Checks that CI's step for Toxiproxy builds it only if it is missing, and tries twice."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.test_ci_installs import tool
from tests.house.tree import ROOT

SERVER = "toxiproxy-server"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with the programs that the script needs, and a sleep that does not wait."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "dirname", "mkdir", "mktemp", "mv", "rm"):
        (folder / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name}"))
    tool(folder, "sleep", "exit 0")
    return folder


def go(folder: Path, failures: int) -> Path:
    """A fake program that records each call; the first ``failures`` builds fail."""
    calls = folder.parent / "calls"
    tool(
        folder,
        "go",
        f'[ "$1" = version ] && exit 0; echo "$CGO_ENABLED $*" >>{calls}\n'
        f"n=0; while read -r _; do n=$((n + 1)); done <{calls}\n"
        f'[ "$n" -gt {failures} ] && echo server >"$GOBIN/server"',
    )
    return calls


def install(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(folder), "VENV": str(folder.parent / "venv")}
    line = ["bash", str(ROOT / ".ci" / "install-toxiproxy.sh")]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_one_on_the_path_is_left_alone(path: Path) -> None:
    calls = go(path, failures=0)
    tool(path, SERVER, "exit 0")
    assert install(path).stdout == f"toxiproxy: {path}/{SERVER}\n"
    assert not calls.exists()


@pytest.mark.parametrize("failures", [0, 1])
def test_it_is_built_into_the_environment_at_the_second_try_at_the_latest(path: Path, failures: int) -> None:
    calls = go(path, failures)
    built = install(path)
    assert built.returncode == 0, built.stderr
    assert (path.parent / "venv" / "bin" / SERVER).read_text(encoding="utf-8") == "server\n"
    calls_of_go = calls.read_text(encoding="utf-8").splitlines()
    assert len(calls_of_go) == 1 + failures
    assert all(call.startswith("0 install ") and "@v" in call for call in calls_of_go)  # 0: without CGO, so static


def test_what_cannot_be_built_is_a_failure(path: Path) -> None:
    go(path, failures=9)
    failed = install(path)
    assert failed.returncode == 1
    assert "toxiproxy: could not be built" in failed.stderr
