"""Says between which bounds the numbers of a run lie, those of its options and those of its user classes.

The upper bounds refuse what no machine or protocol takes: a slip of the keyboard would otherwise be found out after
the brokers have started.
"""

import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ProducerUser
from records.client_steps import MOST_CLIENTS
from records.declared_types import fits, misfit
from records.rate_steps import LEAST_PER_S, MOST_PER_S, MOST_S, BadStepsError, parse_steps

DAY_S = 86_400
INT_32 = (1 << 31) - 1
GIB = 1 << 30


@dataclass(frozen=True)
class Bounds:
    """``least`` to ``most``, both included, but for ``least`` if only ``more`` than that is allowed."""

    least: float
    most: float
    more: bool = False

    def problem(self, value: float) -> str:
        """``must be at least 1``; '' if the value lies within them."""
        if value < self.least or (self.more and value == self.least):
            return f"must be {'more than' if self.more else 'at least'} {self.least:,g}"
        most = f"{self.most:,}" if isinstance(self.most, int) else f"{self.most:,.0f}"  # a float rounds 2^63 - 1
        return "" if value <= self.most else f"must be at most {most}"


NUMBERS: Mapping[str, Bounds] = {
    "load_s": Bounds(0, MOST_S, more=True),
    "messages": Bounds(1, 1_000_000_000_000),
    "warm_up_s": Bounds(0, DAY_S),
    "rate": Bounds(LEAST_PER_S, MOST_PER_S),
    "sends_per_second": Bounds(LEAST_PER_S, MOST_PER_S),
    "producers": Bounds(1, MOST_CLIENTS),
    "consumers": Bounds(1, MOST_CLIENTS),
    "fixed_count": Bounds(0, MOST_CLIENTS),  # 0: none is said; a run refuses it
    "destinations": Bounds(1, MOST_CLIENTS),
    "body_bytes": Bounds(32, GIB),
    "in_flight": Bounds(1, 10_000_000),
    "pool_size": Bounds(1, MOST_CLIENTS),
    "transaction_size": Bounds(1, 10_000_000),
    "prefetch": Bounds(1, INT_32),
    "time_to_live_s": Bounds(0, math.inf, more=True),  # drivers.client.message_settings knows the most
    "message_priority": Bounds(0, INT_32),  # as the most of a time to live
    "drain_s": Bounds(0, DAY_S, more=True),
    "start_timeout_s": Bounds(0, DAY_S, more=True),
    "broker_memory_mb": Bounds(64, 4 << 20),
    "base_port": Bounds(1024, 65_000),
    "seed": Bounds(-(1 << 63), (1 << 63) - 1),  # run.json is read by programs whose numbers have 64 bits
    "block": Bounds(1, 1_000_000),
    "order": Bounds(1, 1_000_000),
}

OF_USERS = (
    *("fixed_count", "destinations", "body_bytes", "sends_per_second", "in_flight", "pool_size", "transaction_size"),
    "prefetch",
)
"""Class attributes with bounds of their own. `drivers.client.message_settings` and others check the rest."""


def problem_of_user(user: type[BrokerUser], *, joins: bool) -> str:
    """What is wrong with the attributes of a user class, with the rule; '' if nothing is.

    ``joins``: the steps of the load say how many users there are.
    """
    for name, hint in typing.get_type_hints(user).items():
        if typing.get_origin(hint) is not ClassVar or not hasattr(user, name):
            continue
        if told := misfit(name, getattr(user, name), hint):
            return told
    try:
        if issubclass(user, ProducerUser) and user.rate_steps:
            parse_steps(user.rate_steps)
    except BadStepsError as error:
        return f"rate_steps = {error}"
    for name in OF_USERS:
        if not hasattr(user, name) or (name == "fixed_count" and joins):
            continue
        value = getattr(user, name)
        if not fits(value, int if name == "fixed_count" else float):  # it is Locust's, and has no annotation of ours
            return misfit(name, value, int)
        if (problem := NUMBERS[name].problem(value)) and not (name == "transaction_size" and value <= 0):
            return f"{name} = {value}: {problem}"  # without a transaction, its own rule says more
    return ""
