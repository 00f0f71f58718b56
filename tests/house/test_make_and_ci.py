"""Checks that make fails at once, with the next step, and what it hands on to the commands."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SOURCED = ("go-program.sh", "steps.sh")
"""Scripts that other scripts source."""


def executable(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "Makefile", folder)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False, env=environment
    )


def test_help_tells_every_target(tmp_path: Path) -> None:
    help_text = make(tmp_path).stdout
    (targets,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(targets.split()) > 10
    assert [target for target in targets.split() if f"make {target} " not in help_text] == []


def test_a_python_that_is_too_old_is_named(tmp_path: Path) -> None:
    old_python = executable(tmp_path / "old-python", "exit 1")
    process = make(tmp_path, ".venv/bin/python", f"PYTHON={old_python}")
    assert process.returncode != 0
    assert f"PYTHON={old_python} is not a Python 3.11 or newer" in process.stderr


def test_no_python_at_all_is_one_sentence(tmp_path: Path) -> None:
    process = make(tmp_path, ".venv/bin/python", "PYTHON_CANDIDATES=no-such-python")
    assert process.returncode != 0
    assert "no Python 3.11 or newer among no-such-python" in process.stderr


def test_a_python_without_venv_says_what_to_install(tmp_path: Path) -> None:
    bare = executable(tmp_path / "bare-python", 'case "$2" in *venv*) exit 1 ;; esac')
    process = make(tmp_path, ".venv/bin/python", f"PYTHON={bare}")
    assert process.returncode != 0
    assert "apt-get install python3-venv" in process.stderr


INPUTS = ("pyproject.toml", "requirements.lock", "requirements-build.lock")
AMQP_INPUTS = ("requirements-amqp.lock", "requirements-amqp-build.lock", ".ci/build-amqp.sh")


@pytest.mark.parametrize("changed", [*INPUTS, *AMQP_INPUTS])
def test_a_changed_lock_file_is_installed_again(tmp_path: Path, changed: str) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".ci").mkdir()
    executable(tmp_path / ".venv" / "bin" / "python", "exit 0")
    in_order = (".venv/bin/python", *INPUTS, ".venv/.installed", *AMQP_INPUTS, ".venv/.installed-amqp")
    for age, name in enumerate(in_order):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1_000_000 + age, 1_000_000 + age))
    command = "pip install" if changed in INPUTS else "build-amqp.sh .venv"
    assert command not in make(tmp_path, "--dry-run", "bench").stdout
    (tmp_path / changed).touch()
    assert command in make(tmp_path, "--dry-run", "bench").stdout


def test_who_only_runs_installs_nothing_for_development(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    for name in (*INPUTS, *AMQP_INPUTS, "requirements-dev.lock"):
        (tmp_path / name).touch()
    commands = {target: make(tmp_path, "--dry-run", target).stdout for target in ("install", "setup")}
    needed = ("requirements.lock", "build-amqp.sh .venv")
    assert [word for word in needed if word not in commands["install"]] == []
    assert "requirements-dev.lock" in commands["setup"]
    assert "requirements-dev.lock" not in commands["install"]


def build_amqp(folder: Path, compiler: str) -> subprocess.CompletedProcess[str]:
    """Return the script that builds AMQP's library, with a pip that only prints its arguments."""
    (folder / "bin").mkdir()
    executable(folder / "bin" / "python", f'case "$1" in -c) echo cc;; *) echo "$@" >>{folder}/asked;; esac')
    environment = {**os.environ, "CC": str(executable(folder / "compiler", compiler))}
    script = ["bash", ".ci/build-amqp.sh", str(folder)]
    return subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, env=environment)


def test_without_a_compiler_amqp_is_left_out_with_one_line_that_says_what_to_install(tmp_path: Path) -> None:
    built = build_amqp(tmp_path, "exit 1")
    assert (built.returncode, built.stdout) == (0, "")
    assert built.stderr.startswith(
        "AMQP clients are left out: no C compiler with Python's headers (apt-get install gcc"
    )
    assert built.stderr.count("\n") == 1
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / ".installed-amqp").exists()  # so that the next run tries again


def test_with_a_compiler_what_builds_amqp_comes_first_and_every_hash_is_checked(tmp_path: Path) -> None:
    assert build_amqp(tmp_path, "exit 0").returncode == 0
    build_tools_call, amqp_call = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert "--require-hashes --requirement requirements-amqp-build.lock" in build_tools_call
    assert "--require-hashes --use-pep517 --no-build-isolation --requirement requirements-amqp.lock" in amqp_call
    assert (tmp_path / ".installed-amqp").exists()


def test_the_scripts_can_be_executed() -> None:
    scripts = [path for path in (ROOT / ".ci").iterdir() if path.name not in SOURCED]
    assert [script.name for script in scripts if not os.access(script, os.X_OK)] == []


def test_whatever_is_made_keeps_compiled_modules_even_if_the_environment_forbids_it() -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "KEPT": "yes"}
    command = ["make", "--silent", "--eval", "show: ; @env", "show"]
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert "KEPT=yes" in shown.splitlines()
    assert "PYTHONDONTWRITEBYTECODE" not in shown
