"""How many bytes have gone over the connections at a port, and who listens? The kernel tells by netlink (Linux).

Toxiproxy's own metrics count a connection when it ends, which a link between brokers does not.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
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
MESSAGE_BYTES = 72  # of a struct inet_diag_msg; attributes follow
ATTRIBUTE = struct.Struct("=HH")  # length, type
COUNTED = struct.Struct("=QQ")  # tcpi_bytes_acked, tcpi_bytes_received
COUNTED_AT = 120  # in a struct tcp_info
BUFFER_BYTES = 1 << 16


class Connection(NamedTuple):
    """``peer_port``: of the one who called. Bytes as this end has received them, and sent and seen acknowledged."""

    peer_port: int
    received_bytes: int
    sent_bytes: int


def connections_at(port: int) -> list[Connection]:
    """The established IPv4 connections whose local port this is, in this network namespace. Raises OSError."""
    return [_connection(message) for message in _asked(socket.AF_INET, ESTABLISHED, port, INET_DIAG_INFO)]


def listening_ports() -> set[int]:
    """Those of this network namespace at which somebody takes TCP connections. Raises OSError."""
    families = (socket.AF_INET, socket.AF_INET6)  # a socket of the latter may take connections of the former too
    return {_ports(message)[0] for family in families for message in _asked(family, LISTEN)}


def _asked(family: int, state: int, port: int = 0, attribute: int = 0) -> list[bytes]:
    """A message for each TCP socket in a state; ``port`` 0: whichever, ``attribute`` 0: none is asked for."""
    wanted = REQUEST.pack(family, socket.IPPROTO_TCP, 1 << attribute >> 1, 0, 1 << state)
    wanted += SOCKET_ID.pack(port, 0, b"", b"")
    header = HEADER.pack(HEADER.size + len(wanted), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
    with closing(socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG)) as netlink:
        netlink.sendto(header + wanted, (0, 0))
        return list(_messages(netlink))


def _ports(message: bytes) -> tuple[int, int]:
    """This end's, and the other's."""
    here, there = struct.unpack_from("!HH", message, 4)
    return here, there


def _messages(netlink: socket.socket) -> Iterator[bytes]:
    while True:
        received = memoryview(netlink.recv(BUFFER_BYTES))
        while received:
            length, kind, *_ = HEADER.unpack_from(received)
            body = bytes(received[HEADER.size : length])
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                raise OSError(-int.from_bytes(body[:4], "little", signed=True), "the kernel tells nothing of sockets")
            yield body
            received = received[_aligned(length) :]


def _connection(message: bytes) -> Connection:
    _, peer_port = _ports(message)
    sent, received = COUNTED.unpack_from(_tcp_info(message), COUNTED_AT)
    return Connection(peer_port, received, sent)


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
