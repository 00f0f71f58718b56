"""Checks that CI's steps for Chromium, iproute2 and Compose install only missing packages, and try twice."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.house.tree import ROOT

NEEDED = ("bash", "dirname", "env", "id")
BROWSER, NETWORK_TOOLS, COMPOSE = "install-browser.sh", "install-network-tools.sh", "install-compose.sh"
MISSING = [(BROWSER, "chromium"), (NETWORK_TOOLS, "ip"), (COMPOSE, "docker-compose")]


def with_only(folder: Path, names: Iterable[str]) -> Path:
    """Create a PATH folder with these programs of this machine."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name}"))
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with only the programs that the script needs, and a sleep that does not wait."""
    folder = with_only(tmp_path / "bin", NEEDED)
    for name, body in (("sleep", "exit 0"), ("sudo", 'shift; exec "$@"')):
        tool(folder, name, body)
    return folder


def tool(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def apt_get(folder: Path, program: str, failures: int) -> Path:
    """Create a fake apt-get whose first ``failures`` updates fail, and which records each call."""
    calls = folder.parent / "calls"
    tool(
        folder,
        "apt-get",
        f'echo "$*" >>{calls}; [ "$1" = install ] && printf "#!/bin/sh\\n" >{folder}/{program} && '
        f"{shutil.which('chmod')} +x {folder}/{program} && exit 0\n"
        f'n=0; while read -r _; do n=$((n + 1)); done <{calls}; [ "$n" -gt {failures} ]',
    )
    return calls


def install(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    line = ["bash", str(ROOT / ".ci" / script)]
    environment = {**os.environ, "PATH": str(folder)}
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(("script", "there"), [(BROWSER, "google-chrome"), *MISSING, (COMPOSE, "docker")])
def test_what_is_there_is_left_alone(path: Path, script: str, there: str) -> None:
    calls = apt_get(path, there, failures=0)
    tool(path, there, "exit 0")
    assert install(path, script).returncode == 0
    assert not calls.exists()


@pytest.mark.parametrize("failures", [0, 1])
@pytest.mark.parametrize(("script", "program"), MISSING)
def test_what_is_missing_is_installed_at_the_second_try_at_the_latest(
    path: Path, script: str, program: str, failures: int
) -> None:
    calls = apt_get(path, program, failures)
    installed = install(path, script)
    assert installed.returncode == 0, installed.stderr
    assert installed.stdout.endswith(f"{path}/{program}\n")
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2 + failures


@pytest.mark.parametrize(("script", "program"), MISSING)
def test_what_cannot_be_had_is_a_failure(path: Path, script: str, program: str) -> None:
    apt_get(path, program, failures=9)
    assert install(path, script).returncode != 0
