"""Says what a broker's answer means, by any protocol: errors of refused clients, and the path of a message."""

import itertools
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from drivers.contract import ConnectFailed, DriverError, Outcome, Refused, TurnedAway
from records.connection_events import Cause

_TRY_AGAIN = ("already connected", "already set", "being stopped", "has been stopped", "is stopping", "maximum")
LOGINS = 3

T = TypeVar("T")


class HungUp(ConnectFailed):
    """The broker ended the connection before it had answered the login."""


@lru_cache(maxsize=1_024)
def hops(path: bytes | None) -> int | None:
    """Brokers crossed, from the names that each broker appended when it dispatched; null without a path.

    A broker appends its name again with every redelivery (and with every browse), so repeats next to each other are
    one stay: ``a`` and ``a,a`` are 0 hops, ``a,b,b`` is 1, ``a,b,a`` is 2.
    """
    if not path:
        return None
    names = [name.strip() for name in path.split(b",")]
    return sum(here != there for here, there in itertools.pairwise(names))


def may_try_again(words: str) -> bool:
    """Whether what refused a connection passes by itself: a client id still held, a broker about to stop or full."""
    return any(sign in words.lower() for sign in _TRY_AGAIN)


def no_such_place(words: str) -> bool:
    """Whether a broker says that a destination is not there, and makes none."""
    return "does not exist" in words.lower()


def no_selector(words: str) -> bool:
    """Whether a broker says that a selector is none."""
    return "invalid selector" in words.lower()


def too_large(words: str) -> bool:
    """Whether a connection ended over a message that the broker takes in no frame: it would end the next one too."""
    lower_case = words.lower()
    return "frame size" in lower_case and "exceeded" in lower_case


def cause_of_loss(words: str) -> Cause:
    """The cause of a connection's loss that its client did not ask for, by the words of the loss."""
    return Cause.REFUSED if too_large(words) else Cause.LOST


def turned_away(broker_at: str, username: str, words: str) -> DriverError:
    """The error for a connection that the broker answered with a refusal. ``broker_at``: "broker-1 at host:port"."""
    if may_try_again(words):
        return TurnedAway(f"broker {broker_at} turned the connection away for now: {words}")
    return refused_user(broker_at, username, words)


def refused_user(broker_at: str, username: str, words: str) -> Refused:
    """The error for a login that will not do; the password is not in it."""
    end = "" if words.endswith(".") else "."
    return Refused(
        f"broker {broker_at} refused user {username!r}: {words}{end} "
        "Check the user name and the password that this run was given."
    )


def out_of_reach(broker_at: str, problem: str, port: str) -> ConnectFailed:
    """The error for a broker that did not answer as one. ``port``: what it should be listening on, "STOMP port"."""
    return ConnectFailed(_out_of_reach(broker_at, problem, port))


def went_away(broker_at: str, reason: str, port: str, hung_up: bool) -> ConnectFailed:
    """The error for a connection that ended before the broker answered. ``hung_up``: by the broker."""
    kind = HungUp if hung_up else ConnectFailed
    return kind(_out_of_reach(broker_at, f"went away before it answered: {reason}", port))


def _out_of_reach(broker_at: str, problem: str, port: str) -> str:
    return f"broker {broker_at} {problem}; check that it is up and that this is its {port}"


def nothing_sent(_token: object, _outcome: Outcome, _at_ns: int, _reason: str) -> None:
    """An ``on_settled`` for who only browses: nothing was sent that could be settled."""


def answered(log_in: Callable[..., T], timeout_s: float) -> T:
    """What ``log_in(timeout_s=…)`` returns or raises. After `HungUp` it is called again, for the time that is left.

    A Classic broker may hang up on a login that it refuses instead of answering it: when it has not wholly started the
    connection yet, it stops it at once, and its answer is thrown away (TransportConnection of ActiveMQ 5.18.3:
    delayedStop, start, processDispatch). Asked again, it gives its reason. The clients of a load do not need this: they
    ask again anyway, when and how often their failover URI says.
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
