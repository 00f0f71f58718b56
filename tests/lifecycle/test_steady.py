"""Runs the main use case like a new user: three brokers, a mesh, durable messages, a report."""

import html
import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median

import jsonschema
import pytest

from tests.support.locust_run import REPOSITORY, RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("steady") / "runs"
    arguments = ("--topology", "mesh", "-t", "10s", "--warm-up", "2", "--seed", "1")
    return make_run("scenarios/steady.py", *arguments, "--csv", str(runs.with_name("locust")), runs=runs)


def test_a_mesh_delivers_every_durable_message_once_and_passes(steady: RunOutcome) -> None:
    messages = steady.summary["messages"]
    assert messages["sent"] == messages["acked"] == messages["received"] > 1_000, steady.output
    assert messages["lost"] == messages["duplicated"] == messages["stranded"] == 0
    assert (steady.summary["verdict"], steady.status) == ("pass", 0)


def test_the_last_lines_tell_the_verdict_and_where_the_report_is(steady: RunOutcome) -> None:
    last = steady.output.strip().splitlines()[-3:]
    assert [line.split(":")[0] for line in last] == ["Run", "Verdict", "Report"]
    assert Path(last[2].split()[-1]).exists() or (steady.runs.parent / last[2].split()[-1]).exists()


def test_summary_json_is_as_its_schema_says(steady: RunOutcome) -> None:
    schema = json.loads((REPOSITORY / "docs" / "summary.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(steady.summary, schema)


def test_messages_crossed_the_links_and_the_hops_and_bridges_say_so(steady: RunOutcome) -> None:
    crossed = sum(row["messages"] for row in steady.results("paths") if row["hops"] == 1)
    assert crossed > 0
    assert sum(row["forwarded"] for row in steady.results("links")) >= crossed
    advisories = [row["advisories"] for row in steady.results("links")]
    assert min(advisories) > 0, "of each direction of each duplex link"
    series = ("broker", "kind", "object", "metric", "at_ns")
    bridges = [tuple(row[name] for name in series) for row in steady.events("samples") if row["kind"] == "bridge"]
    assert len(bridges) == len({*bridges}), "each end of a link is sampled once"
    assert steady.summary["links"]["advisories"] == sum(advisories)


def test_clients_spread_over_the_brokers_by_their_failover_uri(steady: RunOutcome) -> None:
    connected = [row for row in steady.events("connections") if row["event"] == "connected"]
    assert len(connected) == 8
    assert len({row["broker"] for row in connected}) >= 2
    assert {row["broker"] for row in connected} <= {"broker-1", "broker-2", "broker-3"}


def test_brokers_count_as_many_clients_as_there_are(steady: RunOutcome) -> None:
    counts = steady.summary["connection_counts"]
    assert counts["compared"] >= 9, "three brokers, and some seconds of the ten"
    assert (counts["differed"], counts["brokers"]) == (0, [])


def test_every_broker_was_sampled_once_a_second(steady: RunOutcome) -> None:
    heap = [row for row in steady.events("samples") if row["metric"] == "heap_used_bytes"]
    for broker in ("broker-1", "broker-2", "broker-3"):
        at_ns = sorted(row["at_ns"] for row in heap if row["broker"] == broker)
        apart_s = [(late - early) / 1e9 for early, late in pairwise(at_ns)]
        assert len(at_ns) >= 5, "a busy machine may miss some"
        assert median(apart_s) == pytest.approx(1, abs=0.9)


def test_nothing_of_the_run_is_left_on_the_machine(steady: RunOutcome) -> None:
    assert nothing_left(steady.runs)


def test_locusts_own_statistics_keep_working(steady: RunOutcome) -> None:
    table = (steady.runs.with_name("locust_stats.csv")).read_text(encoding="utf-8")
    assert "SEND,queue://steady" in table
    assert "RECEIVE,queue://steady" in table


@pytest.mark.nightly
def test_a_stored_run_can_be_analysed_and_reported_again(steady: RunOutcome, tmp_path: Path) -> None:
    copy = tmp_path / steady.run.name
    shutil.copytree(steady.run, copy)
    (copy / "summary.json").unlink()
    (copy / "report.html").unlink()
    shutil.rmtree(copy / "results")
    brokerbench = str(Path(sys.executable).with_name("brokerbench"))
    analysed = subprocess.run([brokerbench, "analyse", str(copy)], capture_output=True, text=True, check=False)
    assert analysed.returncode == 0, analysed.stdout + analysed.stderr
    assert json.loads((copy / "summary.json").read_text()) == steady.summary
    reported = subprocess.run([brokerbench, "report", str(copy)], capture_output=True, text=True, check=False)
    assert reported.returncode == 0, reported.stdout + reported.stderr
    assert (copy / "report.html").read_text() == (steady.run / "report.html").read_text()


def test_no_password_of_the_run_is_in_its_folder_or_its_output(steady: RunOutcome) -> None:
    kinds = (".xml", ".json", ".html", ".properties", ".log")
    texts = [path for path in steady.run.rglob("*") if path.suffix in kinds]
    assert any(path.name == "activemq.xml" for path in texts)
    for path in texts:
        text = html.unescape(path.read_text(encoding="utf-8", errors="replace"))
        assert not re.search(r'[pP]assword\s*[=:]\s*[\\"]*(?!\$\{)[^\s"\\]', text), path
