"""Checks how the lines of Profile.java become profiles, and that profiles survive being written and read."""

from pathlib import Path

import pytest

from records.errors import RunUnreadable
from records.figures.profiles import (
    FILE,
    JvmProfile,
    LockWaits,
    MethodSamples,
    Pause,
    parse_profile,
    read_profiles,
    samples_by_method,
    write_profiles,
)
from records.store.rundir import RunDirectory

LINES = (
    "pause\t1500\t30\tG1 Evacuation Pause",
    "sample\tjava.util.HashMap.get\torg.apache.activemq.Broker.send\t3",
    "sample\tjava.util.HashMap.get\t\t4",
    "sample\torg.apache.activemq.Broker.send\torg.apache.activemq.Broker.send\t5",
    "lock\tjava.lang.Object\t\t1\t20",
    "lock\tjava.util.concurrent.locks.ReentrantLock$NonfairSync\torg.apache.activemq.Broker.send\t2\t50",
    "events\t99",
)


def test_lines_become_a_profile_sorted_by_weight() -> None:
    profile = parse_profile(JvmProfile("b", files=("b.jfr",)), LINES, epoch_offset_ns=1_000)
    assert profile.pauses == (Pause(500, 30, "G1 Evacuation Pause"),)
    assert [entry.samples for entry in profile.methods] == [5, 4, 3]
    assert [entry.waited_ns for entry in profile.locks] == [50, 20]
    assert samples_by_method([profile]) == {"java.util.HashMap.get": 7, "org.apache.activemq.Broker.send": 5}


@pytest.mark.parametrize("lines", [LINES[:-1], (*LINES, "other\t1"), ()])
def test_incomplete_or_unknown_lines_are_rejected(lines: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"last line is missing|unknown line"):
        parse_profile(JvmProfile("b"), lines, 0)


def test_profiles_are_read_as_they_were_written(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "run")
    assert read_profiles(directory) == ()
    methods, locks = (MethodSamples("a.B.c", "", 2),), (LockWaits("L", "a.B.c", 1, 10_000_000),)
    full = JvmProfile("b", True, ("f", "g"), "", (Pause(1, 2, "x"),), methods, locks)
    profiles = (full, JvmProfile("c", missing="gone"))
    write_profiles(directory, profiles)
    assert read_profiles(directory) == profiles


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "run")
    (directory.path / FILE).write_text('[{"name": 1}]', encoding="utf-8")
    with pytest.raises(RunUnreadable, match=FILE):
        read_profiles(directory)
