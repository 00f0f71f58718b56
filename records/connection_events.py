"""The causes for which a row of `connections` tells a connection's end, and the values of such a row."""

from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """Why a connection ended, or why an attempt gave none. The only words of the column ``cause``."""

    LOST = "lost"  # it broke, or the broker ended it
    ORDER = "order"  # the broker told its client to move: OpenWire's updateClusterClients, rebalanceClusterClients
    PRIORITY = "priority"  # a broker of priority answered: priorityBackup
    REDIRECT = "redirect"  # the broker named another one instead of itself: AMQP
    REFUSED = "refused"  # the broker answered and said no: to the login, a subscription, or a message's size
    UNTRUSTED = "untrusted"  # an attempt: the broker's certificate is not trusted
    UNREACHABLE = "unreachable"  # an attempt: no broker answered
    CLOSED = "closed"  # the client closed it for a reason of its own


class ConnectionEvent(NamedTuple):
    """A row of `connections` without the columns that say whose it is; docs/events.md tells each of these."""

    broker: str | None
    event: str
    at_ns: int
    reason: str = ""
    from_broker: str | None = None
    cause: Cause | None = None
    ended_ns: int | None = None
