"""Checks that a run builds its topology once, and looks for Docker at most once, from its options to its brokers."""

import json
from pathlib import Path

import pytest

from tests.support.locust_run import make_run

COUNTING = "tests/lifecycle/locustfiles/counting.py"


@pytest.mark.parametrize(
    ("arguments", "counted"),
    [
        (("--runtime", ""), "1 builds, 1 looks"),  # the runtime is chosen, so Docker is looked for
        (("--runtime", "processes"), "1 builds, 0 looks"),
        pytest.param(
            ("--runtime", "processes", "--link", "*:delay=0ms"), "1 builds, 0 looks", marks=pytest.mark.links, id="link"
        ),
        (("--runtime", "memory"), "1 builds, 0 looks"),
    ],
)
def test_a_topology_is_built_once_a_run_and_docker_is_looked_for_at_most_once(
    tmp_path: Path, arguments: tuple[str, ...], counted: str
) -> None:
    outcome = make_run(COUNTING, *arguments, runs=tmp_path / "runs")
    assert f"counted: {counted}" in outcome.output, outcome.output
    assert outcome.status == 2


def test_a_second_time_would_be_counted(tmp_path: Path) -> None:
    outcome = make_run(COUNTING, "--runtime", "", runs=tmp_path / "runs", env={"TWICE": "1"})
    assert "counted: 2 builds, 2 looks" in outcome.output, outcome.output


TTL_TOO_SMALL = ("scenarios/steady.py", "--runtime", "memory", "--topology", "ring(ttl=1)")
WARNING = "WARNING/brokerbench: a message sent at 'broker-1' cannot reach a consumer at 'broker-3': raise "


def test_a_dry_run_warns_of_consumers_that_messages_cannot_reach(tmp_path: Path) -> None:
    outcome = make_run(*TTL_TOO_SMALL, "--dry-run", runs=tmp_path / "runs")
    assert outcome.status == 0, outcome.output
    assert WARNING in outcome.output
    (would_run,) = [json.loads(line) for line in outcome.output.splitlines() if line.startswith("{")]
    assert [text.split(": ")[0] for text in would_run["warnings"]] == [
        f"a message sent at 'broker-1' cannot reach a consumer at 'broker-{number}'" for number in (3, 4)
    ]
    assert not (tmp_path / "runs").exists(), "nothing was started"


@pytest.mark.nightly  # the dry run above has the warnings
@pytest.mark.spark
def test_a_run_warns_first_and_its_report_has_the_warning(tmp_path: Path) -> None:
    outcome = make_run(*TTL_TOO_SMALL, "-t", "2s", "--warm-up", "0", runs=tmp_path / "runs")
    ours = [line for line in outcome.output.splitlines() if "/brokerbench: " in line]
    assert WARNING in ours[0], outcome.output
    assert outcome.run.name in ours[2], "two brokers are out of reach, and then the run is named"
    report = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "cannot reach a consumer at &#39;broker-3&#39;" in report
    assert "Probable cause" not in report, "brokers in memory have no links, so all was received"
