"""Checks that an event table is read from the files of its own folder, whatever the folder is called."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.tables import read_events
from records.reader import seal
from records.writer import Recorder
from tests.analysis.runs import LOAD_NS, make

pytestmark = pytest.mark.spark


def members_in(parent: Path, *users: int) -> Path:
    """The sealed table of members of a run below ``parent``."""

    def plant(recorder: Recorder) -> None:
        for user in users:
            recorder.member(user, user, "consumers", "consumer", "C", LOAD_NS)

    directory = make(parent, plant)
    seal(directory)
    return directory.events("members")


@pytest.mark.parametrize(("name", "another"), [("a[1]", "a1"), ("b{1,2}", "b1"), ("c*?", "cc1"), ("d\\[1] %41ü", "d1")])
def test_a_folders_name_is_no_pattern(spark: SparkSession, tmp_path: Path, name: str, another: str) -> None:
    folder = members_in(tmp_path / name, 1, 2, 3)
    members_in(tmp_path / another, 9)
    (folder / "notes.txt").write_text("a file of somebody else")
    assert sorted(row.user for row in read_events(spark, "members", folder).collect()) == [1, 2, 3]
