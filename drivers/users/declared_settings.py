"""Finds which attributes of a user class are its settings: the class variables that brokerbench's classes declare."""

import typing
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

OUR_MODULES = __name__.rpartition(".")[0] + "."
SET_BY_US = ("role",)
"""Declared like a setting, but a fixed part of a class."""
SET_BY_LOCUST = ("abstract", "tasks")
"""Attributes of every class."""


def kind_of(user: type) -> type:
    """Return our base class of ``user``: ``ProducerUser``, ``ConsumerUser``, or ``BrokerUser``."""
    return next(base for base in user.__mro__ if base.__module__.startswith(OUR_MODULES))


@lru_cache
def names_taken_by(kind: type) -> frozenset[str]:
    """Return the names that a brokerbench class uses itself: its methods, and its attributes of each user."""
    ours = (base for base in kind.__mro__ if base.__module__.startswith(OUR_MODULES))
    names = {name for base in ours for name in vars(base) if not name.startswith("__")} | {"__setattr__"}
    return frozenset(names - {*settings_of(kind), *SET_BY_LOCUST})


@lru_cache
def settings_of(kind: type) -> Mapping[str, Any]:
    """Return the declared type of each setting of a brokerbench class, by name; see `typing.get_type_hints`.

    User-defined classes are not inspected: their own annotation of a setting would replace ours.
    """
    hints = typing.get_type_hints(kind)
    return MappingProxyType(
        {name: hint for name, hint in hints.items() if typing.get_origin(hint) is ClassVar and name not in SET_BY_US}
        | {"fixed_count": int}  # Locust's own
    )
