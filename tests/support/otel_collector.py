"""Runs a real OpenTelemetry Collector on loopback, which writes what it receives to a file."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.locust_run import REPOSITORY, free_port
from tests.support.servers import listens, running

CONFIGURATION = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "{endpoint}"}}}}}}}}
exporters: {{file: {{path: "{file}"}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    metrics: {{receivers: [otlp], exporters: [file]}}
    logs: {{receivers: [otlp], exporters: [file]}}
"""


@dataclass(frozen=True)
class CollectedExports:
    """What the collector wrote: OTLP as JSON, one push per line."""

    file: Path

    def pushes(self, part: str) -> list[dict[str, Any]]:
        """Return the pushes of ``resourceMetrics`` or ``resourceLogs``, in order."""
        lines = map(json.loads, self.file.read_text(encoding="utf-8").splitlines())
        return [resource for line in lines for resource in line.get(part, ())]


def attributes(of: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a resource, a record or a data point."""
    return {one["key"]: next(iter(one["value"].values())) for one in of.get("attributes", ())}


@contextmanager
def otel_collector(folder: Path) -> Iterator[tuple[str, CollectedExports]]:
    """Yield the collector's address and what it has received, which is complete after the block."""
    subprocess.run(["bash", ".ci/install-otel-collector.sh"], cwd=REPOSITORY, check=True)
    port = free_port()
    received = CollectedExports(folder / "received.json")
    folder.mkdir()
    configuration = CONFIGURATION.format(endpoint=f"127.0.0.1:{port}", file=received.file)
    (folder / "config.yaml").write_text(configuration, encoding="utf-8")
    program = Path(sys.executable).with_name("otel-collector")
    with running([program, "--config", folder / "config.yaml"], folder / "log", lambda: listens(port)):
        yield f"http://127.0.0.1:{port}", received
