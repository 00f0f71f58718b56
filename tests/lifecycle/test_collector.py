"""Checks what collectors get of headless runs: a server in the test, and a real OpenTelemetry Collector."""

import signal
from pathlib import Path
from typing import Any

import pytest

from records.store.reader import seal
from records.store.rundir import RunDirectory
from tests.support.locust_run import LocustRun, RunOutcome, free_port, make_run
from tests.support.otel_collector import attributes, otel_collector
from tests.support.otlp_server import otlp_server

STEADY = "scenarios/steady.py"
IN_MEMORY = ("--runtime", "memory", "--protocol", "memory", "--analyse-later")
FREEZE_S = 4.0
SECRET = "s3cret"
NS_PER_S = 1e9


def test_a_whole_run_is_pushed_to_its_end(tmp_path: Path) -> None:
    """The last push has the final counts, and no file of the run has the secret of the headers."""
    with otlp_server() as server:
        secret = {"OTEL_EXPORTER_OTLP_HEADERS": f"api-key={SECRET}"}
        options = ("-t", "3s", "--warm-up", "1", "--otlp", server.address)
        outcome = make_run(STEADY, *options, *IN_MEMORY, runs=tmp_path / "runs", env=secret)
        assert outcome.status == 0, outcome.output
        assert {headers["api-key"] for headers in server.headers} == {SECRET}
    last = server.last_metrics()
    assert last["brokerbench_running"].gauge.data_points[0].as_int == 0
    seal(RunDirectory(outcome.run))
    assert last["brokerbench_messages_sent"].sum.data_points[0].as_int == len(outcome.events("sends"))
    assert server.attributes()["brokerbench.run.id"] == outcome.run.name
    assert server.events()[-1].body.string_value == "the run is over: ended"
    assert SECRET not in outcome.output
    files = [path for path in outcome.run.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def test_the_second_ctrl_c_is_pushed_too(tmp_path: Path) -> None:
    """Otherwise a dashboard would show a run that goes on for ever."""
    with otlp_server() as server:
        run = LocustRun(STEADY, "-t", "60s", "--otlp", server.address, *IN_MEMORY, runs=tmp_path / "runs")
        run.wait_for("All users spawned")
        run.send(signal.SIGINT)
        run.wait_for("Ctrl-C: ending the load")
        run.send(signal.SIGINT)
        assert run.outcome().status == 130
    assert server.last_metrics()["brokerbench_running"].gauge.data_points[0].as_int == 0
    assert server.events()[-1].body.string_value == "the run is over: interrupted"


@pytest.mark.parametrize("option", ["http://127.0.0.1:{port}", "https://127.0.0.1:{port}/otlp"])
def test_no_run_begins_without_its_collector(option: str, tmp_path: Path) -> None:
    address = option.format(port=free_port())
    outcome = make_run(STEADY, "--otlp", address, *IN_MEMORY, runs=tmp_path / "runs")
    assert outcome.status == 2
    assert f"--otlp {address}: no OpenTelemetry collector accepts metrics there (Connection refused)" in outcome.output
    assert not (tmp_path / "runs").exists()


def frozen_run(address: str, runs: Path) -> RunOutcome:
    fault = ("--fault", f"freeze(broker-1, at=3, for={FREEZE_S:g})", "-t", "10s", "--warm-up", "1")
    options = ("--topology", "mesh(brokers=2)", "--otlp", address, "--analyse-later")
    return make_run(STEADY, *fault, *options, runs=runs)


@pytest.mark.brokers
@pytest.mark.nightly
def test_a_real_collector_has_the_run_and_its_fault(tmp_path: Path) -> None:
    """Its events have the times of the run's own records."""
    with otel_collector(tmp_path / "collector") as (address, received):
        outcome = frozen_run(address, tmp_path / "runs")
        assert outcome.status == 0, outcome.output
    metrics, logs = received.pushes("resourceMetrics"), received.pushes("resourceLogs")
    of_run = {"brokerbench.run.id": outcome.run.name, "brokerbench.scenario": "steady", "service.name": "brokerbench"}
    assert all(of_run.items() <= attributes(push["resource"]).items() for push in (*metrics, *logs))
    series = [points_of(push) for push in metrics]
    assert [values["brokerbench_broker_up", "broker-1"] for values in series].count(0) >= FREEZE_S - 2
    assert all(values["brokerbench_broker_up", "broker-2"] for values in series[-12:-6])
    seal(RunDirectory(outcome.run))
    assert series[-1]["brokerbench_messages_sent", ""] == len(outcome.events("sends"))
    records = [record for push in logs for scope in push["scopeLogs"] for record in scope["logRecords"]]
    fault_times = {
        attributes(record)["brokerbench.fault.stage"]: int(record["timeUnixNano"])
        for record in records
        if record["eventName"] == "brokerbench.fault"
    }
    assert [*fault_times] == ["began", "effective", "ended", "restored"]
    (row,) = outcome.events("faults")
    lasted_s = (fault_times["ended"] - fault_times["began"]) / NS_PER_S
    assert lasted_s == pytest.approx((row["ended_ns"] - row["began_ns"]) / NS_PER_S, abs=0.05)
    assert records[-1]["body"]["stringValue"] == "the run is over: ended"


def points_of(push: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Return the values of a push by metric and broker."""
    values = {}
    for metric in push["scopeMetrics"][0]["metrics"]:
        for point in metric.get("sum", metric.get("gauge"))["dataPoints"]:
            value = float(point.get("asInt", point.get("asDouble")))
            values[metric["name"], attributes(point).get("broker", "")] = value
    return values
