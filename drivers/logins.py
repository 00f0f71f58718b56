"""What if a broker hangs up on a login instead of answering it? It is asked again, for its reason.

A Classic broker that refuses a login may do that: when it has not wholly started the connection yet, it stops it at
once, and its answer is thrown away (TransportConnection of ActiveMQ 5.18.3: delayedStop, start, processDispatch).

Not for the clients of a load: they ask again anyway, when and how often their failover URI says.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from drivers.contract import ConnectFailed

LOGINS = 3

T = TypeVar("T")


class HungUp(ConnectFailed):
    """The broker ended the connection before it had answered the login."""


def answered(log_in: Callable[..., T], timeout_s: float) -> T:
    """What ``log_in(timeout_s=…)`` returns or raises. After `HungUp` it is called again, for the time that is left."""
    deadline_s, left_s = time.monotonic() + timeout_s, timeout_s
    for _ in range(LOGINS - 1):
        try:
            return log_in(timeout_s=left_s)
        except HungUp:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise
    return log_in(timeout_s=left_s)
