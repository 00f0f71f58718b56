"""Compares the users of this checkout with those in an earlier checkout, to see if a change made the load loops slower.

``git worktree add ../earlier REV``, then ``python -m benchmarks.earlier_commit ../earlier [WHAT …] [--pairs N]``. It
prints Markdown tables for docs/performance.md. Each WHAT takes about two minutes with 5 pairs. A is this checkout, B is
the earlier checkout. Each side is one process with one producer and one consumer, and records every message
(`benchmarks.stomp_users`, `benchmarks.java_users`). Both sides use the broker and the installed packages of this
checkout.
"""

from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arguments import Parser, scaled
from benchmarks.one_broker import BROKER, Side, broker, side
from benchmarks.pairs import compare, conditions
from benchmarks.stopwatch import IN_FLIGHT
from topologies.runtimes.processes.runtime import ProcessRuntime

THIS = Path(__file__).resolve().parents[1]
ENTRIES = {"stomp": "single", "openwire": "single", "amqp": "artemis-single", "core": "artemis-single"}
PYTHON, JAVA = {"durable": 6_000, "non-durable": 30_000}, {"durable": 10_000, "non-durable": 100_000}
COUNTS = {"stomp": PYTHON, "amqp": PYTHON, "openwire": JAVA, "core": JAVA}
JAVA_WARM_UP = 20_000
MEASUREMENTS = tuple(f"{protocol}-{kind}" for protocol in ENTRIES for kind in PYTHON)


def users(checkout: Path, runtime: ProcessRuntime, measurement: str, size: float) -> Side:
    protocol, _, kind = measurement.partition("-")
    uri, count = runtime.endpoint(BROKER, protocol).uri, str(scaled(COUNTS[protocol][kind], size))
    if COUNTS[protocol] is JAVA:
        warm_up = str(scaled(JAVA_WARM_UP, size))
        arguments = ["java_users", protocol, uri, count, kind, str(IN_FLIGHT), "0", warm_up]
    else:
        arguments = ["stomp_users", "recorded", uri, count, kind, "0"]
    return side(runtime, *arguments, checkout=checkout)


def main(earlier: Path, pairs: int, measurements: Sequence[str], size: float) -> None:
    print(conditions())
    for entry in dict.fromkeys(ENTRIES.values()):
        if chosen := [name for name in measurements if ENTRIES[name.partition("-")[0]] == entry]:
            with broker(entry) as (runtime, _):
                for measurement in chosen:
                    sides = (users(checkout, runtime, measurement, size) for checkout in (THIS, earlier))
                    compare(f"{measurement}: this checkout (A), the earlier checkout (B)", *sides, pairs)


def checkout(text: str) -> Path:
    """The folder of another checkout of this project, as an absolute path."""
    path = Path(text).resolve()
    if not (path / "benchmarks" / "java_users.py").is_file():
        raise ArgumentTypeError(
            f"{text!r} is not a checkout of this project: create it with git worktree add {text} COMMIT"
        )
    return path


if __name__ == "__main__":
    parser = Parser("earlier_commit", __doc__)
    parser.add_argument("earlier", type=checkout, metavar="EARLIER", help="folder of the earlier checkout")
    parser.add_measurements(MEASUREMENTS)
    parser.add_pairs()
    parser.add_size()
    options = parser.parse_args()
    main(options.earlier, options.pairs, options.measurements or MEASUREMENTS, options.size)
