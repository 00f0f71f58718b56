"""Measures a thousand connections in one worker: memory and CPU, idle and at one message/s each.

``python -m benchmarks.connections [PROTOCOL [COUNT]]`` starts one broker that speaks it, Artemis for Core and Classic
for any other, and prints a Markdown row. Every connection is a Locust user of this project: COUNT producers, and beside
them one consumer that takes what they send.
"""

import subprocess
import sys

from benchmarks.one_broker import broker
from benchmarks.pairs import conditions

BROKER = "broker-1"
HEADER = (
    "| driver | connections | connected in | memory of each | CPU, idle | CPU, 1 message/s each | lag p50 | p99 |\n"
    "|---|---|---|---|---|---|---|---|"
)


def entry_for(protocol: str) -> str:
    """The catalogue entry of one broker that speaks it: only Artemis knows Core."""
    return "artemis-single" if protocol == "core" else "single"


def main(protocol: str, count: int) -> None:
    print(conditions())
    with broker(entry_for(protocol)) as (runtime, _):
        uri = runtime.endpoint(BROKER, protocol).uri
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.connections_users", protocol, uri, str(count)]
        password = runtime.credentials().password
        done = subprocess.run(command, input=password, stdout=subprocess.PIPE, text=True, check=True)
        print(f"\n{HEADER}\n{done.stdout.splitlines()[-1]}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "stomp", int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)
