"""Measures a thousand connections in one worker: memory and CPU, idle and at 1 message/s each.

``python -m benchmarks.connections [PROTOCOL] [--count N]`` starts a broker, Artemis for Core and Classic for the other
protocols, and prints a Markdown row. Each connection is a Locust user of this project: N producers, and one consumer
that receives all messages.
"""

import subprocess
import sys

from benchmarks.arguments import Parser, above_0, whole
from benchmarks.one_broker import BROKER, REAL_PROTOCOLS, broker, entry_for
from benchmarks.pairs import conditions

HEADER = (
    "| driver | connections | connected in | memory of each | CPU, idle | CPU, 1 message/s each | lag p50 | p99 |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main(protocol: str, count: int, for_s: float) -> None:
    print(conditions())
    with broker(entry_for(protocol)) as (runtime, _):
        uri = runtime.endpoint(BROKER, protocol).uri
        arguments = [protocol, uri, str(count), str(for_s)]
        process = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.connections_users", *arguments],
            input=runtime.credentials().password,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        print(f"\n{HEADER}\n{process.stdout.splitlines()[-1]}")


if __name__ == "__main__":
    parser = Parser("connections", __doc__)
    parser.add_protocol(REAL_PROTOCOLS, nargs="?", default="stomp")
    parser.add_argument("--count", type=whole(1), default=1_000, metavar="N", help="producers (1000)")
    parser.add_argument("--for", dest="for_s", type=above_0, default=10.0, metavar="S", help="seconds measured (10)")
    options = parser.parse_args()
    main(options.protocol, options.count, options.for_s)
