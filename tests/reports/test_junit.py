"""Checks that JUnit XML and Markdown match a run's summary, with any names."""

import copy
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from brokerbench.cli import main
from harness.run import jobs
from records.errors import RunUnwritable, UserError
from records.figures.summary import Summary
from records.store.rundir import RunDirectory
from reports.build import write_report
from reports.inputs import Results, read_results
from reports.parts.numbers import significant
from reports.run.for_ci import junit, run_markdown
from tests.reports.run_folder import RunPlan, write_run_folder

ODD = "<b> & \"'|*_`\x00\ud800]]>\nend"


@pytest.fixture(scope="module")
def results(mesh_run: Path) -> Results:
    return read_results(mesh_run)


def changed(results: Results, **values: Any) -> Results:
    summary = copy.deepcopy(dict(results.summary)) | values
    return Results(results.run, cast(Summary, summary), results.tables, results.faults)


def check(outcome: str, **values: Any) -> dict[str, Any]:
    base = {"name": "soon", "metric": "latency_ms.due_to_received.p99", "value": 7.5, "rule": "< 5"}
    return base | {"outcome": outcome} | values


def suite_of(results: Results) -> ET.Element:
    document = ET.fromstring(junit(results.summary).encode())
    assert [suite.tag for suite in document] == ["testsuite"]
    return document[0]


def cases_of(results: Results) -> dict[str, str]:
    """What became of each test case by its name."""
    cases = suite_of(results).findall("testcase")
    return {case.attrib["name"]: case[0].tag if len(case) else "passed" for case in cases}


def abort(confirmed: bool | None = True) -> dict[str, Any]:
    figure = "latency_ms.due_to_received.p99"
    return {
        "condition": f"{figure} > 5 for 3s",
        "figure": figure,
        "value": 7.5,
        "rule": "> 5",
        "at_s": 12.04,
        "in_warm_up": False,
        "analysed": 7.5,
        "confirmed": confirmed,
    }


def test_an_abort_is_a_failing_case(results: Results) -> None:
    """It is there next to a check that failed as well, and says when the load ended and why."""
    aborted = changed(results, verdict="fail", aborted=[abort()], checks=[check("fail")])
    name = "--abort-on latency_ms.due_to_received.p99 > 5 for 3s"
    assert cases_of(aborted) == {"soon": "failure", name: "failure"}
    (case,) = (case for case in suite_of(aborted).findall("testcase") if case.attrib["name"] == name)
    assert case[0].attrib["message"] == "the load ended after 12.0 s, as latency_ms.due_to_received.p99 was 7.5"


def test_an_unconfirmed_abort_is_no_passed_case(results: Results) -> None:
    aborted = changed(results, verdict="unknown", aborted=[abort(confirmed=False)], checks=[])
    assert "passed" not in cases_of(aborted).values()


