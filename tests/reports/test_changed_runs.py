"""Checks that a run is rejected if its files were changed after its analysis."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from brokerbench.cli import main
from records.errors import RunUnreadable
from records.store.digests import digests, list_analysed, read_files
from records.store.rundir import RunDirectory
from reports.build import write_report
from reports.export import export
from reports.inputs import read_results
from tests.reports.comparison.planted import Planted, write_planted
from tests.reports.markup import parse
from tests.reports.run_folder import RunPlan, write_run_folder

AGAIN = "run `brokerbench analyse RUN`"
RESTORE = "bring the folder back from a copy, or make the run again"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run_folder(tmp_path, RunPlan(load_s=2, per_s=20, fault_s=None))


def brokerbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def edit(path: Path, *keys: str | int, value: Any) -> None:
    document = json.loads(path.read_text())
    place = document
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(document))


def edit_summary(run: Path) -> None:
    edit(run / "summary.json", "throughput", "received_per_s", value=75_000_000.0)


def edit_run(run: Path) -> None:
    edit(run / "run.json", "topology", value="another")


def edit_latency(run: Path) -> None:
    path = next((run / "results" / "latency").glob("*.parquet"))
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index("count"), "count", pc.add(table["count"], 1)), path)


def add_rates(run: Path) -> None:
    path = next((run / "results" / "rates").glob("*.parquet"))
    path.with_name("more.parquet").write_bytes(path.read_bytes())


def remove_faults(run: Path) -> None:
    next((run / "events" / "faults").glob("*.parquet")).unlink()


def remove_one_of_two_files_of_faults(run: Path) -> None:
    path = next((run / "events" / "faults").glob("*.parquet"))
    path.with_name("more.parquet").write_bytes(path.read_bytes())
    list_analysed(RunDirectory(run), digests(run, read_files(RunDirectory(run))))
    path.with_name("more.parquet").unlink()


def remove_sends_and_edit_summary(run: Path) -> None:
    shutil.rmtree(run / "events" / "sends")
    edit_summary(run)


CHANGES = pytest.mark.parametrize(
    ("change", "reason"),
    [
        (edit_summary, f"summary.json was changed after the analysis: {AGAIN}"),
        (edit_run, f"run.json was changed after the analysis: {AGAIN}, which takes run.json as it is now"),
        (edit_latency, f"results/latency/all.parquet was changed after the analysis: {AGAIN}"),
        (add_rates, f"results/rates/more.parquet was changed after the analysis: {AGAIN}"),
        (remove_faults, f"events/faults is missing: {RESTORE}"),
        (remove_one_of_two_files_of_faults, f"events/faults/more.parquet is missing: {RESTORE}"),
        (
            remove_sends_and_edit_summary,
            f"summary.json was changed after the analysis and events/sends is missing: {RESTORE}",
        ),
    ],
    ids=["summary", "run", "table", "another_table", "faults", "one_of_faults", "sends"],
)


def test_a_run_that_nobody_changed_keeps_its_verdict(run: Path) -> None:
    assert read_results(run).summary["verdict"] == "pass"
    outcome = brokerbench("report", run)
    assert (outcome.exit_code, outcome.output) == (0, f"{run}/report.html\n")


@CHANGES
def test_a_changed_run_is_invalid_and_says_which_file_was_changed(
    run: Path, change: Callable[[Path], None], reason: str
) -> None:
    change(run)
    summary = read_results(run).summary
    assert summary["verdict"] == "invalid"
    assert summary["reasons"][0].replace(str(run), "RUN") == reason


def test_page_terminal_junit_and_markdown_say_that_a_run_was_changed(run: Path, tmp_path: Path) -> None:
    edit_summary(run)
    outcome = brokerbench("report", run, "--junit", tmp_path / "junit.xml", "--markdown", tmp_path / "run.md")
    assert outcome.exit_code == 0
    assert f"warning: summary.json was changed after the analysis: run `brokerbench analyse {run}`" in outcome.output
    assert "summary.json was changed after the analysis" in parse((run / "report.html").read_text()).text()
    assert "summary.json was changed after the analysis" in (tmp_path / "run.md").read_text()
    cases = {case.attrib["name"]: case for case in ET.parse(tmp_path / "junit.xml").getroot().iter("testcase")}
    error = cases["verdict"].find("error")
    assert error is not None
    assert "summary.json was changed after the analysis" in error.attrib["message"]


def test_a_comparison_with_a_changed_run_is_invalid_on_its_page_and_in_its_answer(tmp_path: Path) -> None:
    for block in range(7):
        for topology in ("mesh", "tree"):
            write_planted(tmp_path, f"run-{block}-{topology}", Planted(topology, doubtful={}))
    edit(tmp_path / "run-0-tree" / "summary.json", "latency_ms", "due_to_received", "p99", value=7.5e7)
    runs = [tmp_path / f"run-{block}-{topology}" for block in range(7) for topology in ("mesh", "tree")]
    outcome = brokerbench("compare", *runs, "--out", tmp_path / "comparison.html")
    assert outcome.exit_code == 3
    assert "run-0-tree is an invalid run: summary.json was changed after the analysis" in outcome.output
    page = parse((tmp_path / "comparison.html").read_text()).text()
    assert "run-0-tree is an invalid run: summary.json was changed after the analysis" in page
    assert "75,000,000" not in page


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        (("messages", "lost"), "many", "messages.lost: 'many' is not of type int"),
        (("recovery",), [], "recovery: [] is not a JSON object"),
        (("reasons",), "none", "reasons: 'none' is not a JSON array"),
        (("latency_ms", "due_to_received", "p99"), float("nan"), "p99: nan is not of type float or null"),
    ],
)
def test_a_summary_that_no_analysis_writes_is_refused_by_the_name_of_its_key(
    run: Path, keys: tuple[str, ...], value: object, reason: str
) -> None:
    edit(run / "summary.json", *keys, value=value)
    with pytest.raises(RunUnreadable) as refused:
        write_report(run)
    assert reason in str(refused.value)
    assert str(refused.value).endswith(f"changed after the analysis: run `brokerbench analyse {run}`")


def test_a_run_json_that_no_report_can_be_made_of_is_refused_as_changed(run: Path) -> None:
    edit(run / "run.json", "users", 0, "settings", value={"destinations": "many"})
    outcome = brokerbench("report", run)
    assert outcome.exit_code == 2
    assert "run.json was changed after the analysis" in outcome.output
    assert "\n" not in outcome.output.strip()


def test_an_analysis_that_did_not_reach_its_end_is_not_believed(run: Path) -> None:
    (run / "analysis.sha256").unlink()
    assert not RunDirectory(run).is_analysed
    with pytest.raises(RunUnreadable) as refused:
        write_report(run)
    assert str(refused.value) == (
        f"{run}/analysis.sha256: missing, so the analysis did not finish: run `brokerbench analyse {run}` first"
    )


def test_a_run_without_results_and_events_is_not_sent_to_an_analysis(run: Path) -> None:
    shutil.rmtree(run / "results")
    with pytest.raises(RunUnreadable, match=r"is missing: run `brokerbench analyse .*` first$"):
        write_report(run)
    shutil.rmtree(run / "events")
    with pytest.raises(RunUnreadable, match=f"is missing: its events are gone too: {RESTORE}$"):
        write_report(run)


def test_a_list_of_digests_that_cannot_be_read_is_refused(run: Path) -> None:
    (run / "analysis.sha256").write_text("nothing")
    with pytest.raises(
        RunUnreadable, match=r"analysis\.sha256: cannot be read \('nothing' is not a line of sha256sum\)"
    ):
        write_report(run)


@pytest.mark.parametrize(("lines", "problem"), [(0, "empty"), (3, "cut short")])
def test_an_incomplete_list_of_digests_is_rejected(run: Path, lines: int, problem: str) -> None:
    """No file is reported as changed."""
    path = run / "analysis.sha256"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
    with pytest.raises(RunUnreadable) as refused:
        write_report(run)
    assert str(refused.value) == (
        f"{path}: {problem}, so the analyzed files are not known: run `brokerbench analyse {run}` first, which "
        "rewrites it"
    )


def test_nothing_of_a_changed_run_is_exported(run: Path, tmp_path: Path) -> None:
    edit_latency(run)
    with pytest.raises(RunUnreadable, match=r"results/latency/all\.parquet was changed after the analysis"):
        export(RunDirectory(run), "csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()
