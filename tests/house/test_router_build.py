"""Does the script for Qpid Dispatch's router build it only where it is missing, and from the sources that it is for?"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.house.test_ci_installs import tool, with_only
from tests.house.tree import ROOT
from topologies.runtimes.artemis_router import QDROUTERD, VERSION

NEEDED = ("bash", "cat", "cp", "dirname", "env", "id", "install", "mkdir", "mktemp", "nproc", "realpath", "rm", "tail")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with what the script itself needs, and stand-ins for what builds; each of these writes down its calls."""
    folder = with_only(tmp_path / "bin", NEEDED)
    calls = tmp_path / "calls"
    for name, body in (("apt-get", ""), ("gcc", 'echo "/lib/${1#*=}"'), ("cmake", CONFIGURE), ("make", MAKE)):
        tool(folder, name, f'echo "{name} $*" >>{calls}\n{body}')
    tool(folder, "sudo", 'shift; exec "$@"')
    return folder


CONFIGURE = 'echo >config.sh; mkdir -p "$4/python" "$4/router"; echo site >"$4/python/qpid_dispatch_site.py"'
MAKE = 'printf "#!/bin/sh\\n" >"$2/router/qdrouterd"'


def sources(folder: Path, version: str = VERSION) -> Path:
    made = folder / "sources"
    (made / "python" / "qpid_dispatch").mkdir(parents=True)
    (made / "VERSION.txt").write_text(f"{version}\n", encoding="utf-8")
    return made


def build(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(folder), "VENV": str(folder.parent / "venv")}
    line = ["bash", str(ROOT / ".ci" / "build-router.sh"), *arguments]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_one_on_the_path_is_left_alone(path: Path) -> None:
    tool(path, QDROUTERD, "exit 0")
    assert build(path).stdout == f"router: {path}/{QDROUTERD}\n"
    assert not (path.parent / "calls").exists()


def test_it_is_built_into_the_environment_with_the_modules_that_it_loads(path: Path) -> None:
    built = build(path, str(sources(path.parent)))
    assert built.returncode == 0, built.stderr
    venv = path.parent / "venv"
    assert built.stdout.endswith(f"router: {venv}/bin/{QDROUTERD}\n")
    modules = venv / "lib" / "qpid-dispatch" / "python"
    assert sorted(each.name for each in modules.iterdir()) == ["qpid_dispatch", "qpid_dispatch_site.py"]
    assert not (ROOT / "config.sh").exists(), "what CMake writes where it is called is not left in the checkout"
    assert f"-DCMAKE_INSTALL_PREFIX={venv} " in (path.parent / "calls").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", ["1.18.0", ""])
def test_other_sources_are_refused_before_anything_is_installed(path: Path, version: str) -> None:
    refused = build(path, *([str(sources(path.parent, version))] if version else []))
    assert refused.returncode == 1
    assert f"holds no sources of Qpid Dispatch {VERSION}: name a folder with its VERSION.txt" in refused.stderr
    assert not (path.parent / "calls").exists()


def test_what_cannot_be_built_is_a_failure_with_the_last_that_was_said(path: Path) -> None:
    tool(path, "make", "echo no rule; exit 2")
    failed = build(path, str(sources(path.parent)))
    assert failed.returncode == 1
    assert failed.stderr.startswith("no rule\nbuild-router: ")
