"""Pushes the metrics and events of one run to an OpenTelemetry collector: ``--otlp``.

The metrics are those of `harness.live.metrics`, under the same names without the ending ``_total``, which a collector
adds for Prometheus. The events (`harness.live.events`) are log records. OpenTelemetry's exporter is an optional
package, so this module is only imported with ``--otlp``. A failing collector does not affect the run; the first failure
is logged.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import gevent
import requests
from gevent.lock import RLock
from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource

from harness.live.events import events_of
from harness.live.history import Moment
from harness.live.metrics import COUNTER, METRICS, LiveMetric
from harness.live.otlp_address import HEADERS, interval_ms
from harness.run.snapshot import Snapshot
from records.errors import UserError, innermost_reason
from records.units import MS_PER_S, NS_PER_S

log = logging.getLogger("brokerbench")

SCOPE = "brokerbench"
FRESH_FOR_NS = NS_PER_S // 10
"""All metrics of one push come from one snapshot, which is at most this old."""
LOOK_EVERY_S = 1.0
CHECK_TIMEOUT_S = 5.0
LAST_PUSH_TIMEOUT_S = 10.0
EVENTS_PER_PUSH = 512
METRICS_PATH, LOGS_PATH = "/v1/metrics", "/v1/logs"


class WatchedSession(requests.Session):
    """A session that keeps why its last request failed: '' if the collector accepted it.

    ``failed``: called after the first failure, with the reason.
    """

    def __init__(self, failed: Callable[[str], None] = lambda why: None) -> None:
        super().__init__()
        self.trouble = ""
        self._failed: Callable[[str], None] | None = failed

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        try:
            response = super().send(request, **options)
        except Exception as error:
            self._note(innermost_reason(error))
            raise
        # A redirect counts as a failure, as it is not followed: it could lead credentials to another host.
        self._note(
            "" if 200 <= response.status_code < 300 else f"HTTP {response.status_code} {response.reason}".strip()
        )
        return response

    def _note(self, trouble: str) -> None:
        self.trouble = trouble
        if trouble and self._failed:
            self._failed(trouble)
            self._failed = None


def require_collector(address: str) -> bool:
    """Push empty metrics. Raises UserError if the collector does not accept them. Returns whether it accepts events."""
    _silence_exporter()
    metrics, logs = WatchedSession(), WatchedSession()
    exporter = OTLPMetricExporter(_at(address, METRICS_PATH), session=metrics, timeout=CHECK_TIMEOUT_S)
    exporter.export(MetricsData(resource_metrics=[]))
    exporter.shutdown()
    if metrics.trouble:
        raise UserError(f"--otlp {address}: {_not_accepted(metrics.trouble)}")
    log_exporter = OTLPLogExporter(_at(address, LOGS_PATH), session=logs, timeout=CHECK_TIMEOUT_S)
    log_exporter.export([])
    log_exporter.shutdown()
    if logs.trouble:
        log.warning(
            "--otlp %s: the collector accepts metrics but no events (%s); add a pipeline for logs to push faults and "
            "phases too",
            address,
            logs.trouble,
        )
    return not logs.trouble


def _not_accepted(trouble: str) -> str:
    if trouble.startswith(("HTTP 401", "HTTP 403")):
        return f"the collector rejects the credentials ({trouble}); set {HEADERS[0]}, such as api-key=SECRET"
    return (
        f"no OpenTelemetry collector accepts metrics there ({trouble}); start one with an OTLP receiver for HTTP, or "
        "correct the address"
    )


def _at(address: str, path: str) -> str:
    return address.rstrip("/") + path


def _silence_exporter() -> None:
    """Hide OpenTelemetry's lines about failed pushes, one for each try. This module reports the first failure."""
    for name in ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


