"""Checks runs that --abort-on ends, on real brokers: their verdict, what ended them and when, and that they drain.

In ``make test``, tests/planted/test_abort.py covers the same in memory.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.locust_run import REPOSITORY, RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

P99 = "latency_ms.due_to_received.p99"
LOAD_S, FROZEN_AT_S, FROZEN_FOR_S = 90, 4, 4
FREEZE = f"freeze(broker-1, at={FROZEN_AT_S}, for={FROZEN_FOR_S})"
CONDITION = f"{P99} > 500 for 2s"
BUCKET = 1 / 128


def aborted_run(runs: Path, *arguments: str) -> RunOutcome:
    """Make a run whose load becomes slow because of a freeze."""
    load = ("--topology", "single", "--rate", "200", "-t", f"{LOAD_S}s", "--warm-up", "1")
    ends = (
        "--fault",
        FREEZE,
        "--abort-on",
        f"messages.failed > 0; {CONDITION}",
        "--junit",
        str(runs.with_name("j.xml")),
    )
    return make_run("scenarios/steady.py", *load, *ends, *arguments, runs=runs)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((), id="one process", marks=pytest.mark.nightly),
        pytest.param(("--processes", "2"), id="two workers"),
    ],
)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    return aborted_run(tmp_path_factory.mktemp("abort") / "runs", *request.param)


def abort_of(run: RunOutcome) -> dict[str, Any]:
    (abort,) = run.summary["aborted"]
    return dict(abort)


def test_a_freeze_aborts_with_reason_and_second(run: RunOutcome) -> None:
    abort = abort_of(run)
    assert (run.summary["verdict"], run.status) == ("fail", 1), run.output
    assert (abort["condition"], abort["confirmed"]) == (CONDITION, True)
    assert abort["value"] > 500
    reason = f"the load was aborted after {abort['at_s']:.1f} s by --abort-on '{CONDITION}', as {P99} was"
    assert run.summary["reasons"][0].startswith(reason)
    assert run.output.count(reason) >= 2, "as it happens, and with the verdict"
    assert reason[0].upper() + reason[1:30] in (run.run / "report.html").read_text(encoding="utf-8")


def test_producers_stop_early_and_all_is_accounted(run: RunOutcome) -> None:
    """The load ends after the freeze, when the late messages arrive, and long before its planned end."""
    abort, messages = abort_of(run), run.summary["messages"]
    assert FROZEN_AT_S + FROZEN_FOR_S < abort["at_s"] < LOAD_S - 20
    assert run.summary["phases"]["load"] == pytest.approx(abort["at_s"], abs=1)
    last_due_ns = max(row["due_ns"] for row in run.events("sends"))
    assert last_due_ns <= run.info["phases"]["load_ended_ns"] + 1e9
    assert messages["sent"] == messages["acked"] == messages["received"] > 1_000
    assert (messages["lost"], messages["stranded"], messages["unaccounted"]) == (0, 0, 0)
    assert nothing_left(run.runs)


def test_live_figures_equal_the_analysed_ones(run: RunOutcome) -> None:
    live = run.info["live_figures"]
    assert live[P99] == pytest.approx(run.summary["latency_ms"]["due_to_received"]["p99"], rel=BUCKET)
    assert live["messages.failed"] == run.summary["messages"]["failed"] == 0


def test_junit_has_the_abort_as_a_failure(run: RunOutcome) -> None:
    suite = ET.parse(run.runs.with_name("j.xml")).getroot()[0]
    failed = {case.attrib["name"] for case in suite.findall("testcase") if case.find("failure") is not None}
    assert f"--abort-on {CONDITION}" in failed


def test_analysis_again_is_no_pass(run: RunOutcome) -> None:
    command = [sys.executable, "-m", "brokerbench", "analyse", str(run.run)]
    again = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=200, check=False)
    assert again.returncode == 1, again.stdout + again.stderr
    assert run.summary["aborted"][0]["condition"] == CONDITION


def test_refused_sends_abort(tmp_path: Path) -> None:
    """A real rejection: the address is full because its consumers are slow, and Artemis fails further sends."""
    overlay = tmp_path / "full.yaml"
    full = {"match": "#", "max_size_messages": 40, "address_full_policy": "FAIL"}
    overlay.write_text(json.dumps({"brokers": {"all": {"address_settings": [full]}}}), encoding="utf-8")
    load = ("--topology", "artemis-single", "--rate", "200", "-t", "60s", "--warm-up", "0", "--work-ms", "200")
    ends = ("--overlay", str(overlay), "--abort-on", "messages.failed > 0")
    outcome = make_run("scenarios/steady.py", *load, *ends, runs=tmp_path / "runs")
    (abort,) = outcome.summary["aborted"]
    assert (outcome.summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    assert outcome.summary["messages"]["failed"] >= abort["value"] > 0
    assert abort["confirmed"]
    assert outcome.summary["phases"]["load"] < 40
    assert outcome.info["live_figures"]["messages.failed"] == outcome.summary["messages"]["failed"]
