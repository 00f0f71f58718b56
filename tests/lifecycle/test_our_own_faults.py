"""Checks that neither an error in brokerbench nor too large a load makes a run pass or hang."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = pytest.mark.spark

MEMORY = ("--runtime", "memory", "-t", "2s", "--warm-up", "0")


@pytest.mark.nightly
def test_messages_that_were_due_and_never_sent_make_the_run_invalid(tmp_path: Path) -> None:
    outcome = make_run("scenarios/steady.py", *MEMORY, "--rate", "60000", runs=tmp_path / "runs")
    assert outcome.summary["verdict"] == "invalid", outcome.output
    (reason,) = (reason for reason in outcome.summary["reasons"] if "were due were never sent" in reason)
    missed = int(reason.split()[0].replace(",", ""))
    assert missed + outcome.summary["messages"]["sent"] == pytest.approx(120_000, abs=12)


@pytest.mark.nightly
def test_a_load_of_more_and_more_clients_may_become_too_much(tmp_path: Path) -> None:
    arguments = ("--runtime", "memory", "--clients", "4,8@5s", "--warm-up", "0", "--rate", "60000")
    outcome = make_run("scenarios/connections.py", *arguments, runs=tmp_path / "runs")
    assert any("were due were never sent" in warning for warning in outcome.info["warnings"]), outcome.output
    assert outcome.summary["verdict"] != "invalid", outcome.output
    assert outcome.summary["connections"]["limited_by"] in ("generator", "host", "latency")


@pytest.mark.nightly
def test_a_user_that_fails_is_told_once_and_the_run_is_invalid(tmp_path: Path) -> None:
    outcome = make_run("tests/lifecycle/locustfiles/crashing.py", *MEMORY, runs=tmp_path / "runs")
    assert outcome.summary["verdict"] == "invalid", outcome.output
    assert any("planted in a producer" in reason for reason in outcome.summary["reasons"])
    assert nothing_left(tmp_path / "runs")


def test_a_run_controller_that_fails_ends_the_run_and_does_not_hang(tmp_path: Path) -> None:
    env = {"PLANTED_IN": "controller"}
    outcome = make_run("tests/lifecycle/locustfiles/crashing.py", *MEMORY, runs=tmp_path / "runs", env=env)
    assert outcome.status != 0, outcome.output
    assert "planted in the run controller" in outcome.output
    assert nothing_left(tmp_path / "runs")
