"""A row of the event table `connections` (`ConnectionEvent`), and the reasons why a connection can end (`Cause`)."""

from enum import StrEnum
from typing import NamedTuple


class Cause(StrEnum):
    """Why a connection ended, or why an attempt failed. The only values of the column ``cause``."""

    LOST = "lost"  # it broke, or the broker ended it
    ORDER = "order"  # the broker ordered its client to move: OpenWire's updateClusterClients, rebalanceClusterClients
    PRIORITY = "priority"  # a priority broker answered: priorityBackup
    REDIRECT = "redirect"  # the broker named another broker to connect to: AMQP
    REFUSED = "refused"  # the broker answered and rejected the login, a subscription, or a message's size
    UNTRUSTED = "untrusted"  # an attempt: the broker's certificate is not trusted
    UNREACHABLE = "unreachable"  # an attempt: no broker answered
    CLOSED = "closed"  # the client closed it for its own reasons


class ConnectionEvent(NamedTuple):
    """A row of `connections` without the columns that identify the client; docs/events.md describes each field."""

    broker: str | None
    event: str
    at_ns: int
    reason: str = ""
    from_broker: str | None = None
    cause: Cause | None = None
    ended_ns: int | None = None
