"""Checks that a run reports missing rows, whether lost from a file or recorded too late."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from records.store.rundir import RunDirectory
from tests.support.locust_run import RunOutcome, make_run
from tests.support.recorded import record_instead

pytestmark = pytest.mark.spark

MISRECORDED = "tests/planted/locustfiles/misrecorded.py"
MEMORY = ("--runtime", "memory", "-t", "2s", "--warm-up", "0")


# In every test run: analysis/test_planted_runs.py covers the counts of each process, and missing rows.
@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """Make a run without a planted error."""
    return make_run(MISRECORDED, *MEMORY, runs=tmp_path_factory.mktemp("whole") / "runs")


@pytest.mark.nightly
def test_each_process_of_a_run_tells_what_it_counted(whole: RunOutcome) -> None:
    sent, received = (whole.summary["messages"][name] for name in ("sent", "received"))
    assert (whole.summary["verdict"], whole.status) == ("pass", 0), whole.output
    (process,) = whole.info["processes"]
    assert [process[name] for name in ("begun", "settled", "received")] == [sent, sent, received]
    assert sent > 30


@pytest.mark.nightly
@pytest.mark.parametrize("table", ["sends", "receipts"])
def test_a_file_with_half_of_its_rows_makes_the_run_invalid(whole: RunOutcome, tmp_path: Path, table: str) -> None:
    copy = tmp_path / whole.run.name
    shutil.copytree(whole.run, copy)
    (path,) = (copy / "events" / table).glob("*.parquet")
    rows = pq.read_table(path)
    half = rows.num_rows // 2
    record_instead(RunDirectory(copy), table, path.stem, rows.slice(0, half))
    brokerbench = str(Path(sys.executable).with_name("brokerbench"))
    process = subprocess.run([brokerbench, "analyse", str(copy)], capture_output=True, text=True, check=False)
    summary = json.loads((copy / "summary.json").read_text(encoding="utf-8"))
    assert (summary["verdict"], process.returncode) == ("invalid", 3), process.stdout
    assert f"events/{table}: rows are missing: main counted {rows.num_rows} " in summary["reasons"][0]
    assert f"{half} are on record" in summary["reasons"][0]


@pytest.mark.nightly  # analysis/test_planted_errors.py covers counts larger than the number of rows
def test_a_row_that_comes_after_the_recorder_was_closed_makes_the_run_invalid(tmp_path: Path) -> None:
    outcome = make_run(MISRECORDED, *MEMORY, runs=tmp_path / "runs", env={"PLANTED": "a late row"})
    assert (outcome.summary["verdict"], outcome.status) == ("invalid", 3), outcome.output
    sent = outcome.summary["messages"]["sent"]
    assert outcome.summary["reasons"][0] == (
        "1 rows reached the recorder of main after it was closed: they are missing"
    )
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "1 rows reached the recorder of main after it was closed: they are missing." in page
    assert f"All {sent:,} messages sent were received" in page
