"""Gives each message of a producer its properties, by the message's number alone.

A property has one value, or several that messages take in turn: message n has value n modulo their number. So the
analysis knows the properties of every message without recording them.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Value = str | int | float | bool
Values = Value | Sequence[Value]

MOST_COMBINATIONS = 1_000
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_WORDS = ("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE")
_HEADERS = (
    *("destination", "receipt", "transaction", "persistent", "expires", "priority", "timestamp", "subscription"),
    *("redelivered", "ack", "id", "selector", "type"),
)
"""STOMP has headers of these names, and keeps a message's properties among its headers."""
_LONG = 1 << 63


@dataclass(frozen=True)
class MessageProperties:
    """The properties of a producer's messages: each name with its values, which messages take in turn."""

    cycles: tuple[tuple[str, tuple[Value, ...]], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Values]) -> "MessageProperties":
        """From what a user class says. ValueError names the property and the rule."""
        cycles = tuple((name, _cycle(name, each)) for name, each in values.items())
        properties = cls(cycles)
        if properties.period > MOST_COMBINATIONS:
            raise ValueError(
                f"the properties {', '.join(values)} repeat after {properties.period:,} messages only; {_FEWER}"
            )
        return properties

    @classmethod
    def parse(cls, text: str) -> "MessageProperties":
        """Read what `str` of them writes; ValueError as `of` raises it."""
        return cls.of(json.loads(text) if text else {})

    def __str__(self) -> str:
        """As JSON; '' without properties."""
        return json.dumps({name: list(values) for name, values in self.cycles}) if self.cycles else ""

    @property
    def period(self) -> int:
        """After how many messages the properties repeat."""
        return math.lcm(*(len(values) for _, values in self.cycles))

    def of_message(self, number: int) -> dict[str, Value]:
        """The properties of the message with this number, the ``seq`` of the event tables."""
        return {name: values[number % len(values)] for name, values in self.cycles}


NO_PROPERTIES = MessageProperties()
_FEWER = f"{MOST_COMBINATIONS:,} is the most: give them lists of like lengths"


def _cycle(name: str, values: Values) -> tuple[Value, ...]:
    _require_name(name)
    cycle = tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else (values,)
    if not cycle:
        raise ValueError(f"property {name} has no value; write one, or leave the property out")
    for value in cycle:
        _require_value(name, value)
    if len({_kind(value) for value in cycle}) > 1:
        raise ValueError(f"property {name} = {list(cycle)}: write text, numbers or truth values only, not a mixture")
    return cycle


def _kind(value: Value) -> str:
    return "text" if isinstance(value, str) else "truth" if isinstance(value, bool) else "number"


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.upper() in _WORDS:
        raise ValueError(
            f"property {name!r}: a name has letters, digits, _ and $, begins with no digit, and is no word of selectors"
        )
    if name.startswith("JMS") or name.lower() in _HEADERS:
        raise ValueError(f"property {name!r}: brokers use this name themselves; choose another one")


def _require_value(name: str, value: object) -> None:
    said = f"property {name} = {value!r}"
    if not isinstance(value, str | int | float):
        raise ValueError(f"{said}: write text, a number, True or False")
    if isinstance(value, str) and (not value or "\0" in value):
        raise ValueError(f"{said}: text has at least one character, and no NUL")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{said}: must be a finite number")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        raise ValueError(f"{said}: must fit into 64 bits")
