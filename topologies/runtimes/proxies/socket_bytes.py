"""Counts the bytes over the connections at a port, and finds who listens. The kernel answers by netlink (Linux).

Toxiproxy's own metrics count a connection only when it ends, but links between brokers stay open.
"""

import itertools
import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

# linux/sock_diag.h, linux/inet_diag.h, linux/netlink.h, linux/tcp.h
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY, NLMSG_ERROR, NLMSG_DONE = 20, 2, 3
REQUEST_DUMP = 0x001 | 0x300
INET_DIAG_INFO = 2
ESTABLISHED, LISTEN = 1, 10
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port id
REQUEST = struct.Struct("=BBBBI")  # family, protocol, extensions, padding, states
SOCKET_ID = struct.Struct("!HH16s16s12x")  # source port, destination port, addresses; interface and cookie as zeros
SOCKET_ID_AT = 4  # in a struct inet_diag_msg
MESSAGE_BYTES = 72  # of a struct inet_diag_msg; attributes follow
ATTRIBUTE = struct.Struct("=HH")  # length, type
COUNTED = struct.Struct("=QQ")  # tcpi_bytes_acked, tcpi_bytes_received
COUNTED_AT = 120  # in a struct tcp_info
BUFFER_BYTES = 1 << 16
FAMILIES = (socket.AF_INET, socket.AF_INET6)  # a socket of the latter may have connections of the former too
SEQUENCE_NUMBERS = itertools.count(1)


class Connection(NamedTuple):
    """``peer``: address and port of the one who called. Bytes as this end has received them, and sent and seen
    acknowledged."""

    peer: tuple[str, int]
    received_bytes: int
    sent_bytes: int


class SocketsHere:
    """Those of the network namespace that this process is in; see `link_proxies.Sockets`."""

    def __init__(self, doors_at: Collection[str] = ()) -> None:
        """``doors_at``: addresses where no broker listens, but doors with the ports of brokers."""
        self._doors_at = doors_at

    def listening(self) -> set[int]:
        return listening_ports(self._doors_at)

    def connections(self, port: int, address: str = "") -> list[Connection]:
        return connections_at(port, address=address)

    def caller(self, peer: tuple[str, int]) -> str:
        """Callers here have doors of their own."""
        return ""

    def close(self) -> None:
        """Nothing is held between two questions."""


def connections_at(port: int, netlink: socket.socket | None = None, address: str = "") -> list[Connection]:
    """The established connections with this local port, and with ``address`` if it is given. Raises OSError.

    They are in the namespace in which ``netlink`` was opened, or in this one. A socket takes one question at a time.
    """
    return [
        _connection(family, message)
        for family in FAMILIES
        for message in _asked(family, ESTABLISHED, port, INET_DIAG_INFO, netlink)
        if address in ("", _address(family, message))
    ]


def listening_ports(besides: Collection[str] = ()) -> set[int]:
    """The ports of this network namespace with a TCP listener. Raises OSError.

    ``besides``: addresses that are left out.
    """
    return {
        _ports(message)[0]
        for family in FAMILIES
        for message in _asked(family, LISTEN)
        if _address(family, message) not in besides
    }


def _asked(
    family: int, state: int, port: int = 0, attribute: int = 0, netlink: socket.socket | None = None
) -> list[bytes]:
    """A message for each TCP socket in a state; ``port`` 0: whichever, ``attribute`` 0: none is asked for."""
    wanted = REQUEST.pack(family, socket.IPPROTO_TCP, 1 << attribute >> 1, 0, 1 << state)
    wanted += SOCKET_ID.pack(port, 0, b"", b"")
    number = next(SEQUENCE_NUMBERS) & 0xFFFF_FFFF
    header = HEADER.pack(HEADER.size + len(wanted), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, number, 0)
    with _given_or_new(netlink) as asked:
        asked.sendto(header + wanted, (0, 0))
        return list(_messages(asked, number))


@contextmanager
def _given_or_new(netlink: socket.socket | None) -> Iterator[socket.socket]:
    if netlink is not None:
        yield netlink
        return
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as new:
        yield new


def _ports(message: bytes) -> tuple[int, int]:
    """This end's, and the other's."""
    here, there = struct.unpack_from("!HH", message, SOCKET_ID_AT)
    return here, there


def _address(family: int, message: bytes) -> str:
    """This end's."""
    _, _, address, _ = SOCKET_ID.unpack_from(message, SOCKET_ID_AT)
    return socket.inet_ntop(family, address[: 4 if family == socket.AF_INET else 16])


def _messages(netlink: socket.socket, number: int) -> Iterator[bytes]:
    """The answer to one question: the rest of an abandoned answer is skipped."""
    while True:
        received = memoryview(netlink.recv(BUFFER_BYTES))
        while received:
            length, kind, _, answered, _ = HEADER.unpack_from(received)
            body = bytes(received[HEADER.size : length])
            received = received[_aligned(length) :]
            if answered != number:
                continue
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                raise OSError(-int.from_bytes(body[:4], "little", signed=True), "the kernel tells nothing of sockets")
            yield body


def _connection(family: int, message: bytes) -> Connection:
    _, peer_port, _, address = SOCKET_ID.unpack_from(message, SOCKET_ID_AT)
    peer = socket.inet_ntop(family, address[: 4 if family == socket.AF_INET else 16])
    sent, received = COUNTED.unpack_from(_tcp_info(message), COUNTED_AT)
    return Connection((peer, peer_port), received, sent)


def _tcp_info(message: bytes) -> bytes:
    at = MESSAGE_BYTES
    while at < len(message):
        length, kind = ATTRIBUTE.unpack_from(message, at)
        if kind == INET_DIAG_INFO:
            return message[at + ATTRIBUTE.size : at + length]
        at += _aligned(length)
    raise OSError("the kernel tells of a socket without its counters: Linux 4.2 or newer does")


def _aligned(length: int) -> int:
    return (length + 3) & ~3
