"""Finds the TCP ports with a listener in this network namespace, by a netlink request to the kernel (Linux).

This takes 0.05 ms. Reading the same data from /proc/net/tcp took 10 ms.
"""

import socket
import struct
from collections.abc import Collection, Iterator

# linux/sock_diag.h, linux/inet_diag.h, linux/netlink.h
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY, NLMSG_ERROR, NLMSG_DONE = 20, 2, 3
REQUEST_DUMP = 0x001 | 0x300
LISTEN = 10
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port id
REQUEST = struct.Struct("=BBBBI48x")  # family, protocol, extensions, padding, states; any addresses and ports
FOUND = struct.Struct("!4xH2x16s")  # in a struct inet_diag_msg: port and address
BUFFER_BYTES = 1 << 16


def listening_ports(besides: Collection[str] = ()) -> set[int]:
    """Return the listening ports. ``besides``: addresses to leave out. Raises OSError."""
    listeners = (listener for family in (socket.AF_INET, socket.AF_INET6) for listener in _listeners(family))
    return {port for port, address in listeners if address not in besides}


def _listeners(family: int) -> Iterator[tuple[int, str]]:
    """Yield port and address of each listener."""
    wanted = REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << LISTEN)
    header = HEADER.pack(HEADER.size + len(wanted), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as kernel:
        kernel.sendto(header + wanted, (0, 0))
        while True:
            received = kernel.recv(BUFFER_BYTES)
            while received:
                length, kind, *_ = HEADER.unpack_from(received)
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    (error,) = struct.unpack_from("=i", received, HEADER.size)
                    raise OSError(-error, "the kernel does not list sockets")
                port, address = FOUND.unpack_from(received, HEADER.size)
                yield port, socket.inet_ntop(family, address[: 4 if family == socket.AF_INET else 16])
                received = received[(length + 3) & ~3 :]
