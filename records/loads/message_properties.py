"""Properties of a producer's messages, determined by the message's number alone.

A property has one value, or several values that messages cycle through: message n has value n modulo their number. So
the analysis knows the properties of every message without recording them.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Value = str | int | float | bool
Values = Value | Sequence[Value]

MOST_COMBINATIONS = 1_000
MOST_DIGITS = 100
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_WORDS = ("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE")
_HEADERS = (
    *("destination", "receipt", "transaction", "persistent", "expires", "priority", "timestamp", "subscription"),
    *("redelivered", "ack", "id", "selector", "type"),
)
"""STOMP headers with these names exist, and STOMP stores a message's properties among its headers."""
_LONG = 1 << 63


@dataclass(frozen=True)
class MessageProperties:
    """The properties of a producer's messages: each name with its values, which messages cycle through."""

    cycles: tuple[tuple[str, tuple[Value, ...]], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Values]) -> "MessageProperties":
        """Create the properties from a user class's setting. ValueError names the property and the rule."""
        cycles = tuple((name, _cycle(name, property_values)) for name, property_values in values.items())
        properties = cls(cycles)
        if properties.period > MOST_COMBINATIONS:
            raise ValueError(
                f"the properties {', '.join(values)} repeat after {_count(properties.period)} messages only; {_FEWER}"
            )
        return properties

    @classmethod
    def parse(cls, text: str) -> "MessageProperties":
        """Read a JSON object in the format of `str`. Raises ValueError like `of`."""
        try:
            return cls.of(_object(text) if text else {})
        except RecursionError:
            raise ValueError("its lists are nested too deeply; a property has one value, or one list") from None

    def __str__(self) -> str:
        """Return the properties as JSON; empty without properties."""
        return json.dumps({name: list(values) for name, values in self.cycles}) if self.cycles else ""

    @property
    def period(self) -> int:
        """The number of messages after which the properties repeat."""
        return math.lcm(*(len(values) for _, values in self.cycles))

    def of_message(self, number: int) -> dict[str, Value]:
        """Return the properties of the message with this number, the ``seq`` of the event tables."""
        return {name: values[number % len(values)] for name, values in self.cycles}


NO_PROPERTIES = MessageProperties()
_FEWER = f"{MOST_COMBINATIONS:,} is the most: give them lists of similar lengths"


def _count(number: int) -> str:
    return f"{number:,}" if number < _LONG else "billions of"


def _object(text: str) -> dict[str, Values]:
    read = json.loads(text, object_pairs_hook=_pairs, parse_int=_whole)
    if not isinstance(read, dict):
        raise ValueError("is not a JSON object")
    return read


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits must fit into 64 bits")
    return int(digits)


def _pairs(pairs: list[tuple[str, Values]]) -> dict[str, Values]:
    """Reject duplicate names: JSON itself would take the last value."""
    times_written = Counter(name for name, _ in pairs)
    if twice := next((name for name, times in times_written.items() if times > 1), ""):
        raise ValueError(f"property {twice!r} is given twice; keep one, with a list of values where it has several")
    return dict(pairs)


def _cycle(name: str, values: Values) -> tuple[Value, ...]:
    _require_name(name)
    if isinstance(values, Sequence) and len(values) > MOST_COMBINATIONS and not isinstance(values, str):
        raise ValueError(f"property {name} has {len(values):,} values; {_FEWER}")
    cycle = tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else (values,)
    if not cycle:
        raise ValueError(f"property {name} has no value; write one, or leave the property out")
    for value in cycle:
        _require_value(name, value)
    if len({_kind(value) for value in cycle}) > 1:
        raise ValueError(
            f"property {name} = {list(cycle)}: write only text, only numbers or only truth values, not a mixture"
        )
    return cycle


def _kind(value: Value) -> str:
    return "text" if isinstance(value, str) else "truth" if isinstance(value, bool) else "number"


def _require_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.upper() in _WORDS:
        raise ValueError(
            f"property {name!r}: a name has letters, digits, _ and $, does not begin with a digit, and is not a "
            "selector keyword"
        )
    if name in ("JMSXGroupID", "JMSXGroupSeq"):
        raise ValueError(f"property {name!r}: message groups are not supported; leave it out, or use another name")
    if name.startswith("JMS") or name.lower() in _HEADERS:
        raise ValueError(f"property {name!r}: brokers use this name themselves; choose another one")


def _require_value(name: str, value: object) -> None:
    assignment = f"property {name} = {value!r}"
    if not isinstance(value, str | int | float):
        raise ValueError(f"{assignment}: write text, a number, True or False")
    if isinstance(value, str) and (not value or "\0" in value):
        raise ValueError(f"{assignment}: text must have at least one character, and no NUL")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(
            f"{assignment}: contains half of a surrogate pair, which UTF-8 cannot encode; write the character itself"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{assignment}: must be a finite number")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        raise ValueError(f"{assignment}: must fit into 64 bits")
