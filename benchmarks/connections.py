"""Measures a thousand connections in one worker: memory and CPU, idle and at one message/s each.

``python -m benchmarks.connections [PROTOCOL [COUNT]]`` starts one broker that speaks it, Artemis for Core and Classic
for any other, and prints a Markdown row. Every connection is a Locust user of this project: COUNT producers, and beside
them one consumer that takes what they send.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.pairs import conditions
from records.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.model.topology import Topology
from topologies.runtimes.processes.runtime import ProcessRuntime

BROKER = "broker-1"
HEADER = (
    "| driver | connections | connected in | memory of each | CPU, idle | CPU, 1 message/s each | lag p50 | p99 |\n"
    "|---|---|---|---|---|---|---|---|"
)


def topology_for(protocol: str) -> Topology:
    """One broker that speaks it: only Artemis knows Core."""
    return build("artemis-single" if protocol == "core" else "single")


def main(protocol: str, count: int) -> None:
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        runtime = ProcessRuntime(topology_for(protocol), RunDirectory.create(Path(folder), "broker"))
        runtime.up(print)
        try:
            uri = runtime.endpoint(BROKER, protocol).uri
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.connections_users", protocol, uri, str(count)]
            done = subprocess.run(
                command, input=runtime.credentials().password, stdout=subprocess.PIPE, text=True, check=True
            )
            print(f"\n{HEADER}\n{done.stdout.splitlines()[-1]}")
        finally:
            runtime.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "stomp", int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)
