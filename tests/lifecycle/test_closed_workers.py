"""Checks closed loads of two workers on a real broker, with and without a connection for each message."""

from pathlib import Path

import pytest

from records.tables.schemas import CLIENTS_PER_PROCESS
from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.amqp, pytest.mark.nightly]


@pytest.mark.parametrize("connections", ["one", "per-message"])
def test_closed_workers_send_one_per_answer(connections: str, tmp_path: Path) -> None:
    load = ("--protocol", "amqp", "--connections", connections, "--processes", "2", "--closed", "--producers", "4")
    run = make_run("scenarios/steady.py", "--topology", "single", *load, "-t", "4s", runs=tmp_path / "runs")
    summary = run.summary
    answer_ms = summary["latency_ms"]["sent_to_settled"]["p50"]
    assert summary["verdict"] == "pass", run.output
    assert summary["messages"]["in_doubt"] == summary["messages"]["lost"] == 0
    assert summary["throughput"]["sent_per_s"] < 1.5 * 4 * 1_000 / answer_ms
    assert {row["producer"] // CLIENTS_PER_PROCESS for row in run.events("sends")} == {1, 2}
