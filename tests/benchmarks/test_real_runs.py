"""Checks that benchmarks find the run that they made, and report why a run could not be made."""

from pathlib import Path

import pytest

from benchmarks.real_runs import make_run, opened
from records.run import RunInfo
from records.store.rundir import RunDirectory


def recorded(folder: Path, run: str) -> None:
    RunDirectory.create(folder, run).write_run(RunInfo(run, "steady", "mesh", "memory", "memory"))


def test_of_a_folder_of_runs_the_new_one_is_opened(tmp_path: Path) -> None:
    recorded(tmp_path, "run-2")
    before = set(tmp_path.iterdir())
    recorded(tmp_path, "run-1")
    assert opened(tmp_path, before).read_run().run_id == "run-1"


def test_what_a_run_printed_says_why_it_could_not_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCUST_SKIP_MONKEY_PATCH")  # of tests that import Locust, and rejected in a run
    with pytest.raises(RuntimeError, match=r"(?s)failed with status \d+:.*--topology.*nonesuch"):
        make_run("scenarios/steady.py", ["--topology", "nonesuch"], tmp_path / "runs")
