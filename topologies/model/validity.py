"""Rules for single values (numbers, names, choices), shared by all classes of the model.

An object of the model validates its fields on creation. It raises `TopologyInvalid`, which names the object, the
value, the rule and the correction.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from records.errors import UserError
from topologies.model.spelling import shortened

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NAME_RULE = "a name has only letters, digits, '_', '.' and '-' and does not begin with '.' or '-'"
LONGEST_NAME = 63  # as for a host name, because a broker's container is a host
LONGEST_NAME_OF_A_LINK = 200  # link names often contain two broker names
UNLIMITED = -1
RULE = "rule"
"""Key in a field's metadata for a function (subject, field=value) that raises `TopologyInvalid`."""
INT, LONG = (1 << 31) - 1, (1 << 63) - 1
LONGS = ("_bytes", "_ms", "_ns")
"""Brokers read fields with these suffixes as Java long (64 bits), and other whole numbers as int."""
Number = TypeVar("Number", int, float)
Value = TypeVar("Value")


class TopologyInvalid(UserError):
    """A topology breaks rules. ``problems`` has one sentence per broken rule; ``field`` is the field concerned."""

    def __init__(self, *problems: str, field: str = "") -> None:
        self.problems = tuple(map(shortened, problems))
        super().__init__("\n".join(self.problems))
        self.field = field


def require_rules(subject: str, value: object) -> None:
    """Check each field of a dataclass against its declared rule: `number`, `limit`, `choice`, `plain`, …"""
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        if RULE in field.metadata:
            field.metadata[RULE](subject, **{field.name: getattr(value, field.name)})


def number(default: Number, *, least: float, most: float | None = None) -> Number:
    """Declare a field with a default, whose value must be in ``least..most``, inclusive."""
    if most is None:
        return _ruled(default, lambda subject, **value: require_at_least(subject, least, **value))
    return _ruled(default, lambda subject, **value: require_between(subject, least, most, **value))


def limit(default: int) -> int:
    """Declare a field whose value must be positive, or `UNLIMITED`."""
    return _ruled(default, require_limit)


def choice(*choices: str, default: str = "") -> str:
    """Declare a field whose value must be one of ``choices``; the first is the default unless another is given."""
    return _ruled(default or choices[0], lambda subject, **value: require_choice(subject, choices, **value))


def plain(default: str = "") -> str:
    """Declare a field for text that `require_plain` accepts."""
    return _ruled(default, require_plain)


def plains(*default: str) -> tuple[str, ...]:
    """Declare a field for any number of texts that `require_plain` accepts; none may be empty."""
    return _ruled(default, _require_each_plain)


def destinations(*default: str) -> tuple[str, ...]:
    """Declare a field for any number of destinations that `require_destinations` accepts."""
    return _ruled(default, require_destinations)


def _ruled(default: Value, rule: Callable[..., None]) -> Value:
    return dataclasses.field(default=default, metadata={RULE: rule})


def require_name(subject: str, name: str, most: int = LONGEST_NAME) -> None:
    """Require the restricted characters of a name.

    Names are used in file names, URIs, JMX object names and comma-separated paths.
    """
    if not NAME.fullmatch(name):
        raise TopologyInvalid(f"{subject} {name!r}: {NAME_RULE}")
    if len(name) > most:
        raise TopologyInvalid(f"{subject} {name!r}: it has {len(name)} characters; use at most {most}")


def require_at_least(subject: str, least: float, **values: float) -> None:
    """Require that each value is at least ``least``, and within the range that a broker can read."""
    for field, value in values.items():
        if value < least:
            raise TopologyInvalid(f"{subject}: {field}={value}, but it must be at least {least}", field=field)
        if value > (most := _most(field)):
            raise TopologyInvalid(f"{subject}: {field}={value}, but it must be at most {most}", field=field)


def _most(field: str) -> int:
    return LONG if field.endswith(LONGS) else INT


def require_between(subject: str, least: float, most: float, **values: float) -> None:
    """Require that each value is in ``least..most``, inclusive."""
    for field, value in values.items():
        if not least <= value <= most:
            raise TopologyInvalid(f"{subject}: {field}={value}, but it must be between {least} and {most}", field=field)


def require_limit(subject: str, **values: int) -> None:
    """Require that each value is positive, or `UNLIMITED`."""
    for field, value in values.items():
        if value < 1 and value != UNLIMITED:
            rule = f"it must be at least 1, or {UNLIMITED} for no limit"
            raise TopologyInvalid(f"{subject}: {field}={value}, but {rule}", field=field)
        if value > (most := _most(field)):
            rule = f"it must be at most {most}, or {UNLIMITED} for no limit"
            raise TopologyInvalid(f"{subject}: {field}={value}, but {rule}", field=field)


def require_choice(subject: str, choices: tuple[str, ...], **values: str) -> None:
    """Require that each value is one of ``choices``."""
    for field, value in values.items():
        if value not in choices:
            raise TopologyInvalid(
                f"{subject}: {field}={value!r}, but it must be one of {', '.join(choices)}", field=field
            )


def require_distinct(subject: str, lists: Mapping[str, Sequence[str]]) -> None:
    """Require that no list has a value twice. ``lists``: the plural noun for the values of each list, to the list."""
    for field, values in lists.items():
        for value in sorted({value for value in values if values.count(value) > 1}):
            raise TopologyInvalid(f"{subject} has two {field} {value!r}: keep one")


def require_plain(subject: str, **values: str) -> None:
    """Require text for an XML attribute or a URI: without line breaks, control characters and placeholders."""
    for field, value in values.items():
        if not value.isprintable() or "${" in value:
            rule = "control characters and '${' are not allowed in it"
            raise TopologyInvalid(f"{subject}: {field}={value!r}, but {rule}", field=field)


def _require_each_plain(subject: str, **lists: tuple[str, ...]) -> None:
    for field, texts in lists.items():
        for text in texts:
            if not text.strip():
                raise TopologyInvalid(f"{subject}: {field} has {text!r}, but it must not be empty", field=field)
            require_plain(subject, **{field: text})


def require_destinations(subject: str, **lists: tuple[str, ...]) -> None:
    """Require that each entry is ``queue://NAME`` or ``topic://NAME``; ``*`` and ``>`` are wildcards."""
    for field, destinations in lists.items():
        for destination in destinations:
            kind, separator, name = destination.partition("://")
            if not separator or kind not in ("queue", "topic") or not name:
                rule = "write queue://NAME or topic://NAME"
                raise TopologyInvalid(f"{subject}: {field} has {destination!r}; {rule}", field=field)
            require_plain(subject, **{field: destination})
