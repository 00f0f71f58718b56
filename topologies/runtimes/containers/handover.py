"""Lets the sockets in a container be seen from outside: hands out a netlink socket that was opened in there.

    harness: Handover ◄──unix socket── handover.py in the container, which then becomes COMMAND

The kernel answers such a socket about the network namespace in which it was opened, for any holder. Therefore the
holder needs no rights over the container, and nothing has to run inside. ``python handover.py SOCKET COMMAND...`` does
it, with the standard library only. Neither gets a pid, a password or any other data of the run.
"""

import os
import socket
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

NETLINK_SOCK_DIAG = 4
NOTE = b"1"  # a descriptor goes beside at least a byte
ACCEPT_S = 0.1
FD = array("i")


class Handover:
    """Receives a container's netlink socket: at a socket file, which is mounted there."""

    def __init__(self, place: Path) -> None:
        """``place``: in a folder that is this user's alone. Raises OSError."""
        self.place = place
        self._server = socket.socket(socket.AF_UNIX)
        try:
            self._server.bind(str(place))
            self._server.listen(1)
        except OSError:
            self._server.close()
            raise
        self._server.settimeout(ACCEPT_S)

    def take(self, worth_waiting: Callable[[], bool], timeout_s: float) -> socket.socket | None:
        """The netlink socket; None if it does not come in time, or as soon as it cannot come any more.

        A caller hands the socket over at once or never. After a caller without a socket the wait ends.
        """
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            try:
                container, _ = self._server.accept()
            except TimeoutError:
                if not worth_waiting():
                    return None
                continue
            with container, suppress(OSError):  # it says nothing in time, or is gone
                container.settimeout(max(ACCEPT_S, end - time.monotonic()))
                return _received(container)
            return None
        return None

    def close(self) -> None:
        self._server.close()


def _received(container: socket.socket) -> socket.socket | None:
    _, handed, *_ = container.recvmsg(len(NOTE), socket.CMSG_SPACE(FD.itemsize))
    for level, kind, data in handed:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            (descriptor,) = array("i", data[: FD.itemsize])
            return socket.socket(fileno=descriptor)
    return None


def main(arguments: Sequence[str]) -> None:
    """Runs in the container; does not return."""
    place, *command = arguments
    with socket.socket(socket.AF_UNIX) as harness:
        harness.connect(place)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as netlink:
            handed = array("i", [netlink.fileno()])
            harness.sendmsg([NOTE], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
