"""Checks runs whose link is started by hand: nothing crosses before, and everything arrives afterwards."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]
STEADY = "scenarios/steady.py"
SHORT = ("-t", "8s", "--warm-up", "1", "--rate", "100")


def started_by_hand(runs: Path, topology: str) -> None:
    fault, load = "start-link(source-to-sink, at=2)", ("-t", "5s", "--warm-up", "1", "--rate", "200")
    outcome = make_run(STEADY, "--topology", topology, "--fault", fault, *load, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (started,) = outcome.events("faults")
    assert (started["kind"], started["error"]) == ("start-link", None)
    received_ns = [row["received_ns"] for row in outcome.events("receipts")]
    assert min(received_ns) > started["began_ns"]
    messages = outcome.summary["messages"]
    assert messages["received"] == messages["sent"] == len(received_ns)
    sent_before = sum(row["sent_ns"] < started["began_ns"] for row in outcome.events("sends"))
    assert sent_before >= 400, "the load did not wait for the link"
    report = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert re.search(r"source-to-sink was started by management at 2[.\d]* s and stayed up", report)
    assert nothing_left(runs)


def test_a_connection_without_auto_start_waits(tmp_path: Path) -> None:
    started_by_hand(tmp_path / "runs", "senders(auto_start=False)")


@pytest.mark.nightly  # test_a_connection_without_auto_start_waits is the same by Artemis
def test_a_network_connector_waits(tmp_path: Path) -> None:
    """Classic starts it with its broker, so the run stops it before the load."""
    started_by_hand(tmp_path / "runs", "source-and-sink")


@pytest.mark.nightly
def test_a_network_connector_that_gave_up_is_named_and_started_again(tmp_path: Path) -> None:
    """It uses its three attempts while the other broker is down. The report has the time of each attempt."""
    runs, overlay = tmp_path / "runs", tmp_path / "three-attempts.yaml"
    overlay.write_text("links: {all: {discovery: {initial_reconnect_delay_ms: 500, max_reconnect_attempts: 3}}}\n")
    faults = "kill(sink, at=3, for=6); start-link(source-to-sink, at=28)"
    options = ("--topology", "source-and-sink", "--overlay", str(overlay), "--fault", faults)
    outcome = make_run(STEADY, *options, "-t", "33s", "--rate", "100", runs=runs)
    assert outcome.summary["verdict"] in ("pass", "fail"), outcome.output  # a kill may repeat what was in flight
    assert outcome.summary["messages"]["lost"] == outcome.summary["messages"]["stranded"] == 0
    gave_up, tried = (warning for warning in outcome.info["warnings"] if warning.startswith("link source-to-sink"))
    assert gave_up.startswith("link source-to-sink gave up: source logged 'Reconnect attempts exceeded 3 tries.")
    results = [attempt.rpartition(": ")[2] for attempt in tried.partition("; ")[0].split(", ")]
    assert results[-4:] == ["Connection refused", "Connection refused", "Connection refused", "connected"]
    assert nothing_left(runs)


@pytest.mark.nightly
def test_a_connection_that_gave_up_is_named_and_started_again(tmp_path: Path) -> None:
    """It uses its two attempts while the other broker is down, and stays down afterwards."""
    runs, topology = tmp_path / "runs", "senders(reconnect_attempts=2, retry_interval_ms=200, auto_start=False)"
    faults = "stop-link(source-to-sink, at=1, for=0.5); kill(sink, at=3, for=2); start-link(source-to-sink, at=28)"
    outcome = make_run(STEADY, "--topology", topology, "--fault", faults, "-t", "33s", "--rate", "100", runs=runs)
    assert outcome.summary["verdict"] in ("pass", "fail"), outcome.output  # a kill may repeat what was in flight
    assert outcome.summary["messages"]["lost"] == 0
    killed, started = (
        next(row for row in outcome.events("faults") if row["kind"] == kind) for kind in ("kill", "start-link")
    )
    receipts = outcome.events("receipts")
    sent_later = {
        (row["producer"], row["seq"]) for row in outcome.events("sends") if row["sent_ns"] > killed["effective_ns"]
    }
    later_ns = [row["received_ns"] for row in receipts if (row["producer"], row["seq"]) in sent_later]
    assert len(later_ns) > 1_000
    assert min(later_ns) > started["began_ns"]
    (warning,) = [warning for warning in outcome.info["warnings"] if "gave up" in warning]
    assert warning.startswith(
        "link source-to-sink gave up: source logged 'Could not re-establish AMQP Server Connection source-to-sink on "
    )
    assert nothing_left(runs)


@pytest.mark.nightly  # harness/test_fault_probe.py has the probe
def test_a_join_does_not_wait_for_a_link_that_gave_up(tmp_path: Path) -> None:
    """The link from the edge uses its three attempts before the broker joins. The broker joins without it."""
    runs, overlay = tmp_path / "runs", tmp_path / "three-attempts.yaml"
    discovery = "{initial_reconnect_delay_ms: 200, max_reconnect_attempts: 3}"
    overlay.write_text(f"links: {{edge-1-to-centre-2: {{discovery: {discovery}}}}}\n", encoding="utf-8")
    options = ("--topology", "concentrator(edges=1)", "--overlay", str(overlay), "--fault", "join(centre-2, at=4)")
    outcome = make_run(STEADY, *options, "--failover", "randomize=false", *SHORT, runs=runs)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (join,) = outcome.events("faults")
    assert (join["kind"], join["error"]) == ("join", None)
    (gave_up,) = [warning for warning in outcome.info["warnings"] if "gave up" in warning]
    assert gave_up.startswith("link edge-1-to-centre-2 gave up: edge-1 logged 'Reconnect attempts exceeded 3 tries.")
    assert "; it stays down until the broker restarts, or until --fault 'start-link(edge-1-to-centre-2" in gave_up
    assert nothing_left(runs)