class OtlpPush:
    """Pushes one run, from its start to its last snapshot. Each push contains the current values of all metrics."""

    def __init__(
        self,
        address: str,
        snapshot: Callable[[], Snapshot],
        last_moment: Callable[[], Moment | None],
        *,
        with_events: bool,
    ) -> None:
        """``snapshot`` returns the current state of the run, and ``last_moment`` the rates of its last second."""
        _silence_exporter()
        self._address, self._snapshot, self._last_moment = address, snapshot, last_moment
        self._cached: tuple[int, Snapshot] | None = None
        self._emitted: set[tuple[str | int, ...]] = set()
        self._closing, self._is_closed = RLock(), False
        resource = Resource.create(_attributes(snapshot()))
        self._session = WatchedSession(self._warn)
        exporter = OTLPMetricExporter(_at(address, METRICS_PATH), session=self._session)
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=interval_ms(os.environ))
        self._meters = MeterProvider([reader], resource, shutdown_on_exit=False)
        self._loggers = LoggerProvider(resource, shutdown_on_exit=False) if with_events else None
        if self._loggers:
            log_exporter = OTLPLogExporter(_at(address, LOGS_PATH), session=WatchedSession(self._warn))
            processor = BatchLogRecordProcessor(
                log_exporter,
                schedule_delay_millis=LOOK_EVERY_S * MS_PER_S,
                max_export_batch_size=EVENTS_PER_PUSH,
                max_queue_size=4 * EVENTS_PER_PUSH,
            )
            self._loggers.add_log_record_processor(processor)
        self._declare()
        self._watch = gevent.spawn(self._keep_watching)

    def close(self, timeout_s: float = 2 * LAST_PUSH_TIMEOUT_S) -> None:
        """Push the last values and events, and end. ``timeout_s``: for both together.

        If another greenlet does so already, wait for it: the process would otherwise end before the push.
        """
        with self._closing:
            if not self._is_closed:
                self._close(timeout_s)
            self._is_closed = True

    def _close(self, timeout_s: float) -> None:
        self._watch.kill()
        self._cached = None
        self._emit_new()
        with gevent.Timeout(timeout_s, False):
            if self._loggers:
                self._loggers.shutdown()
            self._meters.shutdown(LAST_PUSH_TIMEOUT_S * MS_PER_S)
        if self._session.trouble:
            log.warning("--otlp %s: the last metrics were not accepted (%s)", self._address, self._session.trouble)

    def _warn(self, trouble: str) -> None:
        log.warning("--otlp %s: a push was not accepted (%s); the run continues without it", self._address, trouble)

    def _declare(self) -> None:
        meter = self._meters.get_meter(SCOPE)
        for metric in METRICS:
            declare = meter.create_observable_counter if metric.is_counter else meter.create_observable_gauge
            observe = partial(self._observe, metric)
            declare(metric.name.removesuffix(COUNTER), [observe], description=metric.help)

    def _observe(self, metric: LiveMetric, options: CallbackOptions) -> Iterable[Observation]:
        snapshot = self._current()
        last = None if snapshot.over else self._last_moment()
        return [Observation(value, dict(labels)) for labels, value in metric.values(snapshot, last)]

    def _current(self) -> Snapshot:
        now_ns = time.perf_counter_ns()
        if self._cached is None or now_ns - self._cached[0] > FRESH_FOR_NS:
            self._cached = (now_ns, self._snapshot())
        return self._cached[1]

    def _keep_watching(self) -> None:
        while True:
            self._emit_new()
            gevent.sleep(LOOK_EVERY_S)

    def _emit_new(self) -> None:
        if self._loggers is None:
            return
        logger = self._loggers.get_logger(SCOPE)
        unix_ns = time.time_ns() - time.perf_counter_ns()
        for event in events_of(self._current()):
            if event.key in self._emitted:
                continue
            self._emitted.add(event.key)
            logger.emit(
                timestamp=event.at_ns + unix_ns,
                severity_number=SeverityNumber.INFO,
                body=event.text,
                attributes=dict(event.attributes),
                event_name=event.name,
            )


def _attributes(snapshot: Snapshot) -> dict[str, str]:
    """Return the attributes of everything that a run pushes. OpenTelemetry's variables may add others."""
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: SCOPE}
    return {
        **named,
        SERVICE_INSTANCE_ID: snapshot.run_id,
        "brokerbench.run.id": snapshot.run_id,
        "brokerbench.scenario": snapshot.scenario,
        "brokerbench.topology": snapshot.topology,
        "brokerbench.runtime": snapshot.runtime,
    }
