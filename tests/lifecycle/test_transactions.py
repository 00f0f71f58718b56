"""Checks that whole runs in transactions pass by each protocol, with each message once."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

ENTRIES = {"stomp": "single", "amqp": "single", "openwire": "single", "core": "artemis-single"}


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ENTRIES)
def test_steady_passes_in_transactions(protocol: str, tmp_path: Path) -> None:
    where = ("--headless", "--runtime", "processes", "--topology", ENTRIES[protocol], "--protocol", protocol)
    load = ("--transaction-size", "7", "-t", "10s", "--warm-up", "2")
    outcome = make_run("scenarios/steady.py", *where, *load, runs=tmp_path / "runs")
    assert outcome.status == 0, outcome.output
    assert outcome.summary["verdict"] == "pass"
    messages = outcome.summary["messages"]
    assert messages["sent"] == messages["received"] > 1_000
    assert nothing_left(tmp_path / "runs")
