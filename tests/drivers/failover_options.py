"""Returns a non-default value for each option of a failover URI, by field type."""

from dataclasses import replace
from typing import Any

from drivers.failover.uri import OPTION_FIELDS, FailoverOptions, ServerUri, written

ANOTHER: dict[type, Any] = {str: "file:///brokers.csv", tuple: (ServerUri("stomp", "a.example", 1),)}


def with_another(name: str) -> tuple[str, FailoverOptions]:
    """``name=value`` as in a URI, and the resulting options."""
    own = OPTION_FIELDS[name]
    kind = type(own.default)
    another = not own.default if kind is bool else ANOTHER.get(kind) or own.default + kind(4)
    return f"{name}={written(another)}", replace(FailoverOptions(), **{own.name: another})
