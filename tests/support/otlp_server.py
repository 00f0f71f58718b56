"""Runs an HTTP server on loopback that reads OTLP with OpenTelemetry's message classes, and keeps what it gets."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

METRICS, LOGS = "/v1/metrics", "/v1/logs"


@dataclass
class OtlpServer:
    """``answers``: HTTP status by path, 200 for others. While ``may_answer`` is cleared, it answers nothing."""

    address: str = ""
    answers: dict[str, int] = field(default_factory=dict)
    may_answer: threading.Event = field(default_factory=threading.Event)
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)
    logs: list[ExportLogsServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def keep(self, path: str, headers: dict[str, str], body: bytes) -> int:
        self.headers.append(headers)
        status = self.answers.get(path, 200)
        if path == METRICS and status == 200:
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))
        if path == LOGS and status == 200:
            self.logs.append(ExportLogsServiceRequest.FromString(body))
        return status

    def last_metrics(self) -> dict[str, Metric]:
        """Return the metrics of the last push, by name."""
        (resource,) = self.metrics[-1].resource_metrics
        return {metric.name: metric for metric in resource.scope_metrics[0].metrics}

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the run, from the last push."""
        resource = self.metrics[-1].resource_metrics[0].resource
        return {attribute.key: attribute.value.string_value for attribute in resource.attributes}

    def events(self) -> list[LogRecord]:
        scopes = [scope for logs in self.logs for resource in logs.resource_logs for scope in resource.scope_logs]
        return [record for scope in scopes for record in scope.log_records]


@contextmanager
def otlp_server() -> Iterator[OtlpServer]:
    kept = OtlpServer()
    kept.may_answer.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.may_answer.wait()
            self.send_response(kept.keep(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield kept
        finally:
            kept.may_answer.set()
            server.shutdown()
            thread.join()
