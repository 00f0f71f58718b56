"""Checks the machine and the versions that a run records."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import machine
from harness.java_parts import java_client_versions

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C")


def test_the_commit_of_the_harness_is_on_record_and_whether_files_differ_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "CLONE", tmp_path)
    assert "commit" not in machine.versions(), "no clone: nothing is known"
    (tmp_path / "a").write_text("1")
    for command in (("init", "-q"), ("add", "a"), ("commit", "-qm", "a")):
        subprocess.run([*GIT, str(tmp_path), *command], check=True)
    commit = machine.versions()["commit"]
    assert len(commit) == 12
    (tmp_path / "notes").write_text("not tracked")
    assert machine.versions()["commit"] == commit
    (tmp_path / "inner").mkdir()
    monkeypatch.setattr(machine, "CLONE", tmp_path / "inner")
    assert "commit" not in machine.versions(), "installed inside another repository"
    monkeypatch.setattr(machine, "CLONE", tmp_path)
    (tmp_path / "a").write_text("2")
    assert machine.versions()["commit"] == f"{commit}, changed"


def test_limits_of_a_container_are_on_record_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CPU_LIMIT", "MEMORY_LIMIT", "GOVERNOR"):
        monkeypatch.setattr(machine, name, tmp_path / name)
    assert {"cpu_limit_cores", "memory_limit_bytes"}.isdisjoint(machine.describe())
    assert machine.describe()["cpu_governor"] == "unknown"
    (tmp_path / "CPU_LIMIT").write_text("150000 100000\n")
    (tmp_path / "MEMORY_LIMIT").write_text("max\n")
    (tmp_path / "GOVERNOR").write_text("powersave\n")
    description = machine.describe()
    assert (description["cpu_limit_cores"], description["cpu_governor"]) == (1.5, "powersave")
    assert "memory_limit_bytes" not in description


def test_each_java_client_among_the_protocols_has_its_version() -> None:
    assert set(java_client_versions(("stomp", "core"))) == {"core client"}
    assert java_client_versions(("openwire",))["openwire client"].startswith("5.")


def test_a_version_that_one_of_two_clients_has_leaves_the_other_its_default() -> None:
    default = java_client_versions(("openwire", "core"))
    assert java_client_versions(("openwire", "core"), "2.40.0") == default | {"core client": "2.40.0"}
    assert java_client_versions(("openwire", "core"), "5.16.6") == default | {"openwire client": "5.16.6"}


@pytest.mark.parametrize("hard", [64, 200, 256])
def test_too_few_open_files_are_named(hard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (hard, hard))
    assert machine.why_too_few_files(12).startswith(
        f"open files: a process may open at most {hard} here (ulimit -Hn), but a run with 12 clients needs 512; raise"
    )


def test_each_client_needs_an_open_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (64, 1_024))
    assert machine.why_too_few_files(700) == ""
    assert "a run with 1,000 clients needs 1,256" in machine.why_too_few_files(1_000)
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (64, machine.resource.RLIM_INFINITY))
    assert machine.why_too_few_files(100_000) == ""


def test_missing_names_and_temporary_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (machine.why_no_names(), machine.why_no_temporary_files()) == ("", "")
    monkeypatch.setattr(machine, "LOCALHOST", "no-such-host.invalid")
    assert machine.why_no_names().startswith("names: no-such-host.invalid cannot be resolved (")
    monkeypatch.setattr(machine.tempfile, "tempdir", str(tmp_path / "missing"))
    assert machine.why_no_temporary_files().startswith("temporary files: cannot be written (")


def test_a_limit_of_file_size_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (51_200, machine.resource.RLIM_INFINITY))
    assert machine.why_too_small_files() == (
        "file size: a process may write files of at most 0.0488 MiB here (ulimit -f), but a run needs 64; raise the "
        "limit, for example with ulimit -f unlimited in a new shell"
    )
    for enough in (64 << 20, machine.resource.RLIM_INFINITY):
        monkeypatch.setattr(machine.resource, "getrlimit", lambda _, enough=enough: (enough, enough))
        assert machine.why_too_small_files() == ""


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the folder of the runs does not exist yet."""
    runs = tmp_path / "new" / "runs"
    assert machine.why_full(runs) == ""
    asked: list[Path] = []

    def usage(folder: Path) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(free=1 << 19)

    monkeypatch.setattr(machine.shutil, "disk_usage", usage)
    assert machine.why_full(runs) == (
        f"--runs {runs}: 0.5 MiB are free on its disk, but a run needs at least 1; free some space, or choose another "
        "folder"
    )
    assert asked == [tmp_path]
