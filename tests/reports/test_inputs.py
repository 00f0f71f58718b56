"""Checks the errors for runs that cannot be reported: each has the problem and the next step."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from records.errors import RunUnreadable, RunUnwritable
from records.run import Phases
from records.store.rundir import RunDirectory
from reports.build import write_report
from reports.inputs import read_results
from tests.reports.run_folder import RunPlan, write_run_folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run_folder(tmp_path, RunPlan(load_s=2, per_s=20, fault_s=None))


def refusal(run: Path) -> str:
    with pytest.raises(RunUnreadable) as refused:
        write_report(run)
    assert not (run / "report.html").exists()
    return str(refused.value).replace(str(run), "RUN")


def rewrite(run: Path, **changes: Any) -> None:
    path = run / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_run_that_was_not_analysed(run: Path) -> None:
    (run / "summary.json").unlink()
    expected = "RUN/summary.json: missing, so the run was not analyzed: run `brokerbench analyse RUN` first"
    assert refusal(run) == expected


def test_a_run_that_never_began_is_made_again_and_not_analysed(run: Path) -> None:
    (run / "summary.json").unlink()
    directory = RunDirectory.open(run)
    directory.write_run(replace(directory.read_run(), state="failed", phases=Phases()))
    assert refusal(run) == "RUN: the run never began (it failed before its load), so make it again"


def test_a_summary_that_is_no_json(run: Path) -> None:
    (run / "summary.json").write_text("{")
    assert refusal(run).startswith("RUN/summary.json: cannot be read as JSON (")


def test_a_summary_of_another_version(run: Path) -> None:
    rewrite(run, summary_version=9)
    expected = "RUN/summary.json: summary_version is 9, this report reads 3: run `brokerbench analyse RUN` first"
    assert refusal(run) == expected


def test_a_summary_without_one_of_its_keys(run: Path) -> None:
    document = json.loads((run / "summary.json").read_text())
    del document["lag_ms"]
    (run / "summary.json").write_text(json.dumps(document))
    assert "the key 'lag_ms' is missing" in refusal(run)


def test_a_verdict_that_nobody_knows(run: Path) -> None:
    rewrite(run, verdict="great")
    assert "unknown verdict 'great'; expected one of pass, fail, unknown, invalid, interrupted" in refusal(run)


def test_a_result_table_that_is_missing(run: Path) -> None:
    shutil.rmtree(run / "results" / "links")
    expected = "RUN/results/links: the result table 'links' is missing: run `brokerbench analyse RUN` first"
    assert refusal(run) == expected


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table({"from_broker": ["a"]}), "the column 'to_broker' of 'links' is missing"),
        (
            pa.table({"from_broker": ["a"], "to_broker": ["b"], "connector": ["c"], "forwarded": [1.5]}),
            "the column 'forwarded' of 'links' is of type double, not int64",
        ),
    ],
)
def test_a_result_table_of_another_schema(run: Path, table: pa.Table, reason: str) -> None:
    pq.write_table(table, run / "results" / "links" / "all.parquet")
    assert reason in refusal(run)


def test_a_damaged_result_table(run: Path) -> None:
    (run / "results" / "links" / "all.parquet").write_bytes(b"PAR1")
    assert "RUN/results/links/all.parquet: cannot be read as Parquet" in refusal(run)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match=r"not a run folder, as it has no run\.json"):
        read_results(tmp_path)


def test_a_run_without_fault_events_is_still_reported(run: Path) -> None:
    shutil.rmtree(run / "events")
    assert read_results(run).faults is None
    assert write_report(run).is_file()


def test_a_report_that_cannot_be_written_leaves_nothing_behind(run: Path) -> None:
    (run / "report.html").mkdir()
    with pytest.raises(RunUnwritable, match="cannot be written"):
        write_report(run)
    assert [path.name for path in run.iterdir() if path.name.startswith(".")] == []
