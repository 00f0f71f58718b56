"""Checks the command line that starts the analysis."""

from pathlib import Path

import pytest

from records.analysis_command import analysis_command, why_no_master


def test_the_master_is_passed_on_only_when_there_is_one() -> None:
    assert analysis_command([Path("runs/one"), Path("two")], None)[1:] == ["-m", "analysis.jobs", "runs/one", "two"]
    assert analysis_command([Path("runs/one")], "local[2]")[-2:] == ["--master", "local[2]"]


@pytest.mark.parametrize(
    "master",
    [
        *("local", "local[*]", "local[4]", "local[4,2]", "local[*, 2]", "local-cluster[2,1,1024]", "yarn"),
        *("spark://host:7077", "spark://one:7077,two:7077", "k8s://https://host:6443", "k8s://host:6443"),
    ],
)
def test_a_master_of_sparks_own_guide_is_one(master: str) -> None:
    assert why_no_master(master) == ""
