"""Checks that Qpid Dispatch's router is built only if it is missing, and only from the sources that it needs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.house.test_ci_installs import tool, with_only
from tests.house.tree import ROOT
from topologies.artemis.router import QDROUTERD, VERSION

NEEDED = (
    "bash",
    "cat",
    "cp",
    "dirname",
    "env",
    "id",
    "install",
    "mkdir",
    "mktemp",
    "nproc",
    "realpath",
    "rm",
    "tail",
    "tr",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with the programs that the script needs, and fake build tools that record their calls."""
    folder = with_only(tmp_path / "bin", NEEDED)
    calls = tmp_path / "calls"
    for name, body in (("apt-get", ""), ("gcc", 'echo "/lib/${1#*=}"'), ("cmake", CONFIGURE), ("make", MAKE)):
        tool(folder, name, f'echo "{name} $*" >>{calls}\n{body}')
    tool(folder, "sudo", 'shift; exec "$@"')
    return folder


CONFIGURE = 'echo >config.sh; mkdir -p "$4/python" "$4/router"; echo site >"$4/python/qpid_dispatch_site.py"'
MAKE = 'printf "#!/bin/sh\\n" >"$2/router/qdrouterd"'


def sources(folder: Path, version: str = VERSION) -> Path:
    folder_of_sources = folder / "sources"
    (folder_of_sources / "python" / "qpid_dispatch").mkdir(parents=True)
    (folder_of_sources / "VERSION.txt").write_text(f"{version}\n", encoding="utf-8")
    return folder_of_sources


def build(folder: Path, *arguments: str, here: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(folder), "VENV": str(folder.parent / "venv")}
    line = ["bash", str(ROOT / ".ci" / "build-router.sh"), *arguments]
    return subprocess.run(line, cwd=here, env=environment, capture_output=True, text=True, timeout=60)


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
    assert sorted(module.name for module in modules.iterdir()) == ["qpid_dispatch", "qpid_dispatch_site.py"]
    assert not (ROOT / "config.sh").exists(), "what CMake writes where it is called is not left in the checkout"
    assert f"-DCMAKE_INSTALL_PREFIX={venv} " in (path.parent / "calls").read_text(encoding="utf-8")


def test_sources_are_found_from_where_they_were_named(path: Path) -> None:
    unpacked = sources(path.parent)
    built = build(path, unpacked.name, here=unpacked.parent)
    assert built.returncode == 0, built.stderr
    assert f"cmake -S {unpacked} " in (path.parent / "calls").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("version", "refusal"),
    [
        ("1.18.0", "{0} holds Qpid Dispatch '1.18.0' by its VERSION.txt, and 1.19.0 is needed; "),
        (None, "{0} has no VERSION.txt, which sources of Qpid Dispatch 1.19.0 have; "),
    ],
)
def test_other_sources_are_refused_before_anything_is_installed(path: Path, version: str | None, refusal: str) -> None:
    unpacked = sources(path.parent, version or "")
    if version is None:
        (unpacked / "VERSION.txt").unlink()
    assert_refused(build(path, str(unpacked)), path, refusal.format(unpacked))


def test_no_sources_at_all_are_asked_for(path: Path) -> None:
    assert_refused(build(path), path, "SOURCES is missing: it builds Qpid Dispatch 1.19.0; ")


def assert_refused(refused: subprocess.CompletedProcess[str], path: Path, refusal: str) -> None:
    """Assert that the script fails in one line, with the next step, before it does anything."""
    step = f"name the folder of its release archive, unpacked, or of a checkout of its tag {VERSION}\n"
    assert (refused.returncode, refused.stderr) == (1, f"build-router: {refusal}{step}")
    assert not (path.parent / "calls").exists()


def test_what_cannot_be_built_is_a_failure_with_the_last_that_was_said(path: Path) -> None:
    tool(path, "make", "echo no rule; exit 2")
    failed = build(path, str(sources(path.parent)))
    assert failed.returncode == 1
    assert failed.stderr.startswith("no rule\nbuild-router: ")
