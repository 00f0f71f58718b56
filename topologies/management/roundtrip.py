"""Measures the round trip over a link, by a short question through the link's own proxy, five times.

The questions need no login: a broker repeats an OpenWire keep-alive or a Core ping at once, and answers an AMQP header
by its own. Answers come from the broker's transport, so they do not wait for its messages. Links over ssl or http are
not asked.
"""

import socket
import struct
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple

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
CORE_PING = struct.pack(">IBqq", 17, PING, CHANNEL_OF_PINGS, CORE_TTL_MS)  # its length first, as of any Core packet

Exchange = Callable[[tuple[str, int], float, int], list[int]]


class RoundTrip(NamedTuple):
    """Nanoseconds over the exchanges, `TIMES` if nothing else is said."""

    least_ns: int
    median_ns: int
    most_ns: int


def round_trip(link: Link, door: tuple[str, int], slack_s: float = SLACK_S, times: int = TIMES) -> RoundTrip | None:
    """``door``: host and port by which the link calls its end. ``times``: how many exchanges.

    None if it speaks no protocol with a question.

    Raises OSError, also if an answer takes longer than the link's set delay and jitter both ways plus ``slack_s``.
    """
    exchange = EXCHANGES.get(link.plain_protocol)
    if exchange is None:
        return None
    set_ms = 0 if link.impairment is None else link.impairment.delay_ms + link.impairment.jitter_ms
    took = exchange(door, 2 * set_ms / 1000 + slack_s, times)
    return RoundTrip(min(took), round(median(took)), max(took))


def _by_openwire(door: tuple[str, int], timeout_s: float, times: int) -> list[int]:
    """One connection: the broker greets, and then repeats."""
    with _connection(door, timeout_s) as link:
        _command(link)
        return [_timed(link, KEEP_ALIVE_WANTED, _command) for _ in range(times)]


def _by_core(door: tuple[str, int], timeout_s: float, times: int) -> list[int]:
    """One connection. Its first bytes identify Core among the acceptor's protocols."""
    with _connection(door, timeout_s) as link:
        _timed(link, CORE_MAGIC + CORE_PING, _command)
        return [_timed(link, CORE_PING, _command) for _ in range(times)]


def _by_amqp(door: tuple[str, int], timeout_s: float, times: int) -> list[int]:
    """A connection each: there is one header at the beginning. To connect takes no way over the link."""
    found = []
    for _ in range(times):
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


EXCHANGES: Mapping[str, Exchange] = {"openwire": _by_openwire, "core": _by_core, "amqp": _by_amqp}
"""By the protocol that a link speaks."""
