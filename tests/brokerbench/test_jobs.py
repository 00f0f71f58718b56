"""Checks that the command line distinguishes the exit status of a verdict from a failed analysis."""

import errno
import json
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from brokerbench import stored_runs
from harness.run import jobs
from records.errors import RunUnwritable, UserError
from records.run import RunInfo
from records.store.rundir import RunDirectory
from records.verdicts import EXIT_STATUS

WRITES_A_VERDICT = """
import json, pathlib, sys
summary = pathlib.Path(sys.argv[1])
summary.write_text(json.dumps({"verdict": sys.argv[2]}))
summary.with_name("analysis.sha256").touch()
sys.exit(int(sys.argv[3]))
"""
IS_KILLED = """
import json, os, pathlib, signal, sys
summary, before = pathlib.Path(sys.argv[1]), sys.argv[2]
if before != "summary":
    summary.write_text(json.dumps({"verdict": "pass"}))
if before == "end":
    summary.with_name("analysis.sha256").touch()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = RunDirectory(tmp_path)
    directory.write_run(RunInfo("r", "steady", "mesh", "memory", "memory", state="ended"))
    return directory


def stand_in(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(stored_runs, "analysis_command", lambda _runs, _master: [sys.executable, "-c", *arguments])


@pytest.mark.parametrize(("verdict", "status"), EXIT_STATUS.items())
def test_the_status_of_a_verdict_is_passed_on(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, verdict: str, status: int
) -> None:
    stand_in(monkeypatch, WRITES_A_VERDICT, str(run.summary_path), verdict, str(status))
    assert stored_runs.analyse([run], None) == status


def test_a_crash_after_the_verdict_changes_nothing(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback has status 1, as a failed check has: the exit status follows from the summary."""
    stand_in(monkeypatch, WRITES_A_VERDICT, str(run.summary_path), "pass", "1")
    assert stored_runs.analyse([run], None) == EXIT_STATUS["pass"]


def test_a_refusal_is_passed_on_although_there_is_no_verdict(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "import sys; sys.exit(2)")
    assert stored_runs.analyse([run], None) == 2


