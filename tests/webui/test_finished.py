"""Checks the list of reports in a folder of runs: newest first, and nothing from outside the folder."""

import json
import os
from pathlib import Path

import pytest

from harness.live.finished import READ_AT_ONCE, FinishedRun, ReportFolder
from records.store.digests import digests, list_analysed, read_files
from records.store.rundir import RunDirectory


def make_run(runs: Path, run_id: str, *, verdict: str | None = "pass", report: bool = True) -> Path:
    folder = runs / run_id
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    if verdict is not None:
        (folder / "summary.json").write_text(json.dumps({"verdict": verdict}))
    if report:
        (folder / "report.html").write_text(f"<title>{run_id}</title>")
    return folder


def test_reports_come_newest_first_with_their_verdicts(tmp_path: Path) -> None:
    make_run(tmp_path, "20261121-1-a", verdict="fail")
    make_run(tmp_path, "20261121-2-b")
    assert ReportFolder(tmp_path).finished() == (
        FinishedRun("20261121-2-b", "pass"),
        FinishedRun("20261121-1-a", "fail"),
    )


def test_a_folder_that_is_not_there_yet_has_none(tmp_path: Path) -> None:
    assert ReportFolder(tmp_path / "runs").finished() == ()


def test_a_run_without_a_report_and_a_folder_that_is_no_run_are_left_out(tmp_path: Path) -> None:
    make_run(tmp_path, "going-on", report=False)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "report.html").write_text("no run")
    assert ReportFolder(tmp_path).finished() == ()


@pytest.mark.parametrize("text", [None, "{", "[]", "{}"])
def test_a_summary_that_does_not_tell_leaves_the_verdict_open(tmp_path: Path, text: str | None) -> None:
    folder = make_run(tmp_path, "run", verdict=None)
    if text is not None:
        (folder / "summary.json").write_text(text)
    assert ReportFolder(tmp_path).finished() == (FinishedRun("run", ""),)


def test_a_report_that_is_made_again_shows_its_new_verdict(tmp_path: Path) -> None:
    folder, folder_of_reports = make_run(tmp_path, "run", verdict="fail"), ReportFolder(tmp_path)
    assert folder_of_reports.finished()[0].verdict == "fail"
    (folder / "summary.json").write_text('{"verdict": "pass"}')
    later_ns = (folder / "summary.json").stat().st_mtime_ns + 1_000_000_000
    os.utime(folder / "summary.json", ns=(later_ns, later_ns))
    assert folder_of_reports.finished()[0].verdict == "pass"


def test_a_changed_run_shows_no_verdict(tmp_path: Path) -> None:
    """It shows that its files were changed after the analysis."""
    folder, folder_of_reports = make_run(tmp_path, "run", verdict="fail"), ReportFolder(tmp_path)
    directory = RunDirectory(folder)
    list_analysed(directory, digests(folder, read_files(directory)))
    assert folder_of_reports.finished()[0].verdict == "fail"
    (folder / "summary.json").write_text('{"verdict": "pass"}')
    assert folder_of_reports.finished()[0].verdict == "changed after the analysis"


def test_verdicts_are_read_a_few_at_a_time_the_newest_first(tmp_path: Path) -> None:
    for number in range(READ_AT_ONCE + 1):
        make_run(tmp_path, f"run-{number}")
    folder_of_reports = ReportFolder(tmp_path)
    assert [run.verdict for run in folder_of_reports.finished()] == ["pass"] * READ_AT_ONCE + [""]
    assert [run.verdict for run in folder_of_reports.finished()] == ["pass"] * (READ_AT_ONCE + 1)


@pytest.mark.parametrize("name", ["", ".", "..", "../outside", "runs/../../outside", "/etc", "run\0", "run/.."])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    runs = tmp_path / "runs"
    make_run(runs, "run")
    make_run(tmp_path, "outside")
    assert ReportFolder(runs).report("run") == (runs / "run" / "report.html").resolve()
    assert ReportFolder(runs).report(name) is None


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "linked").symlink_to(make_run(tmp_path, "outside"))
    assert ReportFolder(runs).report("linked") is None
    assert ReportFolder(runs).finished() == ()
