"""Makes whole nights as a user does: stopped and gone on with, judged, kept, and red where a regression was planted."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest

from tests.support.locust_run import REPOSITORY, as_a_user_has_it, nothing_left
from tests.support.waiting import until

pytestmark = pytest.mark.spark

PLAN = """\
vary: body-bytes
reference: "100"
candidates: ["900"]
options: [--runtime=memory, --warm-up=0]
benchmarks:
  - scenario: steady
    topologies: [mesh]
    blocks: 1
    run_time: 2s
    gates: [GATES]
short: {blocks: 1, run_time: 1s}
"""
SLOWER_LINK = """\
vary: link
reference: "*:delay=10ms"
candidates: ["*:delay=200ms"]
options: [--runtime=processes]
benchmarks:
  - scenario: steady
    topologies: [source-and-sink]
    run_time: 6s
    gates: [GATES]
"""
P99 = "latency_ms.due_to_received.p99 vs reference < 20%"


class ANight:
    """One `brokerbench nightly` of a plan with these gates, while it runs."""

    def __init__(self, folder: Path, name: str, gates: str, text: str = PLAN, short: bool = False) -> None:
        self.folder, self.log = folder, folder / f"{name}.log"
        self.runs, self.junit = folder / "runs", folder / f"{name}.xml"
        plan = folder / "plan.yaml"
        plan.write_text(text.replace("GATES", gates), encoding="utf-8")
        command: list[str | Path] = [Path(sys.executable).with_name("brokerbench"), "nightly", plan, "--night", name]
        command += ["--short"] if short else []
        files: list[str | Path] = ["--runs", self.runs, "--junit", self.junit, "--markdown", folder / f"{name}.md"]
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*command, *files],
                cwd=REPOSITORY,
                env=as_a_user_has_it(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def ended(self, timeout_s: float = 240) -> int:
        return self.process.wait(timeout_s)

    def usable_runs(self) -> list[str]:
        """Return the runs with figures in the history."""
        (folder,) = (self.runs / "nightly-history").iterdir()
        return sorted({run for path in folder.iterdir() for run in pq.read_table(path)["run_id"].to_pylist()})


@pytest.mark.nightly  # test_compare_making.py stops and goes on alike; the test below judges and keeps a night
@pytest.mark.timeout(900)
def test_a_night_that_is_stopped_goes_on_is_judged_and_is_kept_once(tmp_path: Path) -> None:
    gates = f"messages.lost == 0, '{P99}'"
    stopped = ANight(tmp_path, "monday", gates)
    until(lambda: stopped.process.poll() is not None or "run 2 of 2: block 1, " in stopped.output, 120)
    until(lambda: len(list(stopped.runs.glob("*/*/*/run.json"))) == 2)
    stopped.process.send_signal(signal.SIGINT)
    assert stopped.ended() == 130, stopped.output
    assert (
        "stopped: 1 of 2 runs are complete and stored; the same command with --night monday continues" in stopped.output
    )
    assert "Traceback" not in stopped.output
    assert nothing_left(stopped.runs)

    resumed = ANight(tmp_path, "monday", gates)
    assert resumed.ended() == 0, resumed.output
    assert (
        "1 gate against the reference body-bytes 100: each needs 7 blocks before it can fail or pass" in resumed.output
    )
    assert "steady on mesh: with 1 block its gates stay undecided" in resumed.output
    report = json.loads((resumed.runs / "nightly-monday" / "nightly.json").read_text(encoding="utf-8"))
    outcomes = {gate["gate"]: gate["outcome"] for gate in report["gates"]}
    assert outcomes == {"messages.lost == 0": "pass", P99: "undecided", "the scenario's own checks": "pass"}
    assert (report["colour"], len(resumed.usable_runs())) == ("yellow", 2)
    assert (tmp_path / "monday.md").read_text(encoding="utf-8").startswith("## Nightly benchmark monday: yellow")

    repeated = ANight(tmp_path, "monday", gates)
    assert repeated.ended() == 0, repeated.output
    assert repeated.usable_runs() == resumed.usable_runs()

    changed = ANight(tmp_path, "monday", "messages.received <= 0")
    assert changed.ended() == 2
    assert changed.output.splitlines()[-1].endswith("start another night for this plan with --night")


@pytest.mark.timeout(900)
def test_a_failed_gate_ends_with_status_1_and_is_named(tmp_path: Path) -> None:
    night = ANight(tmp_path, "red", "messages.received <= 0", short=True)
    assert night.ended() == 1, night.output
    assert len(night.usable_runs()) == 2
    assert "red: Failed: messages.received <= 0 (steady on mesh, body_bytes 900)." in night.output
    (case,) = ET.parse(night.junit).getroot().findall(".//testcase[failure]")
    assert case.get("name") == "messages.received <= 0: body_bytes 900"


@pytest.mark.nightly
@pytest.mark.brokers
@pytest.mark.links
@pytest.mark.timeout(2400)
def test_a_link_that_became_slower_is_found_on_real_brokers_and_nothing_else_is(tmp_path: Path) -> None:
    """14 runs: the candidate's link delays by 200 ms instead of 10 ms."""
    p50, rate = "latency_ms.due_to_received.p50 vs reference < 50%", "throughput.received_per_s vs reference > -20%"
    night = ANight(tmp_path, "slower", f"messages.lost == 0, '{p50}', '{rate}'", SLOWER_LINK)
    assert night.ended(2400) == 1, night.output
    report = json.loads((night.runs / "nightly-slower" / "nightly.json").read_text(encoding="utf-8"))
    outcomes = {gate["gate"]: gate["outcome"] for gate in report["gates"]}
    own = "the scenario's own checks"
    assert outcomes == {"messages.lost == 0": "pass", p50: "fail", rate: "pass", own: "pass"}, night.output
    assert f"red: Failed: {p50} (steady on source-and-sink, *:delay=200ms)." in night.output
    (case,) = ET.parse(night.junit).getroot().findall(".//testcase[failure]")
    assert case.get("name") == f"{p50}: *:delay=200ms"


def test_a_plan_that_was_refused_has_no_night_and_a_corrected_one_may_have_its_name(tmp_path: Path) -> None:
    bad = ANight(tmp_path, "tuesday", "messages.lost == 0", PLAN.replace("mesh", "mesh, mehs"))
    assert (bad.ended(), bad.runs.exists()) == (2, False), bad.output
    assert "no topology is called 'mehs'" in bad.output


@pytest.mark.parametrize(
    ("gates", "says"),
    [
        ("messages.lots == 0", "did you mean 'messages.lost'"),
        ("recovery.outage_ms.max < 9", "a run without a fault does not have this figure"),
    ],
)
def test_a_gate_that_no_run_can_answer_is_one_line_before_any_run_begins(tmp_path: Path, gates: str, says: str) -> None:
    night = ANight(tmp_path, "bad", gates)
    assert night.ended() == 2, night.output
    assert says in night.output
    assert len(night.output.splitlines()) == 1
    assert not night.runs.exists()
