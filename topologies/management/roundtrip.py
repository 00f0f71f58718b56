"""How long is a way over a link and back, as it came out? A short question through the link's own door, five times.

What is asked takes no login: a broker repeats an OpenWire keep-alive or a Core ping at once, and answers an AMQP header
by its own.
Answers come from the broker's transport, so they do not wait for its messages. Links over ssl or http are not asked.
"""

import socket
import struct
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from topologies.artemis.links import BrokerConnection, ClusterLink
from topologies.brokers import Broker
from topologies.links import Link

TIMES = 5
SLACK_S = 5.0
PLAIN = ("tcp", "nio")
KEEP_ALIVE, NO_COMMAND_ID, ANSWER_WANTED = 10, 0, 1
KEEP_ALIVE_WANTED = struct.pack(
    ">IBIB", 6, KEEP_ALIVE, NO_COMMAND_ID, ANSWER_WANTED
)  # its length, then OpenWire, loose
AMQP_SASL = b"AMQP\x03\x01\x00\x00"
CORE_MAGIC = b"ARTEMIS"
PING, CHANNEL_OF_PINGS, CORE_TTL_MS = 10, 0, 60_000
CORE_PING = struct.pack(">IBqq", 17, PING, CHANNEL_OF_PINGS, CORE_TTL_MS)  # its length first, as of any Core packet

Exchange = Callable[[tuple[str, int], float], list[int]]


class RoundTrip(NamedTuple):
    """Nanoseconds over `TIMES` exchanges."""

    least_ns: int
    median_ns: int
    most_ns: int


def round_trip(link: Link, door: tuple[str, int]) -> RoundTrip | None:
    """``door``: host and port by which the link calls its end. None where it speaks nothing that we can ask.

    Raises OSError, also when an answer does not come within what the link is set to and `SLACK_S`.
    """
    exchange = _exchange_of(link)
    if exchange is None:
        return None
    set_ms = 0 if link.impairment is None else link.impairment.delay_ms + link.impairment.jitter_ms
    took = exchange(door, 2 * set_ms / 1000 + SLACK_S)
    return RoundTrip(min(took), round(median(took)), max(took))


def _exchange_of(link: Link) -> Exchange | None:
    if isinstance(link, BrokerConnection):
        return _by_amqp
    if isinstance(link, ClusterLink):
        return _by_core
    plain = isinstance(link.to, Broker) and link.to.connector("openwire").called_by in PLAIN
    return _by_openwire if plain else None


def _by_openwire(door: tuple[str, int], timeout_s: float) -> list[int]:
    """One connection: the broker greets, and then repeats."""
    with _connection(door, timeout_s) as link:
        _command(link)
        return [_timed(link, KEEP_ALIVE_WANTED, _command) for _ in range(TIMES)]


def _by_core(door: tuple[str, int], timeout_s: float) -> list[int]:
    """One connection, which begins with what tells Core from the acceptor's other protocols."""
    with _connection(door, timeout_s) as link:
        _timed(link, CORE_MAGIC + CORE_PING, _command)
        return [_timed(link, CORE_PING, _command) for _ in range(TIMES)]


def _by_amqp(door: tuple[str, int], timeout_s: float) -> list[int]:
    """A connection each: there is one header at the beginning. To connect takes no way over the link."""
    found = []
    for _ in range(TIMES):
        with _connection(door, timeout_s) as link:
            found.append(_timed(link, AMQP_SASL, lambda answered: _exactly(answered, len(AMQP_SASL))))
    return found


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
    found = b""
    while len(found) < size:
        more = link.recv(size - len(found))
        if not more:
            raise ConnectionResetError("the broker hung up instead of answering")
        found += more
    return found
