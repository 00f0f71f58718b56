"""Tracks which fields were set explicitly, even if they were set to the default.

``--unset-defaults`` leaves fields that were not set to the broker. A field that differs from its default counts as set.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

_EXPLICIT = "_explicit"
Value = TypeVar("Value")
Written = Callable[[object, str], bool]
"""(a part of the model, a field name) -> whether the rendered file includes the field."""


def mark_explicit(value: object, fields: Iterable[str]) -> None:
    """Mark ``fields`` of a frozen value as explicit. Equality is not affected: equal values stay equal."""
    object.__setattr__(value, _EXPLICIT, _marked(value) | frozenset(fields))


def mark_explicit_recursively(value: object, fields: Collection[str], stop: type | tuple[type, ...] = ()) -> None:
    """Mark ``fields`` as explicit in a frozen value and, recursively, in the values of its fields.

    Values of the types in ``stop`` are left unchanged.
    """
    names = [field.name for field in dataclasses.fields(value)]  # type: ignore[arg-type]
    mark_explicit(value, {*names} & {*fields})
    for part in (getattr(value, name) for name in names):
        if dataclasses.is_dataclass(part) and not isinstance(part, stop):
            mark_explicit_recursively(part, fields, stop)


def replace_explicitly(value: Value, **changes: Any) -> Value:
    """Copy a value with changed fields, like `dataclasses.replace`.

    The copy keeps existing marks, and the changed fields are marked as explicit.
    """
    copy = dataclasses.replace(value, **changes)  # type: ignore[type-var]
    mark_explicit(copy, _marked(value) | changes.keys())
    return copy


def is_explicit(value: object, field: str) -> bool:
    """Return whether the field was set explicitly, or differs from the class's default."""
    return field in _marked(value) or getattr(value, field) != _default(type(value), field)


def write_all(value: object, field: str) -> bool:
    """Include every field, as a `Written`."""
    return True


def explicit_or(needed: Mapping[type, Collection[str]]) -> Written:
    """Return a `Written` that omits defaults. ``needed``: fields that are always written."""
    return lambda value, field: field in needed.get(type(value), ()) or is_explicit(value, field)


def _marked(value: object) -> frozenset[str]:
    marked: frozenset[str] = getattr(value, _EXPLICIT, frozenset())
    return marked


def _default(kind: type, name: str) -> object:
    (field,) = (candidate for candidate in dataclasses.fields(kind) if candidate.name == name)
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
