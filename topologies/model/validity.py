"""Checks whether a value is fit for its place: small rules that every part of the model shares.

A part of a topology checks itself when it is made. It raises `TopologyInvalid`, which names the object, the value, the
rule and the correction.
"""

import re

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NAME_RULE = "a name has only letters, digits, '_', '.' and '-' and does not begin with '.' or '-'"
UNLIMITED = -1


class TopologyInvalid(ValueError):
    """A topology breaks a rule. ``problems`` holds one sentence a broken rule; ``field`` is the one it is about."""

    def __init__(self, *problems: str, field: str = "") -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.field = field


def require_name(of: str, name: str) -> None:
    """Names end up in file names, URIs, JMX object names and comma-joined paths: keep to letters that suit them all."""
    if not NAME.fullmatch(name):
        raise TopologyInvalid(f"{of} {name!r}: {NAME_RULE}")


def require_at_least(of: str, least: float, **values: float) -> None:
    """Each value is a number no smaller than ``least``."""
    for field, value in values.items():
        if value < least:
            raise TopologyInvalid(f"{of}: {field}={value}, but it must be at least {least}", field=field)


def require_between(of: str, least: float, most: float, **values: float) -> None:
    """Each value is in ``least..most``, both included."""
    for field, value in values.items():
        if not least <= value <= most:
            raise TopologyInvalid(f"{of}: {field}={value}, but it must be between {least} and {most}", field=field)


def require_limit(of: str, **values: int) -> None:
    """Each value is positive, or `UNLIMITED`."""
    for field, value in values.items():
        if value < 1 and value != UNLIMITED:
            rule = f"it must be at least 1, or {UNLIMITED} for no limit"
            raise TopologyInvalid(f"{of}: {field}={value}, but {rule}", field=field)


def require_choice(of: str, choices: tuple[str, ...], **values: str) -> None:
    """Each value is one of ``choices``."""
    for field, value in values.items():
        if value not in choices:
            raise TopologyInvalid(f"{of}: {field}={value!r}, but it must be one of {', '.join(choices)}", field=field)


def require_plain(of: str, **values: str) -> None:
    """A text goes into an XML attribute or a URI: no line breaks, no control characters, no placeholders."""
    for field, value in values.items():
        if not value.isprintable() or "${" in value:
            rule = "control characters and '${' are not allowed in it"
            raise TopologyInvalid(f"{of}: {field}={value!r}, but {rule}", field=field)


def require_destinations(of: str, **lists: tuple[str, ...]) -> None:
    """Each entry reads ``queue://NAME`` or ``topic://NAME``; ``*`` and ``>`` are wildcards."""
    for field, destinations in lists.items():
        for destination in destinations:
            kind, separator, name = destination.partition("://")
            if not separator or kind not in ("queue", "topic") or not name:
                rule = "write queue://NAME or topic://NAME"
                raise TopologyInvalid(f"{of}: {field} has {destination!r}; {rule}", field=field)
            require_plain(of, **{field: destination})
