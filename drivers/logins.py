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


def answered(log_in: Callable[[], T], timeout_s: float) -> T:
    """What ``log_in`` returns or raises. When that is `HungUp` it is called again, if the time is not over."""
    deadline_s = time.monotonic() + timeout_s
    for _ in range(LOGINS - 1):
        try:
            return log_in()
        except HungUp:
            if time.monotonic() > deadline_s:
                raise
    return log_in()