@pytest.mark.parametrize("status", ["0", "1", "77"])
def test_a_crash_is_no_verdict_even_if_an_older_one_lies_there(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    run.summary_path.write_text('{"verdict": "fail"}', encoding="utf-8")
    stand_in(monkeypatch, "import sys; sys.exit(int(sys.argv[1]))", status)
    with pytest.raises(UserError, match=f"ended with status {status}, before it had written all results"):
        stored_runs.analyse([run], None)


KILLED = "was killed by SIGKILL; if you did not do that, the machine ran out of memory"


@pytest.mark.parametrize("before", ["summary", "digests"])
def test_a_killed_analysis_has_no_status_of_a_verdict(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Neither in `brokerbench analyse` nor at the end of a run, even if its summary was written."""
    stand_in(monkeypatch, IS_KILLED, str(run.summary_path), before)
    with pytest.raises(UserError) as of_a_command:
        stored_runs.analyse([run], None)
    assert f"the analysis {KILLED}, before it had written all results" in str(of_a_command.value)
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    with pytest.raises(UserError) as of_a_run:
        jobs.analyse(run, None, lambda _line: None)
    missing = "summary.json" if before == "summary" else "analysis.sha256"
    assert str(of_a_run.value).startswith(f"{missing} was not written; its job {KILLED}:")
    assert str(of_a_run.value).endswith(f"; `brokerbench analyse {run.path}` analyzes the run again")


def test_a_disk_that_stays_full_is_one_sentence(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> dict[str, str]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("topologies.jvm.java.spark_environment", full)
    with pytest.raises(UserError) as caught:
        jobs.analyse(run, None, lambda _line: None)
    assert str(caught.value) == (
        f"analysis: {run.path}: its results cannot be written: No space left on device; free space on its disk and run "
        f"`brokerbench analyse {run.path}`"
    )


def test_a_job_without_disk_space_names_the_disk(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log is empty then."""
    stand_in(monkeypatch, "import sys; sys.exit(1)")
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: Mock(free=0))
    with pytest.raises(UserError, match=f"status 1; the disk of {run.path / 'logs'} is full: free some space there:"):
        jobs.analyse(run, None, lambda _line: None)


def test_an_analysis_killed_at_its_end_keeps_its_verdict(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit status is that of the verdict, and not 137; a line says what happened."""
    stand_in(monkeypatch, IS_KILLED, str(run.summary_path), "end")
    assert stored_runs.analyse([run], None) == EXIT_STATUS["pass"]
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    lines: list[str] = []
    assert jobs.analyse(run, None, lines.append) == EXIT_STATUS["pass"]
    log = run.path / "logs" / "analysis.log"
    assert lines == [f"analysis: its job wrote all results, but {KILLED}; see {log}"]


STOPS_ONCE_ITS_REPORT_IS_THERE = """
import json, pathlib, sys, time
summary, report = map(pathlib.Path, sys.argv[1:])
summary.write_text(json.dumps({"verdict": "fail"}))
summary.with_name("analysis.sha256").touch()
print("verdict: fail", flush=True)
print("timing: every latency figure is sound.", flush=True)
deadline_s = time.monotonic() + 60
while not report.exists() and time.monotonic() < deadline_s:
    time.sleep(0.01)
sys.exit(1 if report.exists() else 77)
"""


@pytest.mark.parametrize("error", [None, *(kind("the report was not written") for kind in (UserError, ValueError))])
def test_the_report_is_made_while_spark_stops(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """The analysis here ends only once the report exists. An error of the report is raised after that."""
    stand_in(monkeypatch, STOPS_ONCE_ITS_REPORT_IS_THERE, str(run.summary_path), str(run.report_path))
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    lines: list[str] = []

    def report() -> None:
        lines.append("report")
        run.report_path.touch(exist_ok=False)
        if error:
            raise error

    if error:
        with pytest.raises(type(error), match="the report was not written"):
            jobs.analyse(run, None, lines.append, report)
    else:
        assert jobs.analyse(run, None, lines.append, report) == EXIT_STATUS["fail"]
    assert lines == ["verdict: fail", "timing: every latency figure is sound.", "report"]


def test_the_report_waits_for_all_results_and_is_made_once(run: RunDirectory) -> None:
    results, reports, lines = [run.summary_path, run.digests_path], list[str](), list[str]()
    follower = jobs._Follower(results, lines.append, lambda: reports.append("made"))
    for result in results:
        follower.line("timing: every latency figure is sound.")
        assert reports == []
        result.touch()
    follower.line("verdict: pass")
    assert reports == []
    follower.line("timing: every latency figure is sound.")
    follower.line("timing: every latency figure is sound.")
    follower.end()
    assert reports == ["made"]
    assert len(lines) == 5


def test_an_analysis_killed_before_its_last_line_has_a_report(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, IS_KILLED, str(run.summary_path), "end")
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    reports: list[str] = []
    assert jobs.analyse(run, None, lambda _line: None, lambda: reports.append("made")) == EXIT_STATUS["pass"]
    assert reports == ["made"]


def test_an_analysis_without_results_has_no_report(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, IS_KILLED, str(run.summary_path), "digests")
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    reports: list[str] = []
    with pytest.raises(UserError, match=r"analysis\.sha256 was not written"):
        jobs.analyse(run, None, lambda _line: None, lambda: reports.append("made"))
    assert reports == []


def test_a_killed_analysis_of_stored_runs_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Runs at a URI have no files here, so only the status shows that there is no verdict."""
    stand_in(monkeypatch, IS_KILLED, str(tmp_path / "summary.json"), "summary")
    with pytest.raises(UserError, match="the analysis was killed by SIGKILL"):
        stored_runs.analyse(["s3a://bucket/run"], None)


@pytest.mark.spark
def test_a_run_without_events_is_refused_by_the_real_analysis(run: RunDirectory) -> None:
    assert stored_runs.analyse([run], "local[1]") == 2


LEAVES_A_FILE = """
import json, pathlib, sys, tempfile
pathlib.Path(tempfile.gettempdir(), "left").touch()
pathlib.Path(sys.argv[1]).write_text(json.dumps({"verdict": "pass", "folder": tempfile.gettempdir()}))
pathlib.Path(sys.argv[1]).with_name("analysis.sha256").touch()
"""


def test_what_an_analysis_leaves_in_its_folder_for_temporary_files_goes_with_it(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, LEAVES_A_FILE, str(run.summary_path))
    assert stored_runs.analyse([run], None) == 0
    of_a_command = Path(json.loads(run.summary_path.read_text())["folder"])
    monkeypatch.setattr(jobs, "analysis_command", stored_runs.analysis_command)
    assert jobs.analyse(run, None, lambda _line: None) == 0
    of_a_run = Path(json.loads(run.summary_path.read_text())["folder"])
    assert of_a_command != of_a_run
    for folder in (of_a_command, of_a_run):
        assert folder.name.startswith("brokerbench-analysis-")
        assert not folder.exists()


def test_a_run_that_cannot_be_written_is_refused_with_the_next_step(run: RunDirectory) -> None:
    (run.path / "logs").write_text("no folder")
    with pytest.raises(RunUnwritable) as refused:
        stored_runs.analyse([run], None)
    assert str(refused.value).startswith(f"{run.path}: the analysis writes there, and cannot (")


def test_the_last_words_of_a_run_whose_files_cannot_be_read_say_so(run: RunDirectory) -> None:
    run.summary_path.write_text("[]", encoding="utf-8")
    again = f"run `brokerbench analyse {run.path}`"
    assert jobs.final_lines(run) == [f"Run:     {run.path}", f"No results: {run.summary_path} cannot be read: {again}"]
    run.summary_path.unlink()
    run.run_path.write_text("{", encoding="utf-8")
    assert jobs.final_lines(run)[1].startswith(f"No results: {run.run_path}: not readable as JSON (")
