"""Measures what it costs that a broker syncs its journal: durable messages per second, without syncs and with them.

``python -m benchmarks.sync_cost [WHAT …] [--pairs N]`` starts two brokers that differ in nothing else, and prints
Markdown tables for docs/findings/durability.md. A has the default, which syncs every write before the broker confirms
it. `benchmarks.java_users` sends 1 KiB messages to both, with one message in flight or with 500. Both brokers keep
their data on the disk of the folder for temporary files.
"""

from collections.abc import Callable

from benchmarks.arguments import Parser, sized
from benchmarks.one_broker import broker, java_side
from benchmarks.pairs import compare, conditions
from brokerbench.durability.cells import ARTEMIS_JOURNALS, CLASSIC_JOURNALS, persistence_overlay

COUNT = {1: 3_000, 500: 12_000}  # messages by messages in flight


def classic(setting: str, pairs: int, size: float) -> None:
    _compare("single", "openwire", CLASSIC_JOURNALS["always"], CLASSIC_JOURNALS[setting], setting, pairs, size)


def artemis(kind: str, pairs: int, size: float) -> None:
    synced, unsynced = ARTEMIS_JOURNALS[f"{kind} synced"], ARTEMIS_JOURNALS[f"{kind} unsynced"]
    _compare("artemis-single", "core", synced, unsynced, f"{kind} unsynced", pairs, size)


def _compare(entry: str, protocol: str, synced: str, other: str, name: str, pairs: int, size: float) -> None:
    """Print a table for each number of messages in flight."""
    with (
        broker(entry, persistence_overlay(synced)) as (first, _),
        broker(entry, persistence_overlay(other)) as (second, _),
    ):
        for in_flight, count in COUNT.items():
            load, messages = {"durable": True, "in_flight": in_flight}, sized(count, size)
            a, b = (java_side(runtime, protocol, messages, **load) for runtime in (first, second))
            compare(f"{entry}, {in_flight} in flight: every write synced (A), {name} (B)", a, b, pairs)


MEASUREMENTS: dict[str, Callable[[int, float], None]] = {
    "periodic": lambda pairs, size: classic("periodic", pairs, size),
    "never": lambda pairs, size: classic("never", pairs, size),
    "NIO": lambda pairs, size: artemis("NIO", pairs, size),
    "ASYNCIO": lambda pairs, size: artemis("ASYNCIO", pairs, size),
}


if __name__ == "__main__":
    parser = Parser("sync_cost", __doc__)
    parser.add_measurements(MEASUREMENTS)
    parser.add_pairs()
    parser.add_size()
    options = parser.parse_args()
    print(conditions())
    for name in options.measurements or MEASUREMENTS:
        MEASUREMENTS[name](options.pairs, options.size)
