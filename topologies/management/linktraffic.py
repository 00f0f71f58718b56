"""What did links carry, and how long is the way over each? As rows of the samples table, for links through proxies.

A link's rows have no broker: ``forth_bytes`` from the one that opened it, ``back_bytes`` to it, and once, before the
load, the least, median and most of its round trips.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from topologies.links import Link
from topologies.management.roundtrip import RoundTrip, round_trip
from topologies.management.sampling import Row

KIND = "link"
AT_ONCE = 16


class Counted(Protocol):
    """Bytes each way since the link was there."""

    @property
    def forth_bytes(self) -> int: ...
    @property
    def back_bytes(self) -> int: ...


class Proxies(Protocol):
    """What is needed of topologies.runtimes.links.proxies.LinkProxies."""

    def carried(self) -> Mapping[str, Counted]:
        """By link. Raises OSError."""

    def door_of(self, link: Link) -> tuple[str, int] | None: ...


def traffic(proxies: Proxies, clock: Callable[[], int] = time.perf_counter_ns) -> list[Row]:
    """Raises OSError."""
    asked_ns = clock()
    carried = proxies.carried()
    at_ns = (asked_ns + clock()) // 2
    return [
        Row("", at_ns, KIND, link, metric, value)
        for link, counted in carried.items()
        for metric, value in (("forth_bytes", counted.forth_bytes), ("back_bytes", counted.back_bytes))
    ]


def round_trips(proxies: Proxies, links: Iterable[Link]) -> tuple[dict[str, RoundTrip], list[str]]:
    """By link, of those that can be asked; and of each that did not answer, why. All are asked side by side."""
    doors = [(link, door) for link in links if (door := proxies.door_of(link))]
    found: dict[str, RoundTrip] = {}
    silent: list[str] = []

    def ask(link: Link, door: tuple[str, int]) -> None:
        try:
            if trip := round_trip(link, door):
                found[link.name] = trip
        except OSError as error:
            silent.append(f"link {link.name!r}: no round trip could be measured ({error})")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for asked in [pool.submit(ask, *each) for each in doors]:
            asked.result()
    return found, silent


def tell_round_trips(proxies: Proxies, links: Iterable[Link], progress: Callable[[str], None]) -> list[Row]:
    """Measure them, tell in a line what came out and in one each what did not, and return their rows."""
    trips, silent = round_trips(proxies, links)
    for line in [told(trips)] * bool(trips) + silent:
        progress(line)
    return round_trip_rows(trips)


def round_trip_rows(trips: Mapping[str, RoundTrip], clock: Callable[[], int] = time.perf_counter_ns) -> list[Row]:
    at_ns = clock()
    return [
        Row("", at_ns, KIND, link, f"round_trip_{metric}", value)
        for link, trip in trips.items()
        for metric, value in trip._asdict().items()
    ]


def told(trips: Mapping[str, RoundTrip]) -> str:
    """One line for all links."""
    medians_ms = sorted(trip.median_ns / 1e6 for trip in trips.values())
    span = f"{medians_ms[0]:.1f}" + (f" to {medians_ms[-1]:.1f}" if len(medians_ms) > 1 else "")
    return f"round trips over links measured: {len(medians_ms)}, of {span} ms"
