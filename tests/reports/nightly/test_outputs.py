"""The page, the JSON, the Markdown and the JUnit XML of a night say the same; the history keeps every night once."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pyarrow as pa
import pytest

from records.errors import RunUnwritable
from reports.nightly import history
from reports.nightly.build import NightFiles, document, markdown, nightly_junit, write
from reports.nightly.history import trends
from reports.nightly.judging import Night, answer, night
from tests.house.tree import ROOT
from tests.reports.markup import parse
from tests.reports.nightly.planted import P99, cell, with_check

LOST = "messages.lost == 0"


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> Night:
    parent = tmp_path_factory.mktemp("red")
    slow = cell(parent / "slow", 1.6, checks=[LOST], summary=with_check(LOST, "pass"))
    broken = replace(slow, scenario="failover", comparison=None, trouble="<no>", candidates=("hub-and-spoke", "tree"))
    return night("2026-11-23", "plan.yaml", [slow, broken])


def test_the_document_is_as_its_schema_says(red: Night) -> None:
    schema = json.loads((ROOT / "docs" / "nightly.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document(red), schema)
    first_gate = document(red)["gates"][0]
    assert set(first_gate) == set(schema["$defs"]["gate"]["required"])


def test_junit_has_a_case_for_each_gate_and_candidate(red: Night) -> None:
    root = ET.fromstring(nightly_junit(red))
    assert [suite.get("name") for suite in root] == ["2026-11-23 steady", "2026-11-23 failover"]
    assert [(suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in root] == [
        ("3", "1", "0"),
        ("2", "0", "2"),
    ]
    broken = [case.get("name") for case in root.findall(".//testcase[error]")]
    assert broken == ["runs: hub-and-spoke", "runs: tree"]
    (failed,) = root.findall(".//testcase[failure]")
    assert failed.get("name") == f"{P99} vs reference < 20%: hub-and-spoke"
    assert "higher" in str(failed.find("failure").get("message"))  # type: ignore[union-attr]


def test_junit_has_the_time_of_the_runs(red: Night) -> None:
    """A suite took as long as its runs together; its cases share that time. Runs that were not made take none."""
    slow, broken = ET.fromstring(nightly_junit(red))
    runs = red.cells[0].runs
    took_s = sum(sum(run.summary["phases"].values()) for run in runs)
    assert len(runs) == 16
    assert float(str(slow.get("time"))) == pytest.approx(took_s, abs=0.001)
    assert took_s > 1
    times = [float(str(case.get("time"))) for case in slow.findall("testcase")]
    assert sum(times) == pytest.approx(took_s, abs=0.01)
    assert slow.get("timestamp") == min(run.summary["wall"] for run in runs)
    assert (broken.get("time"), broken.get("timestamp")) == ("0.000", None)


def test_markdown_begins_with_the_color_and_what_failed(red: Night) -> None:
    text = markdown(red)
    assert text.startswith("## Nightly benchmark 2026-11-23: red\n\n**Failed: ")
    assert text.index("**fail**") < text.index("**pass**")
    assert "<no>" not in text


def test_the_page_has_the_answer_every_gate_and_links_to_the_comparisons(red: Night, tmp_path: Path) -> None:
    empty = history.NightlyHistory(history.SCHEMA.empty_table())
    written = write(red, empty, NightFiles(tmp_path, tmp_path / "junit.xml", tmp_path / "summary.md"))
    assert [path.name for path in written] == [
        "nightly.html",
        "comparison-1.html",
        "nightly.json",
        "junit.xml",
        "summary.md",
    ]
    page = parse(written[0].read_text(encoding="utf-8"))
    assert answer(red) in page.text()
    assert "comparison-1.html" in page.values("href")
    for result in red.results:
        assert result.gate in page.text()
    with pytest.raises(RunUnwritable, match=r"nightly\.html"):
        write(red, empty, NightFiles(tmp_path / "nowhere"))


def test_the_history_keeps_each_run_once_and_grows_by_those_that_are_new(red: Night, tmp_path: Path) -> None:
    few = cell(tmp_path / "runs", blocks=2)
    first_file = history.append(tmp_path / "kept", "monday", [few], history.read(tmp_path / "kept"))
    assert first_file == tmp_path / "kept" / "monday.parquet"
    before = first_file.read_bytes()
    assert history.append(tmp_path / "kept", "monday", [few], history.read(tmp_path / "kept")) is None
    more = [few, red.cells[0]]
    second_file = history.append(tmp_path / "kept", "monday", more, history.read(tmp_path / "kept"))
    assert (second_file, first_file.read_bytes()) == (tmp_path / "kept" / "monday-2.parquet", before)
    run_ids = history.read(tmp_path / "kept").table["run_id"].to_pylist()
    assert len(set(run_ids)) == 4 + 16


def test_nights_of_other_options_make_no_trend(red: Night) -> None:
    slow = replace(red.cells[0], setup="a")
    rows = [*history.rows_of("1", [slow]), *history.rows_of("2", [replace(slow, setup="b")])]
    (trend,) = trends(pa.Table.from_pylist(rows, history.SCHEMA), [slow])
    assert trend.nights == ("1",)


def test_a_damaged_file_of_the_history_is_set_aside_and_the_others_are_read(tmp_path: Path) -> None:
    few = [cell(tmp_path / "runs", blocks=2)]
    history.append(tmp_path, "monday", few, history.NightlyHistory(history.SCHEMA.empty_table()))
    (tmp_path / "sunday.parquet").write_bytes(b"PAR1 torn")
    read_history = history.read(tmp_path)
    assert [path.name for path in read_history.damaged] == ["sunday.parquet.damaged"]
    assert read_history.damaged[0].read_bytes() == b"PAR1 torn"
    assert set(read_history.table["night"].to_pylist()) == {"monday"}
    assert history.append(tmp_path, "sunday", few, history.NightlyHistory(history.SCHEMA.empty_table())) == (
        tmp_path / "sunday-2.parquet"
    )


def test_another_machine_is_another_environment(red: Night) -> None:
    assert red.cells[0].comparison is not None
    info = red.cells[0].comparison.reference.runs[0].info
    same = replace(info, machine={**info.machine, "load_average_1": 3.0}, run_id="other")
    other_machine = replace(info, machine={**info.machine, "cores": 64})
    assert history.environment(info) == history.environment(same) != history.environment(other_machine)


def test_a_trend_has_the_middle_and_the_range_of_each_arm_night_by_night(red: Night, tmp_path: Path) -> None:
    slow = red.cells[0]
    rows = [{**row, "began": f"{night}T01:00"} for night in ("1", "2") for row in history.rows_of(night, [slow])]
    table = pa.Table.from_pylist(rows, history.SCHEMA)
    (trend,) = trends(table, [slow])
    assert (trend.nights, [line.name for line in trend.lines]) == (("1", "2"), ["mesh", "hub-and-spoke"])
    assert slow.comparison is not None
    values = sorted(v for v in slow.comparison.figures[P99, "hub-and-spoke"].values if v is not None)
    line = trend.lines[1]
    assert (line.low[0], line.high[1]) == (values[0], values[-1])
    assert line.middle[0] == pytest.approx((values[3] + values[4]) / 2)
    written = write(red, history.NightlyHistory(table), NightFiles(tmp_path))
    assert "2 nights on this machine" in parse(written[0].read_text(encoding="utf-8")).text()
