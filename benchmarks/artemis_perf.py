"""Runs ``artemis perf client``, the load generator of Artemis' own distribution, on a broker that is up."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.stopwatch import BODY_BYTES, USER, children_cpu_s
from topologies.artemis.launch import MAIN
from topologies.runtimes.distribution import ensure, pinned
from topologies.runtimes.java import find_java
from topologies.runtimes.processes.runtime import ProcessRuntime


class PerfClient:
    """One producer and one consumer, in a process for each run. ``folder``: for its arguments and reports."""

    def __init__(self, runtime: ProcessRuntime, folder: Path) -> None:
        self._runtime, self._folder = runtime, folder
        self._home, self._java = ensure(pinned("activemq-artemis")), find_java().executable

    def run(self, wishes: str, uri: str, *, durable: bool) -> tuple[float, list[dict[str, Any]]]:
        """CPU seconds of the whole process, and its samples. The password is passed in a file that only we can read."""
        arguments, report, before_s = self._folder / "perf.args", self._folder / "perf.json", children_cpu_s()
        report.unlink(missing_ok=True)
        arguments.touch(mode=0o600)
        arguments.write_text(
            f"-Dartemis.home={self._home} -Dartemis.instance={self._folder} -Dlog4j2.level=OFF "
            f"-classpath {self._home}/lib/artemis-boot.jar {MAIN} perf client {wishes} --json {report} "
            f"--message-size {BODY_BYTES} --url {uri} --user {USER} --password {self._runtime.credentials().password} "
            f"{'--persistent ' if durable else ''}queue://perf.{time.time_ns()}\n"
        )
        done = subprocess.run([self._java, f"@{arguments}"], cwd=self._folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return children_cpu_s() - before_s, json.loads(report.read_text())
