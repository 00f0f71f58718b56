"""Checks the command line that starts the analysis."""

from pathlib import Path

from records.analysis_command import analysis_command


def test_the_master_is_passed_on_only_when_there_is_one() -> None:
    assert analysis_command([Path("runs/one"), Path("two")], None)[1:] == ["-m", "analysis.jobs", "runs/one", "two"]
    assert analysis_command([Path("runs/one")], "local[2]")[-2:] == ["--master", "local[2]"]
