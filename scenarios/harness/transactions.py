"""Can these producers send in transactions? It takes a connection that stays, and room. Every protocol has them."""

from collections.abc import Iterable

from drivers.habits import PER_MESSAGE
from drivers.users import ProducerUser
from scenarios.harness.options import OptionError


def require_transactions(producing: Iterable[type[ProducerUser]]) -> None:
    """Raise OptionError where a class asks for transactions that it cannot have."""
    for user in producing:
        if user.transaction_size:
            _require(user)


def _require(user: type[ProducerUser]) -> None:
    size = user.transaction_size
    asked = f"{user.__name__}: {size} messages a transaction (--transaction-size)"
    if size < 0:
        raise OptionError(f"{asked}: write a number of messages, or 0 for none")
    if user.connections == PER_MESSAGE:
        raise OptionError(f"{asked}: each message has a connection of its own; use --connections one or pooled")
    if size > user.in_flight:
        raise OptionError(
            f"{asked}: only {user.in_flight} messages may await their answer, and none is answered before its "
            f"transaction ends; use --in-flight {size} or more"
        )
