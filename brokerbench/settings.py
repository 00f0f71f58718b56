"""Lists the settings of a link that are not at their defaults, for a line of text.

message_ttl=1 consumer_ttl=1, dynamically_included_destinations=queue://>, delay=40ms
"""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

from topologies.model.broker import AnyBroker
from topologies.model.link import Link


@runtime_checkable
class Named(Protocol):
    """A setting that says itself what it is, in a word or two."""

    @property
    def described(self) -> str: ...


def settings(link: Link) -> str:
    """How far it carries, all that was set, and what it is like."""
    return ", ".join([*_limits(link), *_set(link, {field.name for field in fields(Link)}), *_impairment(link)])


def _limits(link: Link) -> Iterator[str]:
    """Empty for links that count no hops."""
    if link.limits:
        yield " ".join(f"{name}={value}" for name, value in link.limits.items())


def _impairment(link: Link) -> list[str]:
    return [str(link.impairment)] if link.impairment else []


def _set(part: Any, left_out: set[str]) -> Iterator[str]:
    """``prefetch_size=5``, ``mirror(sync=True)``, … for the fields of a value that are not in ``left_out``."""
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name not in left_out and value != _default(field):
            described = _described(value)
            yield field.name + (described if described[:1] in ("", "(") else f"={described}")


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _described(value: Any) -> str:
    """'' for what is only there, and has nothing set in it."""
    if isinstance(value, AnyBroker):
        return value.name
    if isinstance(value, Named):
        return value.described
    if isinstance(value, tuple):
        return " ".join(map(_described, value))
    if is_dataclass(value):
        inner = ", ".join(_set(value, {"max_hops"}))
        return getattr(value, "kind", "") + (f"({inner})" if inner else "")
    return str(value)
