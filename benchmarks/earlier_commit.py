"""Measures this checkout's users beside those of an earlier checkout: whether a change made the load loops slower.

``git worktree add ../earlier REV``, then ``python -m benchmarks.earlier_commit ../earlier [PAIRS [WHAT …]]``. It prints
Markdown tables for docs/performance.md. WHAT is any of `WHATS`, by default all. Each takes about two minutes with 5
pairs. A is this checkout, B the earlier one: one process each, with one producer and one consumer, every message
recorded (`benchmarks.stomp_users`, `benchmarks.java_users`). Both have this checkout's broker and its
installed packages.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.one_broker import broker
from benchmarks.pairs import compare, conditions
from benchmarks.stomp_speed import BROKER, Side, side
from benchmarks.stopwatch import IN_FLIGHT
from topologies.runtimes.processes.runtime import ProcessRuntime

THIS = Path(__file__).resolve().parents[1]
ENTRIES = {"stomp": "single", "openwire": "single", "amqp": "artemis-single", "core": "artemis-single"}
PYTHON, JAVA = {"durable": 6_000, "non-durable": 30_000}, {"durable": 10_000, "non-durable": 100_000}
COUNTS = {"stomp": PYTHON, "amqp": PYTHON, "openwire": JAVA, "core": JAVA}
JAVA_WARM_UP = 20_000
WHATS = tuple(f"{protocol}-{kind}" for protocol in ENTRIES for kind in PYTHON)


def users(checkout: Path, runtime: ProcessRuntime, what: str) -> Side:
    protocol, _, kind = what.partition("-")
    uri, count = runtime.endpoint(BROKER, protocol).uri, str(COUNTS[protocol][kind])
    if COUNTS[protocol] is JAVA:
        wishes = ["benchmarks.java_users", protocol, uri, count, kind, str(IN_FLIGHT), "0", str(JAVA_WARM_UP)]
    else:
        wishes = ["benchmarks.stomp_users", "recorded", uri, count, kind, "0"]
    return side(runtime, *wishes, checkout=checkout)


def main(earlier: Path, pairs: int, whats: Sequence[str]) -> None:
    print(conditions())
    for entry in dict.fromkeys(ENTRIES.values()):
        if chosen := [what for what in whats if ENTRIES[what.partition("-")[0]] == entry]:
            with broker(entry) as (runtime, _):
                for what in chosen:
                    sides = users(THIS, runtime, what), users(earlier, runtime, what)
                    compare(f"{what}: this checkout (A), the earlier one (B)", *sides, pairs)


if __name__ == "__main__":
    _, folder, *others = sys.argv
    main(Path(folder).resolve(), int(others[0]) if others else 5, others[1:] or WHATS)
