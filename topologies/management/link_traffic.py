"""Measures what links carry, and how long a round trip over each takes: rows of the samples table.

They are of links that go through proxies, and have no broker. Each is there once. Before the load: the least, median
and most of a link's round trips. At the end: the bytes of the whole run, from the link's opener and to it.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from topologies.management.roundtrip import RoundTrip, round_trip
from topologies.management.sampling import Row
from topologies.model.link import Link

KIND = "link"
AT_ONCE = 16


class Counted(Protocol):
    """Bytes each way."""

    @property
    def forth_bytes(self) -> int: ...
    @property
    def back_bytes(self) -> int: ...


class Proxies(Protocol):
    """What is needed of topologies.runtimes.proxies.link_proxies.LinkProxies."""

    def proxy_endpoint_of(self, link: Link) -> tuple[str, int] | None: ...


def whole_run_rows(carried: Mapping[str, Counted], clock: Callable[[], int] = time.perf_counter_ns) -> list[Row]:
    at_ns = clock()
    return [
        Row("", at_ns, KIND, link, f"whole_run_{metric}", value)
        for link, counted in carried.items()
        for metric, value in (("forth_bytes", counted.forth_bytes), ("back_bytes", counted.back_bytes))
    ]


def round_trips(proxies: Proxies, links: Iterable[Link]) -> tuple[dict[str, RoundTrip], list[str]]:
    """The round trips by link, for links that can be asked.

    The second value has a sentence for each link without an answer. All links are asked at the same time.
    """
    doors = [(link, door) for link in links if (door := proxies.proxy_endpoint_of(link))]
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
    return found, sorted(silent)


def tell_round_trips(proxies: Proxies, links: Iterable[Link], progress: Callable[[str], None]) -> list[Row]:
    """Measure them, tell in a line what came out and in one each what did not, and return their rows."""
    trips, silent = round_trips(proxies, links)
    for line in ([describe(trips)] if trips else []) + silent:
        progress(line)
    return round_trip_rows(trips)


def round_trip_rows(trips: Mapping[str, RoundTrip], clock: Callable[[], int] = time.perf_counter_ns) -> list[Row]:
    at_ns = clock()
    return [
        Row("", at_ns, KIND, link, f"round_trip_{metric}", value)
        for link, trip in trips.items()
        for metric, value in trip._asdict().items()
    ]


def describe(trips: Mapping[str, RoundTrip]) -> str:
    """One line for all links; there is at least one."""
    medians_ms = sorted(trip.median_ns / 1e6 for trip in trips.values())
    span = f"{medians_ms[0]:.1f}" + (f" to {medians_ms[-1]:.1f}" if len(medians_ms) > 1 else "")
    return f"round trips over links measured: {len(medians_ms)}, of {span} ms"
