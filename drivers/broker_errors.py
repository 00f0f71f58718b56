"""Turns brokers' error messages into the errors that users see, in the same words for every protocol.

Also counts the hops in a message's broker path.
"""

import itertools
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from drivers.contract import ConnectFailed, DriverError, Outcome, Refused, TurnedAway
from records.tables.connection_events import Cause

_TRY_AGAIN = ("already connected", "already set", "being stopped", "has been stopped", "is stopping", "maximum")
LOGINS = 3

T = TypeVar("T")


class HungUp(ConnectFailed):
    """The broker ended the connection before it answered the login."""


@lru_cache(maxsize=1_024)
def hops(path: bytes | None) -> int | None:
    """Return the number of brokers crossed, from the names that each broker appended on dispatch; None without a path.

    A broker appends its name again with every redelivery (and with every browse), so adjacent repeats are one stay:
    ``a`` and ``a,a`` are 0 hops, ``a,b,b`` is 1, ``a,b,a`` is 2.
    """
    if not path:
        return None
    names = [name.strip() for name in path.split(b",")]
    return sum(here != there for here, there in itertools.pairwise(names))


def may_try_again(words: str) -> bool:
    """Whether the cause of a rejection is temporary: a client id still in use, a broker that is stopping or full."""
    return any(sign in words.lower() for sign in _TRY_AGAIN)


def is_unknown_destination(words: str) -> bool:
    """Whether a broker reports that a destination does not exist, and creates none."""
    return "does not exist" in words.lower()


def is_invalid_selector(words: str) -> bool:
    """Whether a broker reports that a selector is invalid."""
    return "invalid selector" in words.lower()


def is_frame_too_large(words: str) -> bool:
    """Whether a connection ended because a message exceeded the frame size: it would end the next connection too."""
    lower_case = words.lower()
    return "frame size" in lower_case and "exceeded" in lower_case


def cause_of_loss(words: str) -> Cause:
    """Return the cause of a connection's loss that its client did not initiate, by the reason of the loss."""
    return Cause.REFUSED if is_frame_too_large(words) else Cause.LOST


def login_rejected(broker_at: str, username: str, words: str) -> DriverError:
    """Return the error for a connection that the broker refused. ``broker_at``: "broker-1 at host:port"."""
    if may_try_again(words):
        return TurnedAway(f"broker {broker_at} turned the connection away for now: {words}")
    return refused_user(broker_at, username, words)


def refused_user(broker_at: str, username: str, words: str) -> Refused:
    """Return the error for a refused login, without the password."""
    end = "" if words.endswith(".") else "."
    return Refused(
        f"broker {broker_at} refused user {username!r}: {words}{end} "
        "Check the user name and the password that this run was given."
    )


def unreachable_broker(broker_at: str, problem: str, port: str) -> ConnectFailed:
    """Return the error for a broker that did not answer. ``port``: the expected kind of port, "STOMP port"."""
    return ConnectFailed(_out_of_reach(broker_at, problem, port))


def ended_before_answer(broker_at: str, reason: str, port: str, hung_up: bool) -> ConnectFailed:
    """Return the error for a connection that ended before the broker answered. ``hung_up``: the broker ended it."""
    kind = HungUp if hung_up else ConnectFailed
    return kind(_out_of_reach(broker_at, f"went away before it answered: {reason}", port))


def _out_of_reach(broker_at: str, problem: str, port: str) -> str:
    return f"broker {broker_at} {problem}; check that it is up and that this is its {port}"


def ignore_outcome(_token: object, _outcome: Outcome, _at_ns: int, _reason: str) -> None:
    """Do nothing: an ``on_settled`` for browsers, which send nothing that could be settled."""


def retry_login(log_in: Callable[..., T], timeout_s: float) -> T:
    """Return or raise the result of ``log_in(timeout_s=…)``. After `HungUp` call it again, with the remaining time.

    A Classic broker may hang up on a login that it refuses instead of answering it: if it has not fully started the
    connection yet, it stops it at once, and its answer is discarded (TransportConnection of ActiveMQ 5.18.3:
    delayedStop, start, processDispatch). On another login it gives its reason. The clients of a load do not need this:
    they try again anyway, as their failover URI says.
    """
    deadline_s, left_s = time.monotonic() + timeout_s, timeout_s
    for _ in range(LOGINS - 1):
        try:
            return log_in(timeout_s=left_s)
        except HungUp:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise
    return log_in(timeout_s=left_s)
