"""Checks the page and the metrics of a headless run: the Brokers page and the metrics, on real brokers."""

import socket
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.support.locust_run import LocustRun, free_port

STEADY = "scenarios/steady.py"


def scrape(port: int) -> dict[tuple[str, str], float]:
    """Return the values by metric and broker ('' for a metric without brokers)."""
    text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=10).text
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(sample.name, sample.labels.get("broker", "")): sample.value for sample in samples}


@pytest.mark.brokers
@pytest.mark.spark
def test_a_headless_run_is_watched_by_page_and_prometheus(tmp_path: Path) -> None:
    """The broker that a fault froze is not up. Requests that change something are rejected."""
    page, metrics = free_port(), free_port()
    frozen = ("--fault", "freeze(broker-1, at=3, for=4)", "-t", "9s", "--warm-up", "1", "--topology", "mesh(brokers=2)")
    run = LocustRun(STEADY, *frozen, "--live", str(page), "--metrics-port", str(metrics), runs=tmp_path / "runs")
    run.wait_for("freeze of broker-1.*: requested")
    before = scrape(metrics)
    run.wait_for(r"load: [456] s of 9 s")
    during = scrape(metrics)
    now = requests.get(f"http://127.0.0.1:{page}/brokerbench/now", timeout=10).json()
    shown = requests.get(f"http://127.0.0.1:{page}/", timeout=10)
    changing = requests.post(f"http://127.0.0.1:{page}/brokerbench/now", timeout=10)
    rebound = requests.get(f"http://127.0.0.1:{metrics}/metrics", headers={"Host": "evil.example"}, timeout=10)
    outcome = run.outcome()

    assert before["brokerbench_broker_up", "broker-2"] == during["brokerbench_broker_up", "broker-2"] == 1
    assert during["brokerbench_broker_up", "broker-1"] == 0
    assert 0 < before["brokerbench_messages_sent_total", ""] < during["brokerbench_messages_sent_total", ""]
    assert during["brokerbench_fault_active", ""] == 1
    assert now["read_only"] is True
    assert now["lines"][0][1].startswith("load, ")
    assert now["history"]["moments"][-1]["p99_ms"] is not None
    assert "<title>brokerbench</title>" in shown.text
    assert (changing.status_code, rebound.status_code) == (405, 403)
    assert f"--live: http://127.0.0.1:{page}/brokerbench" in outcome.output
    for port in (page, metrics):
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port), timeout=5)


@pytest.mark.parametrize("option", ["--live", "--metrics-port"])
def test_a_port_that_is_taken_ends_the_run_first(option: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = LocustRun(STEADY, option, port, runs=tmp_path / "runs").outcome()
    assert outcome.status == 2
    assert f"{option} {port}: cannot listen on 127.0.0.1:{port} (Address already in use)" in outcome.output
    assert not (tmp_path / "runs").exists()
