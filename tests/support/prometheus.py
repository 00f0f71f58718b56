"""Runs a real Prometheus on loopback that scrapes one address each second (`.ci/install-prometheus.sh`)."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.support.locust_run import free_port
from tests.support.servers import running

PROGRAM = "prometheus"
CONFIGURATION = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: brokerbench
    static_configs: [{{targets: ["{target}"]}}]
"""
"""As docs/running.md has it."""


@dataclass(frozen=True)
class Prometheus:
    url: str

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the data of a reply of the HTTP API."""
        reply = requests.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30).json()
        assert reply["status"] == "success", reply
        return reply["data"]

    def values(
        self, query: str, begin_s: float, end_s: float
    ) -> list[tuple[dict[str, str], list[tuple[float, float]]]]:
        """Return each series with its (time, value) in this range, one per second."""
        data = self.get("query_range", query=query, start=begin_s, end=end_s, step="1")
        return [(one["metric"], [(at_s, float(text)) for at_s, text in one["values"]]) for one in data["result"]]

    def scrapes(self) -> bool:
        """Whether the last scrape of the target succeeded."""
        return any(target["health"] == "up" for target in self.get("targets")["activeTargets"])


def find_prometheus() -> str | None:
    return shutil.which(PROGRAM) or shutil.which(str(Path(sys.executable).with_name(PROGRAM)))


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    program = find_prometheus()
    assert program, f"no {PROGRAM}: run .ci/install-prometheus.sh"
    folder.mkdir()
    (folder / "prometheus.yml").write_text(CONFIGURATION.format(target=target), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    options = (f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}")
    command = [program, *options, f"--web.listen-address={address}"]
    with running(command, folder / "log", lambda: _is_ready(address)):
        yield Prometheus(f"http://{address}")


def _is_ready(address: str) -> bool:
    try:
        return requests.get(f"http://{address}/-/ready", timeout=2).ok
    except requests.RequestException:
        return False
