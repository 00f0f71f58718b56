"""Checks the lists of digests: their content, and the files that they report as changed."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from records.errors import RunUnreadable
from records.store.digests import digests, find_changed_files, read_list, require_listed_events, write_list
from records.store.rundir import RunDirectory

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sets(NAMES.filter(lambda name: name not in (".", "..")), min_size=1))
def test_any_name_comes_back_from_a_list(tmp_path: Path, names: set[str]) -> None:
    listed = dict.fromkeys(sorted(names), "0" * 64)
    write_list(tmp_path / "list", listed)
    assert read_list(tmp_path / "list") == listed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "below/b", "line\nbreak", "back\\slash"):
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_text(name)
    return tmp_path / "folder"


def test_sha256sum_reads_a_list(folder: Path) -> None:
    write_list(folder.parent / "list", digests(folder, (path for path in folder.rglob("*") if path.is_file())))
    process = subprocess.run(
        ["sha256sum", "--check", "../list"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout.count(": OK")) == (0, 4)


def test_a_file_that_is_changed_gone_or_a_folder_is_told(folder: Path) -> None:
    listed = digests(folder, (path for path in folder.rglob("*") if path.is_file()))
    assert find_changed_files(folder, listed) == []
    (folder / "a").write_text("b")
    shutil.rmtree(folder / "below")
    (folder / "line\nbreak").unlink()
    (folder / "line\nbreak").mkdir()
    assert find_changed_files(folder, listed) == ["a", "below/b", "line\nbreak"]


@pytest.mark.parametrize("text", ["abc  a\n", "0" * 64 + " a\n", "\0" * 100])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(ValueError, match="is not a line of sha256sum"):
        read_list(tmp_path / "list")


def test_a_run_with_a_removed_event_file_cannot_be_analysed(folder: Path) -> None:
    directory = RunDirectory(folder)
    faults = directory.events("faults") / "main.parquet"
    require_listed_events(directory)  # no analysis yet
    faults.parent.mkdir(parents=True)
    faults.touch()
    write_list(directory.digests_path, digests(folder, [faults]))
    require_listed_events(directory)
    faults.unlink()
    with pytest.raises(RunUnreadable) as refused:
        require_listed_events(directory)
    assert str(refused.value) == (
        f"{faults}: missing, and the last analysis read it: bring the folder back from a copy, or make the run again"
    )
