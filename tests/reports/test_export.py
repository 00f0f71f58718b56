"""Checks that common libraries read exported files back with the values of the run."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from pyarrow import csv as pyarrow_csv

from brokerbench.cli import FORMS, main
from records.errors import UserError
from records.figures.buckets import bucket_of
from records.figures.summary import Summary
from records.store.rundir import RunDirectory
from records.tables.results import LATENCY, RATES
from reports.comparison.tables import as_csv
from reports.export import FORMS as EXPORT_FORMS
from reports.export import FORMULA, export, hdr_log, latency_csv, rates_csv
from reports.inputs import read_results, read_summary
from reports.parts.values import Column, Table

MS = 1_000_000
PARSED = pyarrow_csv.ParseOptions(newlines_in_values=True)
WITHIN = 0.005  # 0.4 % of the middle of a bucket, 0.1 % of the log
HOUR_NS = 3_600_000_000_000
PLANTED = (  # second, phase, latency in ns, count
    (-1, "warm-up", 900 * MS, 5),
    (0, "load", 2 * MS, 90),
    (0, "load", 40 * MS, 10),
    (2, "load", 7 * MS, 50),
    (2, "load", -3 * MS, 4),
    (3, "load", 2 * HOUR_NS, 1),
)


def planted() -> pa.Table:
    rows = [
        {
            "measure": measure,
            "from_broker": "a,b",
            "to_broker": "",
            "hops": None,
            "phase": phase,
            "second": second,
            "in_fault": False,
            "bucket": bucket_of(latency_ns),
            "count": count,
            "count_less_own": 0,
        }
        for measure in ("due_to_received", "sent_to_received")
        for second, phase, latency_ns, count in PLANTED
    ]
    return pa.Table.from_pylist(rows, schema=LATENCY)


@pytest.fixture(scope="module")
def summary(mesh_run: Path) -> Summary:
    return read_summary(RunDirectory.open(mesh_run))


def intervals_of(log: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(log), HdrHistogram(1, HOUR_NS, 3))
    intervals = []
    while (interval := reader.get_next_interval_histogram()) is not None:
        intervals.append(interval)
    reader.close()
    return intervals


def logged(folder: Path, text: str) -> Path:
    path = folder / "log.hlog"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_forms_of_the_command_are_those_that_there_are() -> None:
    assert set(FORMS) == set(EXPORT_FORMS)


def test_planted_latencies_are_read_back_second_by_second(tmp_path: Path, summary: Summary) -> None:
    text = hdr_log(planted(), summary)
    first_second, empty, third_second, last = intervals_of(logged(tmp_path, text))
    assert [interval.get_total_count() for interval in (first_second, empty, third_second, last)] == [100, 0, 50, 1]
    assert first_second.get_value_at_percentile(90) == pytest.approx(2 * MS, rel=WITHIN)
    assert first_second.get_value_at_percentile(91) == pytest.approx(40 * MS, rel=WITHIN)
    assert last.get_max_value() == pytest.approx(2 * HOUR_NS, rel=WITHIN)
    assert "# 4 negative latencies are left out" in text
    began_ms = 1_795_271_561_000  # 2026-11-21T14:32:41Z, as the summary says
    assert [interval.get_start_time_stamp() - began_ms for interval in (first_second, third_second)] == [0, 2_000]
    assert third_second.get_end_time_stamp() - began_ms == 3_000
    maxima = [line.split(",")[2] for line in text.splitlines() if line[0].isdigit()]
    assert [float(interval) for interval in maxima] == pytest.approx([40, 0, 7, 7_200_000], rel=WITHIN)


def test_a_load_without_latencies_has_no_interval(tmp_path: Path, summary: Summary) -> None:
    assert intervals_of(logged(tmp_path, hdr_log(planted().slice(0, 0), summary))) == []


def test_a_runs_log_has_the_percentiles_of_its_summary(mesh_run: Path, tmp_path: Path, summary: Summary) -> None:
    outcome = CliRunner().invoke(main, ["export", str(mesh_run), "--to", "hdr", "--out", str(tmp_path / "new" / "out")])
    assert outcome.exit_code == 0, outcome.output
    intervals = intervals_of(Path(outcome.output.strip()))
    assert [interval.get_total_count() for interval in intervals] == [300 - 12, *[300] * 19], "12 were lost at once"
    whole = HdrHistogram(1, HOUR_NS, 3)
    for interval in intervals:
        whole.add(interval)
    expected = summary["latency_ms"]["due_to_received"]
    assert whole.get_total_count() == expected["count"]
    for share, figure in ((50, expected["p50"]), (90, expected["p90"]), (99, expected["p99"])):
        assert figure is not None
        assert whole.get_value_at_percentile(share) / MS == pytest.approx(figure, rel=WITHIN)


def test_latency_as_csv_bounds_what_was_planted() -> None:
    rows = list(csv.DictReader(latency_csv(planted()).splitlines()))
    assert len(rows) == 2 * len(PLANTED)
    due = [row for row in rows if row["measure"] == "due_to_received"]
    assert {(row["from_broker"], row["to_broker"], row["hops"], row["in_fault"]) for row in due} == {
        ("a,b", "", "", "false")
    }
    for row, (second, phase, latency_ns, count) in zip(due, sorted_as_written(), strict=True):
        assert (int(row["second_from_load_start_s"]), row["phase"], int(row["messages"])) == (second, phase, count)
        assert int(row["latency_from_ns"]) <= latency_ns <= int(row["latency_to_ns"])


def sorted_as_written() -> list[tuple[int, str, int, int]]:
    return sorted(PLANTED, key=lambda row: (row[1], row[0], row[2]))


def test_rates_as_csv_are_those_of_the_table() -> None:
    rows = [(1, "load", "sent", "b", 7), (-2, "warm-up", "acked", '"quoted"', 3)]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=RATES)
    assert list(csv.reader(rates_csv(table).splitlines())) == [
        ["second_from_load_start_s", "phase", "event", "broker", "messages_in_second"],
        ["-2", "warm-up", "acked", '"quoted"', "3"],
        ["1", "load", "sent", "b", "7"],
    ]


FORMULAS = ["=HYPERLINK(1)", "+1+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", "\t=1", "\r=1", "'=1", "''=1", "＝1"]
NO_FORMULAS = ["-3", "+2.5", "-1e-3", "", "'", "it's", "a=b", " ", "queue://x", "7"]


def test_no_text_of_a_csv_is_a_formula_and_every_text_is_read_back() -> None:
    brokers = [*FORMULAS, *NO_FORMULAS]
    rows = [(number, "load", "sent", broker, -3) for number, broker in enumerate(brokers)]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=RATES)
    text = rates_csv(table)
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["broker"][:1] for row in read[: len(FORMULAS)]] == ["'"] * len(FORMULAS)
    assert [row["broker"] for row in read[len(FORMULAS) :]] == NO_FORMULAS
    assert [re.sub(f"^'(?={FORMULA.pattern})", "", row["broker"]) for row in read] == brokers
    assert {row["messages_in_second"] for row in read} == {"-3"}
    again = pyarrow_csv.read_csv(io.BytesIO(text.encode()), parse_options=PARSED)
    assert again.select(["second_from_load_start_s", "messages_in_second"]).to_pydict() == {
        "second_from_load_start_s": [*range(len(brokers))],
        "messages_in_second": [-3] * len(brokers),
    }


def test_a_comparisons_csv_has_no_formula_either() -> None:
    columns = (Column("=1"), Column("ratio", -1))
    table = Table("Effects", columns, (("-1+1", -0.5), ("-4", None), ("mesh", 2)))
    assert as_csv(table).splitlines() == ["'=1,ratio", "'-1+1,-0.5", "-4,", "mesh,2"]


def test_a_runs_csv_has_every_message_of_its_tables(mesh_run: Path, tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["export", str(mesh_run), "--to", "csv", "--out", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    latency, rates = (
        list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines())) for path in outcome.output.split()
    )
    tables = read_results(mesh_run).tables
    assert sum(int(row["messages"]) for row in latency) == sum(tables["latency"]["count"].to_pylist())
    assert sum(int(row["messages_in_second"]) for row in rates) == sum(tables["rates"]["count"].to_pylist())


@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_exported_is_one_error_that_names_it(mesh_run: Path, tmp_path: Path, form: str) -> None:
    file = tmp_path / "file"
    file.touch()
    outcome = CliRunner().invoke(main, ["export", str(mesh_run), "--to", form, "--out", str(file / "out")])
    assert (outcome.exit_code, outcome.output.count("\n")) == (2, 1)
    assert f"{file / 'out'}: the folder cannot be made" in outcome.output
    old_run = tmp_path / "old"
    old_run.mkdir()
    for name in ("run.json", "summary.json"):
        (old_run / name).write_text(json.dumps({"summary_version": 1}), encoding="utf-8")
    outcome = CliRunner().invoke(main, ["export", str(old_run), "--to", form, "--out", str(tmp_path / "out")])
    assert (outcome.exit_code, outcome.output.count("\n")) == (2, 1)
    assert "summary_version is 1" in outcome.output
    assert not (tmp_path / "out").exists()


def test_without_its_package_a_log_is_refused_and_csv_is_not(
    mesh_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hdrh.histogram", None)
    with pytest.raises(UserError, match=r"--to hdr takes the package hdrhistogram: .* --to csv$"):
        export(RunDirectory.open(mesh_run), "hdr", tmp_path)
    assert len(export(RunDirectory.open(mesh_run), "csv", tmp_path)) == 2
