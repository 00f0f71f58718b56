"""Checks that files are written completely, that links stay links, and that no file replaces a device."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from records.errors import RunUnwritable
from records.files import exclusive_lock, is_device, remove_file, replace_whole

PRINTS_A_FILE = """
from pathlib import Path
from records.files import is_device, remove_file, replace_whole
assert is_device(Path("/dev/stdout"))  # otherwise this test would replace it
remove_file(Path("/dev/stdout"))
replace_whole(Path("/dev/stdout"), lambda place: place.write_text("a report"))
print(", and more")
"""


def text(path: Path, content: str) -> None:
    replace_whole(path, lambda place: place.write_text(content))


def test_a_link_stays_a_link_to_the_file_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    link = tmp_path / "link"
    link.symlink_to("below/file")
    for content in ("first", "second"):
        text(link, content)
        assert (tmp_path / "below" / "file").read_text() == content
    remove_file(link)
    assert link.is_symlink()
    assert list((tmp_path / "below").iterdir()) == []


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for attempt in (lambda: text(tmp_path / "loop", "x"), lambda: remove_file(tmp_path / "loop")):
        with pytest.raises(RunUnwritable, match=r"loop: cannot be .*: Too many levels of symbolic links"):
            attempt()
    assert (tmp_path / "loop").is_symlink()


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        text(pipe, "a report")
        assert reader.communicate(timeout=60)[0] == "a report"
    remove_file(pipe)
    assert pipe.is_fifo()


@pytest.mark.parametrize("to", ["a pipe", "a file"])
def test_standard_output_is_written_to_and_never_replaced(tmp_path: Path, to: str) -> None:
    with (tmp_path / "output").open("w+") as file:
        output = file if to == "a file" else subprocess.PIPE
        process = subprocess.run([sys.executable, "-c", PRINTS_A_FILE], stdout=output, text=True, check=True)
        if to == "a pipe":
            assert process.stdout == "a report, and more\n"
        assert os.path.samestat(os.fstat(file.fileno()), (tmp_path / "output").stat())
    assert Path("/dev/stdout").exists()


def test_what_is_no_place_for_a_file_is_told_from_what_is(tmp_path: Path) -> None:
    assert [is_device(Path(path)) for path in ("/dev/stdout", "/dev/full", "/dev/null", "/proc/none")] == [True] * 4
    (tmp_path / "file").touch()
    assert not any(map(is_device, (tmp_path, tmp_path / "file", tmp_path / "none", Path("dev/x"), Path("/dev/shm/x"))))


def test_a_device_that_is_full_is_told_and_stays() -> None:
    assert is_device(Path("/dev/full"))  # otherwise this test would replace it
    with pytest.raises(RunUnwritable, match="/dev/full: cannot be written: No space left on device"):
        text(Path("/dev/full"), "x")
    assert Path("/dev/full").is_char_device()


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        exclusive_lock(tmp_path, "analysing"),
        pytest.raises(RunUnwritable, match=r"another process is analysing it now: wait until it ends$"),
        exclusive_lock(tmp_path, "analysing"),
    ):
        raise AssertionError
    with exclusive_lock(tmp_path, "analysing"):
        assert list(tmp_path.iterdir()) == []
