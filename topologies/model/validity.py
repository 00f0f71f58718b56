"""Checks whether a value is fit for its place: small rules that every part of the model shares.

A part of a topology checks itself when it is made. It raises `TopologyInvalid`, which names the object, the value, the
rule and the correction.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from records.errors import UserError
from topologies.model.spelling import shortened

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NAME_RULE = "a name has only letters, digits, '_', '.' and '-' and does not begin with '.' or '-'"
LONGEST_NAME = 63  # letters, as of a host: a broker in a container is one
LONGEST_NAME_OF_A_LINK = 200  # its own name often has those of two brokers
UNLIMITED = -1
RULE = "rule"
"""In a field's metadata: (what the object is, its field=value), which raises `TopologyInvalid`."""
INT, LONG = (1 << 31) - 1, (1 << 63) - 1
LONGS = ("_bytes", "_ms", "_ns")
"""Brokers read fields that end so as Java's long, which has 64 bits, and other whole numbers as its int."""
Number = TypeVar("Number", int, float)
Value = TypeVar("Value")


class TopologyInvalid(UserError):
    """A topology breaks a rule. ``problems`` holds one sentence a broken rule; ``field`` is the one it is about."""

    def __init__(self, *problems: str, field: str = "") -> None:
        self.problems = tuple(map(shortened, problems))
        super().__init__("\n".join(self.problems))
        self.field = field


def require_rules(subject: str, value: object) -> None:
    """Every field of a dataclass obeys the rule that it was declared with: `number`, `limit`, `choice`, `plain`, …"""
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        if RULE in field.metadata:
            field.metadata[RULE](subject, **{field.name: getattr(value, field.name)})


def number(default: Number, *, least: float, most: float | None = None) -> Number:
    """A field with that default, whose value is in ``least..most``, both included."""
    if most is None:
        return _ruled(default, lambda subject, **value: require_at_least(subject, least, **value))
    return _ruled(default, lambda subject, **value: require_between(subject, least, most, **value))


def limit(default: int) -> int:
    """A field whose value is positive, or `UNLIMITED`."""
    return _ruled(default, require_limit)


def choice(*choices: str, default: str = "") -> str:
    """A field whose value is one of ``choices``; the default is the first, if no other is given."""
    return _ruled(default or choices[0], lambda subject, **value: require_choice(subject, choices, **value))


def plain(default: str = "") -> str:
    """A field with a text that `require_plain` allows."""
    return _ruled(default, require_plain)


def destinations() -> tuple[str, ...]:
    """A field with any number of destinations, as `require_destinations` has them."""
    return _ruled((), require_destinations)


def _ruled(default: Value, rule: Callable[..., None]) -> Value:
    return dataclasses.field(default=default, metadata={RULE: rule})


def require_name(subject: str, name: str, most: int = LONGEST_NAME) -> None:
    """Names end up in file names, URIs, JMX object names and comma-joined paths: keep to letters that suit them all."""
    if not NAME.fullmatch(name):
        raise TopologyInvalid(f"{subject} {name!r}: {NAME_RULE}")
    if len(name) > most:
        raise TopologyInvalid(f"{subject} {name!r}: it has {len(name)} letters; write at most {most}")


def require_at_least(subject: str, least: float, **values: float) -> None:
    """Each value is a number no smaller than ``least``, and not larger than a broker can read."""
    for field, value in values.items():
        if value < least:
            raise TopologyInvalid(f"{subject}: {field}={value}, but it must be at least {least}", field=field)
        if value > (most := _most(field)):
            raise TopologyInvalid(f"{subject}: {field}={value}, but it must be at most {most}", field=field)


def _most(field: str) -> int:
    return LONG if field.endswith(LONGS) else INT


def require_between(subject: str, least: float, most: float, **values: float) -> None:
    """Each value is in ``least..most``, both included."""
    for field, value in values.items():
        if not least <= value <= most:
            raise TopologyInvalid(f"{subject}: {field}={value}, but it must be between {least} and {most}", field=field)


def require_limit(subject: str, **values: int) -> None:
    """Each value is positive, or `UNLIMITED`."""
    for field, value in values.items():
        if value < 1 and value != UNLIMITED:
            rule = f"it must be at least 1, or {UNLIMITED} for no limit"
            raise TopologyInvalid(f"{subject}: {field}={value}, but {rule}", field=field)
        if value > (most := _most(field)):
            rule = f"it must be at most {most}, or {UNLIMITED} for no limit"
            raise TopologyInvalid(f"{subject}: {field}={value}, but {rule}", field=field)


def require_choice(subject: str, choices: tuple[str, ...], **values: str) -> None:
    """Each value is one of ``choices``."""
    for field, value in values.items():
        if value not in choices:
            raise TopologyInvalid(
                f"{subject}: {field}={value!r}, but it must be one of {', '.join(choices)}", field=field
            )


def require_distinct(subject: str, lists: Mapping[str, Sequence[str]]) -> None:
    """No value is in a list twice. ``lists``: what its values are, in the plural, to a list."""
    for field, values in lists.items():
        for value in sorted({value for value in values if values.count(value) > 1}):
            raise TopologyInvalid(f"{subject} has two {field} {value!r}: keep one")


def require_plain(subject: str, **values: str) -> None:
    """A text goes into an XML attribute or a URI: no line breaks, no control characters, no placeholders."""
    for field, value in values.items():
        if not value.isprintable() or "${" in value:
            rule = "control characters and '${' are not allowed in it"
            raise TopologyInvalid(f"{subject}: {field}={value!r}, but {rule}", field=field)


def require_destinations(subject: str, **lists: tuple[str, ...]) -> None:
    """Each entry reads ``queue://NAME`` or ``topic://NAME``; ``*`` and ``>`` are wildcards."""
    for field, destinations in lists.items():
        for destination in destinations:
            kind, separator, name = destination.partition("://")
            if not separator or kind not in ("queue", "topic") or not name:
                rule = "write queue://NAME or topic://NAME"
                raise TopologyInvalid(f"{subject}: {field} has {destination!r}; {rule}", field=field)
            require_plain(subject, **{field: destination})
