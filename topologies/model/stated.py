"""Remembers which fields of a value somebody stated, even if they stated the default.

`--unset-defaults` leaves to the broker what nobody stated. A field that differs from its default was stated anyway.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

_STATED = "_stated"
Value = TypeVar("Value")
Written = Callable[[object, str], bool]
"""(a part of the model, one of its fields) -> whether a rendered file has it."""


def mark_stated(value: object, fields: Iterable[str]) -> None:
    """Marks ``fields`` of a frozen value as stated. This is no part of the value: equal values stay equal."""
    object.__setattr__(value, _STATED, _marked(value) | frozenset(fields))


def mark_stated_below(value: object, fields: Collection[str], stop: type | tuple[type, ...] = ()) -> None:
    """Marks those of ``fields`` as stated that a frozen value has, or a value in one of its fields.

    Values of the types ``stop`` are left as they are.
    """
    names = [field.name for field in dataclasses.fields(value)]  # type: ignore[arg-type]
    mark_stated(value, {*names} & {*fields})
    for part in (getattr(value, name) for name in names):
        if dataclasses.is_dataclass(part) and not isinstance(part, stop):
            mark_stated_below(part, fields, stop)


def changed(value: Value, **changes: Any) -> Value:
    """`dataclasses.replace` that keeps what was stated, and marks the changes as stated."""
    copy = dataclasses.replace(value, **changes)  # type: ignore[type-var]
    mark_stated(copy, _marked(value) | changes.keys())
    return copy


def is_stated(value: object, field: str) -> bool:
    """Whether the field was stated, or is not as its class has it by default."""
    return field in _marked(value) or getattr(value, field) != _default(type(value), field)


def every_field(value: object, field: str) -> bool:
    """The `Written` of rendered files with all defaults."""
    return True


def stated_or(needed: Mapping[type, Collection[str]]) -> Written:
    """The `Written` of rendered files without defaults. ``needed``: fields that are written in any case."""
    return lambda value, field: field in needed.get(type(value), ()) or is_stated(value, field)


def _marked(value: object) -> frozenset[str]:
    marked: frozenset[str] = getattr(value, _STATED, frozenset())
    return marked


def _default(kind: type, name: str) -> object:
    (field,) = (candidate for candidate in dataclasses.fields(kind) if candidate.name == name)
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
