"""Does the CI's browser step install only what is missing, and try twice?"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT

NEEDED = ("bash", "env", "id")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH that has no browser: only what the script itself needs, and a sleep that does not wait."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name}"))
    for name, body in (("sleep", "exit 0"), ("sudo", 'shift; exec "$@"')):
        tool(folder, name, body)
    return folder


def tool(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def apt_get(folder: Path, failures: int) -> Path:
    """A stand-in whose first ``failures`` updates fail; it writes down each call."""
    calls = folder.parent / "calls"
    tool(
        folder,
        "apt-get",
        f'echo "$*" >>{calls}; [ "$1" = install ] && printf "#!/bin/sh\\n" >{folder}/chromium && '
        f"{shutil.which('chmod')} +x {folder}/chromium && exit 0\n"
        f'n=0; while read -r _; do n=$((n + 1)); done <{calls}; [ "$n" -gt {failures} ]',
    )
    return calls


def install(folder: Path) -> subprocess.CompletedProcess[str]:
    script = ["bash", str(ROOT / ".ci" / "install-browser.sh")]
    environment = {**os.environ, "PATH": str(folder)}
    return subprocess.run(script, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_a_browser_that_is_there_is_left_alone(path: Path) -> None:
    calls = apt_get(path, failures=0)
    tool(path, "google-chrome", "exit 0")
    assert install(path).returncode == 0
    assert not calls.exists()


@pytest.mark.parametrize("failures", [0, 1])
def test_a_missing_browser_is_installed_at_the_second_try_at_the_latest(path: Path, failures: int) -> None:
    calls = apt_get(path, failures)
    installed = install(path)
    assert installed.returncode == 0, installed.stderr
    assert installed.stdout.endswith(f"{path}/chromium\n")
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2 + failures


def test_a_browser_that_cannot_be_had_is_a_failure(path: Path) -> None:
    apt_get(path, failures=9)
    assert install(path).returncode != 0
