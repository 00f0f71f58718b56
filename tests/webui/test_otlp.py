"""Checks pushes to an OpenTelemetry collector against a server that reads them, and the rules before a run."""

import logging
import sys
import time
from collections.abc import Iterator

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import NumberDataPoint
from prometheus_client.parser import text_string_to_metric_families

from harness.live.metrics import metrics
from harness.live.otlp import OtlpPush, require_collector
from harness.live.otlp_address import EXPORTER, otlp_refusals
from harness.run.snapshot import FaultState
from records.errors import UserError
from tests.support.locust_run import free_port
from tests.support.otlp_server import LOGS, METRICS, OtlpServer, otlp_server
from tests.webui.snapshots import NOW_NS, snapshot
from tests.webui.test_metrics import FULL, LAST

SECRET = "s3cret"


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with otlp_server() as running:
        yield running


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={SECRET},x-tenant=a%20b")


def points(pushed: OtlpServer) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the values of the last push by metric and labels."""
    found = {}
    for name, metric in pushed.last_metrics().items():
        is_counter = metric.HasField("sum")
        assert not is_counter or metric.sum.is_monotonic
        for point in metric.sum.data_points if is_counter else metric.gauge.data_points:
            labels = frozenset((attribute.key, attribute.value.string_value) for attribute in point.attributes)
            found[f"{name}_total" if is_counter else name, labels] = value_of(point)
    return found


def value_of(point: NumberDataPoint) -> float:
    return float(point.as_int if point.WhichOneof("value") == "as_int" else point.as_double)


@pytest.mark.usefixtures("headers")
def test_a_collector_gets_exactly_what_prometheus_gets(server: OtlpServer) -> None:
    """The same metrics, labels and values, with the run as attributes of all of them."""
    OtlpPush(server.address, lambda: FULL, lambda: LAST, with_events=True).close()
    families = text_string_to_metric_families(metrics(FULL, LAST))
    samples = [sample for family in families for sample in family.samples]
    assert points(server) == {(s.name, frozenset(s.labels.items())): s.value for s in samples}
    expected = {
        "service.name": "brokerbench",
        "brokerbench.run.id": FULL.run_id,
        "brokerbench.scenario": "steady",
        "brokerbench.topology": "mesh",
        "brokerbench.runtime": "processes",
    }
    assert expected.items() <= server.attributes().items()
    assert all((sent["api-key"], sent["x-tenant"]) == (SECRET, "a b") for sent in server.headers)


def test_events_are_pushed_once_each(server: OtlpServer) -> None:
    fault = FaultState("freeze", "b2", 4.0, 9.0, "going on", {"began": NOW_NS - 3})
    current = [snapshot(faults=(fault,))]
    push = OtlpPush(server.address, lambda: current[0], lambda: None, with_events=True)
    push._emit_new()
    current[0] = snapshot(faults=(fault,), over=True, state="ended")
    push.close()
    assert [(event.event_name, event.body.string_value) for event in server.events()] == [
        ("brokerbench.phase", "phase up begins"),
        ("brokerbench.phase", "phase prove begins"),
        ("brokerbench.phase", "phase clients begins"),
        ("brokerbench.phase", "phase warm-up begins"),
        ("brokerbench.phase", "phase load begins"),
        ("brokerbench.fault", "fault freeze of b2: began"),
        ("brokerbench.phase", "the run is over: ended"),
    ]
    assert points(server)["brokerbench_running", frozenset()] == 0


def test_the_check_of_a_collector_tries_both_paths(server: OtlpServer) -> None:
    assert require_collector(f"{server.address}/")
    assert (len(server.metrics), len(server.logs)) == (1, 1)


def test_a_collector_without_logs_gets_metrics_only(server: OtlpServer, caplog: pytest.LogCaptureFixture) -> None:
    server.answers[LOGS] = 404
    assert not require_collector(server.address)
    assert "the collector accepts metrics but no events (HTTP 404 Not Found)" in caplog.text
    OtlpPush(server.address, lambda: FULL, lambda: LAST, with_events=False).close()
    assert (len(server.logs), len(server.last_metrics())) == (0, 13)


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "the collector rejects the credentials (HTTP 401 Unauthorized); set OTEL_EXPORTER_OTLP_HEADERS"),
        (403, "the collector rejects the credentials (HTTP 403 Forbidden); set OTEL_EXPORTER_OTLP_HEADERS"),
        (404, "no OpenTelemetry collector accepts metrics there (HTTP 404 Not Found); start one"),
        (307, "no OpenTelemetry collector accepts metrics there (HTTP 307 Temporary Redirect); start one"),
    ],
)
def test_an_answer_that_is_no_yes_ends_the_run(
    server: OtlpServer, status: int, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers[METRICS] = status
    with pytest.raises(UserError) as refused:
        require_collector(server.address)
    assert str(refused.value).startswith(f"--otlp {server.address}: {sentence}")
    assert not caplog.records
    assert SECRET not in str(refused.value)


def test_a_port_without_a_collector_ends_the_run() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(UserError, match=rf"--otlp {address}: no OpenTelemetry collector .* \(Connection refused\)"):
        require_collector(address)


@pytest.mark.usefixtures("headers")
def test_a_collector_that_fails_later_is_one_warning(server: OtlpServer, caplog: pytest.LogCaptureFixture) -> None:
    push = OtlpPush(server.address, lambda: FULL, lambda: LAST, with_events=False)
    server.answers[METRICS] = 400
    for _ in range(3):
        push._meters.force_flush()
    push.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        f"--otlp {server.address}: a push was not accepted (HTTP 400 Bad Request); the run continues without it",
        f"--otlp {server.address}: the last metrics were not accepted (HTTP 400 Bad Request)",
    ]
    assert SECRET not in caplog.text


def test_a_collector_that_hangs_ends_with_the_timeout(
    server: OtlpServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of a run waits for its last pushes, but not for ever."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    push = OtlpPush(server.address, lambda: FULL, lambda: LAST, with_events=True)
    server.may_answer.clear()
    began_s = time.monotonic()
    push.close()
    assert time.monotonic() - began_s < 10
    assert "the last metrics were not accepted" in caplog.text


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", SECRET, "header 1 is not NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_HEADERS", f"a=b,c={SECRET}%0Ab", "header 2 is not NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", f'a="{SECRET}"', "header 1 is not NAME=VALUE"),
        ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", f"a={SECRET}%C3%A9", "header 1 is not NAME=VALUE"),
        ("OTEL_SDK_DISABLED", "TRUE", "OpenTelemetry would push nothing; unset it"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "soon", "must be a number of milliseconds above 0; unset it"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0", "must be a number of milliseconds above 0; unset it"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "inf", "must be a number of milliseconds above 0; unset it"),
    ],
)
def test_unusable_variables_are_rejected_without_their_secrets(
    variable: str, value: str, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    (refusal,) = otlp_refusals("http://127.0.0.1:4318", {variable: value})
    assert refusal.startswith(variable)
    assert sentence in refusal
    assert SECRET not in refusal + caplog.text


def test_usable_variables_are_accepted() -> None:
    variables = {
        "OTEL_EXPORTER_OTLP_HEADERS": "a=b, c=d e,,",
        "OTEL_METRIC_EXPORT_INTERVAL": "5e3",
        "OTEL_SDK_DISABLED": "",
    }
    assert list(otlp_refusals("https://127.0.0.1/otlp", variables)) == []
    assert list(otlp_refusals(None, {"OTEL_SDK_DISABLED": "true"})) == []


def test_a_missing_exporter_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, EXPORTER, None)
    (refusal,) = otlp_refusals("http://127.0.0.1:4318", {})
    assert refusal == (
        "--otlp http://127.0.0.1:4318: needs OpenTelemetry's exporter, which is not installed; run make install-otlp"
    )


@pytest.mark.parametrize("password", ["s3cret", "1/s3cret", "a?s3cret", "s3cret#1", "s3cret@1"])
def test_a_password_is_never_shown(password: str) -> None:
    (refusal,) = otlp_refusals(f"http://anna:{password}@127.0.0.1:4318", {})
    assert refusal.startswith("--otlp http://127.0.0.1:4318: contains a user name or a password")
    assert "s3cret" not in refusal
