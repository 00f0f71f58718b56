"""Measures the traffic and round trips of links, as rows of the samples table.

The rows are for links through proxies, and have no broker. Each row occurs once. Before the load: the minimum, median
and maximum of a link's round trips. At the end: the bytes of the whole run, from the link's opener and to it.

A round trip is measured five times, by a short exchange through the link's own proxy. The exchange needs no login: a
broker answers an OpenWire keep-alive or a Core ping at once, and an AMQP header with its own header. Answers come from
the broker's transport, so they do not wait for its messages. Links over ssl or http are not measured.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import NamedTuple, Protocol

from topologies.management.sampling import Row
from topologies.model.link import Link

TIMES = 5
SLACK_S = 5.0
KEEP_ALIVE, NO_COMMAND_ID, ANSWER_WANTED = 10, 0, 1
KEEP_ALIVE_WANTED = struct.pack(
    ">IBIB", 6, KEEP_ALIVE, NO_COMMAND_ID, ANSWER_WANTED
)  # its length, then OpenWire, loose
AMQP_SASL = b"AMQP\x03\x01\x00\x00"
CORE_MAGIC = b"ARTEMIS"
PING, CHANNEL_OF_PINGS, CORE_TTL_MS = 10, 0, 60_000
CORE_PING = struct.pack(">IBqq", 17, PING, CHANNEL_OF_PINGS, CORE_TTL_MS)  # begins with its length, like Core packets

Exchange = Callable[[tuple[str, int], float, int], list[int]]


class RoundTrip(NamedTuple):
    """Nanoseconds over several exchanges, by default `TIMES`."""

    least_ns: int
    median_ns: int
    most_ns: int


def round_trip(link: Link, door: tuple[str, int], slack_s: float = SLACK_S, times: int = TIMES) -> RoundTrip | None:
    """Measure the round trip of a link. ``times``: the number of exchanges.

    ``door``: host and port at which the link connects to its end. Returns None for a protocol without an exchange.

    Raises OSError, also if an answer takes longer than the link's set delay and jitter both ways plus ``slack_s``.
    """
    exchange = EXCHANGES.get(link.plain_protocol)
    if exchange is None:
        return None
    set_ms = 0 if link.impairment is None else link.impairment.delay_ms + link.impairment.jitter_ms
    durations_ns = exchange(door, 2 * set_ms / 1000 + slack_s, times)
    return RoundTrip(min(durations_ns), round(median(durations_ns)), max(durations_ns))


def _by_openwire(door: tuple[str, int], timeout_s: float, times: int) -> list[int]:
    """Use one connection: the broker sends its greeting, then echoes."""
    with _connection(door, timeout_s) as link:
        _command(link)
        return [_timed(link, KEEP_ALIVE_WANTED, _command) for _ in range(times)]


def _by_core(door: tuple[str, int], timeout_s: float, times: int) -> list[int]:
    """Use one connection. Its first bytes select Core among the acceptor's protocols."""
    with _connection(door, timeout_s) as link:
        _timed(link, CORE_MAGIC + CORE_PING, _command)
        return [_timed(link, CORE_PING, _command) for _ in range(times)]


def _by_amqp(door: tuple[str, int], timeout_s: float, times: int) -> list[int]:
    """Use one connection per exchange, because each has one header. Connecting itself does not cross the link."""
    durations_ns = []
    for _ in range(times):
        with _connection(door, timeout_s) as link:
            durations_ns.append(_timed(link, AMQP_SASL, lambda answered: _exactly(answered, len(AMQP_SASL))))
    return durations_ns


def _connection(door: tuple[str, int], timeout_s: float) -> socket.socket:
    link = socket.create_connection(door, timeout_s)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def _timed(link: socket.socket, question: bytes, answer: Callable[[socket.socket], bytes]) -> int:
    began_ns = time.perf_counter_ns()
    link.sendall(question)
    answer(link)
    return time.perf_counter_ns() - began_ns


def _command(link: socket.socket) -> bytes:
    (length,) = struct.unpack(">I", _exactly(link, 4))
    return _exactly(link, length)


def _exactly(link: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = link.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError("the broker closed the connection instead of answering")
        received += chunk
    return received


EXCHANGES: Mapping[str, Exchange] = {"openwire": _by_openwire, "core": _by_core, "amqp": _by_amqp}
"""Exchanges by the protocol of a link."""


KIND = "link"
AT_ONCE = 16


class Counted(Protocol):
    """Bytes in each direction."""

    @property
    def forth_bytes(self) -> int: ...
    @property
    def back_bytes(self) -> int: ...


class Proxies(Protocol):
    """The part of topologies.runtimes.proxies.link_proxies.LinkProxies that is needed here."""

    def proxy_endpoint_of(self, link: Link) -> tuple[str, int] | None: ...


def whole_run_rows(carried: Mapping[str, Counted], clock: Callable[[], int] = time.perf_counter_ns) -> list[Row]:
    at_ns = clock()
    return [
        Row("", at_ns, KIND, link, f"whole_run_{metric}", value)
        for link, counted in carried.items()
        for metric, value in (("forth_bytes", counted.forth_bytes), ("back_bytes", counted.back_bytes))
    ]


def round_trips(proxies: Proxies, links: Iterable[Link]) -> tuple[dict[str, RoundTrip], list[str]]:
    """Return the round trips by link, and one sentence for each link without an answer.

    All links are measured at the same time.
    """
    doors = [(link, door) for link in links if (door := proxies.proxy_endpoint_of(link))]
    trips: dict[str, RoundTrip] = {}
    silent: list[str] = []

    def ask(link: Link, door: tuple[str, int]) -> None:
        try:
            if trip := round_trip(link, door):
                trips[link.name] = trip
        except OSError as error:
            silent.append(f"link {link.name!r}: no round trip could be measured ({error})")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for pending in [pool.submit(ask, *link_and_door) for link_and_door in doors]:
            pending.result()
    return trips, sorted(silent)


def report_round_trips(proxies: Proxies, links: Iterable[Link], progress: Callable[[str], None]) -> list[Row]:
    """Measure the round trips, report the results and any failures to ``progress``, and return the rows."""
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
    """Return one line for all links; ``trips`` must not be empty."""
    medians_ms = sorted(trip.median_ns / 1e6 for trip in trips.values())
    span = f"{medians_ms[0]:.1f}" + (f" to {medians_ms[-1]:.1f}" if len(medians_ms) > 1 else "")
    return f"round trips over links measured: {len(medians_ms)}, of {span} ms"
