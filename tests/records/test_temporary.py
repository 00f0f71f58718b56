"""Checks that temporary folders are deleted with their processes, and that no other folder is deleted."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from records import temporary
from records.temporary import make_folder, remove_folder, remove_stale, temporary_folder

PREFIX = "brokerbench-test-"
MAKES_ONE = f"""
import sys, time
from pathlib import Path
from records.temporary import make_folder
folder = make_folder({PREFIX!r}, Path(sys.argv[1]))
(folder / "below").mkdir()
(folder / "below" / "file").write_text("left")
print(folder, flush=True)
time.sleep(60)
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_is_for_its_owner_only_and_gone_at_the_end(tmp_path: Path) -> None:
    with temporary_folder(PREFIX, tmp_path) as folder:
        assert folder.name.startswith(PREFIX)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert names(tmp_path) == set()


def test_a_killed_processs_folder_is_deleted_by_the_next(tmp_path: Path) -> None:
    """The folder of a running process stays."""
    with subprocess.Popen(
        [sys.executable, "-c", MAKES_ONE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        remove_folder(make_folder(PREFIX, tmp_path))
        assert (folder / "below" / "file").exists()
        process.kill()
    assert (folder / "below" / "file").exists()
    remove_folder(make_folder(PREFIX, tmp_path))
    assert names(tmp_path) == set()


def test_a_folder_of_this_very_process_stays(tmp_path: Path) -> None:
    own_folder = make_folder(PREFIX, tmp_path)
    make_folder(PREFIX, tmp_path)
    assert own_folder.exists()


def test_what_others_made_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / temporary.LOCK).touch()
    parent = tmp_path / "parent"
    parent.mkdir()
    (parent / f"{PREFIX}link").symlink_to(outside)
    (parent / f"{PREFIX}file").touch()
    (parent / f"{PREFIX}theirs").mkdir()
    (parent / f"{PREFIX}theirs" / "data").touch()
    (parent / f"{PREFIX}linked").mkdir()
    (parent / f"{PREFIX}linked" / temporary.LOCK).symlink_to(outside / temporary.LOCK)
    for folder in parent.iterdir():
        os.utime(folder, (0, 0), follow_symlinks=False)
    before = names(parent)
    remove_stale(PREFIX, parent)
    assert names(parent) == before
    assert names(outside) == {temporary.LOCK}


@pytest.mark.parametrize(("age_s", "stays"), [(0.0, True), (2 * temporary.UNFINISHED_FOR_S, False)])
def test_a_folder_whose_process_was_killed_as_it_made_it_goes_after_a_while(
    tmp_path: Path, age_s: float, stays: bool
) -> None:
    unfinished = tmp_path / f"{PREFIX}unfinished"
    unfinished.mkdir()
    (unfinished / f".{temporary.LOCK}").touch()
    made_s = unfinished.stat().st_mtime - age_s
    os.utime(unfinished, (made_s, made_s))
    remove_stale(PREFIX, tmp_path)
    assert unfinished.exists() == stays


def test_a_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / f"{PREFIX}theirs"
    theirs.mkdir()
    (theirs / temporary.LOCK).touch()
    monkeypatch.setattr(temporary.os, "getuid", lambda: os.geteuid() + 1)
    remove_stale(PREFIX, tmp_path)
    assert theirs.exists()


def test_a_folder_that_cannot_be_locked_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        make_folder(PREFIX, tmp_path)
    monkeypatch.undo()
    assert names(tmp_path) == set()
