"""Checks that only the owner can read a run's passwords, and that they are removed with the run."""

import re
import stat
from pathlib import Path

from records.temporary import LOCK
from topologies.model.launch import properties
from topologies.runtimes.private import PREFIX, PrivateFolder, new_password


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def stale(parent: Path, lock: str | None) -> Path:
    folder = parent / f"{PREFIX}old"
    folder.mkdir()
    if lock is not None:
        (folder / LOCK).write_text(lock)
    return folder


def test_folder_and_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = PrivateFolder.create(tmp_path)
    file = folder.write("a.properties", "password=x")
    assert (mode(folder.path), mode(file)) == (0o700, 0o600)
    assert file.read_text() == "password=x"


def test_a_removed_folder_is_gone_and_may_be_removed_again(tmp_path: Path) -> None:
    folder = PrivateFolder.create(tmp_path)
    folder.remove()
    folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_dead_processes_go_when_the_next_is_made(tmp_path: Path) -> None:
    stale_folder = stale(tmp_path, "")
    PrivateFolder.create(tmp_path)
    assert not stale_folder.exists()


def test_folders_of_running_processes_and_unfinished_ones_stay(tmp_path: Path) -> None:
    running = PrivateFolder.create(tmp_path)
    unfinished = stale(tmp_path, None)
    PrivateFolder.create(tmp_path)
    assert running.path.exists()
    assert unfinished.exists()


def test_passwords_differ_and_need_no_escaping_anywhere() -> None:
    passwords = {new_password() for _ in range(50)}
    assert len(passwords) == 50
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", password) for password in passwords)


def test_properties_are_one_a_line() -> None:
    assert properties({"user": "a", "password": "b-_"}) == "user=a\npassword=b-_\n"