def test_a_run_is_a_suite_and_a_check_a_case(results: Results) -> None:
    suite = suite_of(results)
    assert suite.attrib["name"] == results.summary["run_id"]
    assert suite.attrib["timestamp"] == results.summary["wall"]
    assert {name: suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    assert cases_of(results) == {"no acked send lost": "failure", "duplicates at most 20": "passed"}
    took_s = sum(float(case.attrib["time"]) for case in suite.findall("testcase"))
    assert 0 < took_s == pytest.approx(float(suite.attrib["time"]), abs=0.01)
    failure = suite.findall("testcase/failure")[0]
    assert failure.attrib == {"message": "messages.lost is 12, it must be <= 0", "type": "fail"}
    properties = {element.attrib["name"]: element.attrib["value"] for element in suite.findall("properties/property")}
    assert (properties["verdict"], properties["topology"]) == ("fail", "mesh(brokers=3)")


def test_an_undecided_check_is_skipped_with_its_reason(results: Results) -> None:
    timing = {**results.summary["timing"], "doubtful": {"latency_ms.due_to_received.p99": "the generator was late"}}
    doubtful = changed(results, verdict="unknown", checks=[check("unknown")], timing=timing)
    message = suite_of(doubtful).findall("testcase/skipped")[0].attrib["message"]
    assert message.endswith("is 7.5, it must be < 5; the figure is doubtful: the generator was late")
    absent = changed(results, verdict="unknown", checks=[check("unknown", metric="a.b", value=None)])
    assert suite_of(absent).findall("testcase/skipped")[0].attrib["message"] == (
        "the run has no figure a.b, it must be < 5"
    )
    assert suite_of(absent).attrib["skipped"] == "1"


@pytest.mark.parametrize(
    ("verdict", "outcomes", "counts"),
    [
        ("invalid", ["pass"], {"soon": "passed", "verdict": "error"}),
        ("interrupted", ["fail"], {"soon": "failure", "verdict": "error"}),
        ("fail", ["pass"], {"soon": "passed", "verdict": "failure"}),  # nothing arrived
        ("unknown", ["pass"], {"soon": "passed", "verdict": "skipped"}),  # a queue could not be browsed
        ("pass", ["pass"], {"soon": "passed"}),
        ("pass", [], {"verdict": "passed"}),
    ],
)
def test_the_verdict_is_a_case_where_no_check_says_the_same(
    results: Results, verdict: str, outcomes: list[str], counts: dict[str, str]
) -> None:
    run = changed(
        results, verdict=verdict, reasons=["worker 2 was lost"], checks=[check(element) for element in outcomes]
    )
    assert cases_of(run) == counts
    messages = [element.attrib["message"] for element in suite_of(run).findall("testcase[@name='verdict']/*")]
    assert messages in ([], ["Worker 2 was lost."])


def test_odd_names_stay_text_in_xml(results: Results) -> None:
    odd = changed(results, topology=ODD, verdict="invalid", reasons=[ODD], checks=[check("fail", name=ODD, rule=ODD)])
    shown = ODD.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    case, verdict = suite_of(odd).findall("testcase")
    assert case.attrib["name"] == shown
    assert case[0].attrib["message"].endswith(shown)
    assert verdict[0].text is not None
    assert verdict[0].text.startswith(shown)


def test_the_markdown_has_verdict_answer_figures_and_checks(results: Results) -> None:
    text = run_markdown(results, Path("runs/one/report.html"))
    lines = text.splitlines()
    assert lines[0] == "## steady on mesh(brokers=3): failed"
    assert lines[2].startswith("**broker-3 had the fault pause at 10 s: ")
    assert lines[4].startswith("- ")
    assert "12 lost. Also: 7 duplicated and " in lines[4]
    assert "| Lost | 12 messages |" in text
    assert "| no acked send lost | ✗ failed | messages.lost | 12 | &lt;= 0 |".replace("&lt;", "&#60;") in text
    assert lines[-1] == "Report: `runs/one/report.html`"
    p99_ms = results.summary["latency_ms"]["due_to_received"]["p99"]
    assert f"| Latency, p99 | {significant(p99_ms)} ms |" in text


def test_a_doubtful_figure_is_marked_in_the_markdown(results: Results) -> None:
    timing = {**results.summary["timing"], "doubtful": {"latency_ms.due_to_received.p99": "the generator was late"}}
    text = run_markdown(changed(results, timing=timing, checks=[check("unknown")]), Path("report.html"))
    (row,) = [line for line in text.splitlines() if line.startswith("| Latency, p99")]
    assert "ms (doubtful) |" in row
    assert "the generator was late" in row
    (row,) = [line for line in text.splitlines() if line.startswith("| soon")]
    assert "? undecided" in row


def test_odd_names_are_no_markup_in_the_markdown(results: Results) -> None:
    odd = changed(results, topology=ODD, reasons=[ODD], checks=[check("fail", name=ODD)])
    text = run_markdown(odd, Path("a`b"))
    assert "<b>" not in text
    assert "*_" not in text
    tables = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert set(tables) == {4, 6}
    assert "a&#96;b" in text


def test_the_report_command_writes_both(tmp_path: Path) -> None:
    run = write_run_folder(tmp_path, RunPlan(load_s=2, fault_s=None))
    files = [tmp_path / "checks.xml", tmp_path / "summary.md"]
    options = ["--junit", str(files[0]), "--markdown", str(files[1])]
    outcome = CliRunner().invoke(main, ["report", str(run), *options])
    assert outcome.exit_code == 0, outcome.output
    assert files[0].read_text(encoding="utf-8") == junit(read_results(run).summary)
    assert files[1].read_text(encoding="utf-8") == run_markdown(read_results(run), run / "report.html")


def test_a_file_that_cannot_be_written_is_one_error_that_names_it(tmp_path: Path) -> None:
    run = write_run_folder(tmp_path, RunPlan(load_s=2, fault_s=None))
    nowhere = tmp_path / "none" / "checks.xml"
    with pytest.raises(RunUnwritable, match=f"^{nowhere}: cannot be written: .*; make its folder or choose another$"):
        write_report(run, {"junit": nowhere})
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(RunUnwritable, match=f"^{folder}: cannot be written: .*; choose the name of a file"):
        write_report(run, {"markdown": folder})
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("name", ["run.json", "summary.json", "report.html", "results/latency/all.parquet"])
def test_a_file_of_the_run_itself_is_not_written_over(tmp_path: Path, name: str) -> None:
    run = write_run_folder(tmp_path, RunPlan(load_s=2, fault_s=None))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(RunUnwritable, match=r"is a file of the run itself: give the new file another name$"):
        write_report(run, {"junit": run / name})
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    run = write_run_folder(tmp_path, RunPlan(load_s=2, fault_s=None))
    with pytest.raises(RunUnwritable, match=r"--junit and --markdown name the same file: give each a different name$"):
        write_report(run, {"junit": tmp_path / "one", "markdown": tmp_path / "one"})


def test_the_job_of_a_run_writes_them_anew_or_names_the_one_that_it_could_not_write(tmp_path: Path) -> None:
    run = RunDirectory.open(write_run_folder(tmp_path, RunPlan(load_s=2, fault_s=None)))
    checks = tmp_path / "checks.xml"
    checks.write_text("of an earlier run", encoding="utf-8")
    jobs.report(run, {"--junit": checks}, lambda _: None)
    assert ET.parse(checks).getroot().tag == "testsuites"
    nowhere = tmp_path / "none" / "summary.md"
    with pytest.raises(UserError, match=f"summary.md was not written(?s:.*){nowhere}: cannot be written"):
        jobs.report(run, {"--markdown": nowhere}, lambda _: None)
    with pytest.raises(RunUnwritable, match=f"{run.path}: cannot be replaced: .*; choose the name of a file"):
        jobs.remove_earlier([run.path])
