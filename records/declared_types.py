"""Checks values against the declared types of fields and class attributes, and describes these types in words.

Scenarios and user classes are Python code that may run without a type checker: ``sends_per_second = "5"``.
"""

import collections.abc
import dataclasses
import types
import typing
from typing import Any, ClassVar, Union

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}


def misfits(value: Any) -> str:
    """Describe the first field with a wrong type: ``for_s='5', but it must be a number``; empty if all fields fit."""
    hints = typing.get_type_hints(type(value))
    for field in dataclasses.fields(value):
        if problem := misfit(field.name, getattr(value, field.name), hints[field.name]):
            return problem
    return ""


def misfit(name: str, value: Any, hint: Any) -> str:
    """Describe a value of the wrong type; empty if it fits. ``hint``: from `typing.get_type_hints`."""
    return "" if fits(value, hint) else f"{name}={shown(value)}, but it must be {described(hint)}"


def fits(value: Any, hint: Any) -> bool:
    """Check like a type checker, except for the contents of mappings and callables. A bool is not a number."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is ClassVar:
        return fits(value, parts[0])
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is tuple:
        return isinstance(value, tuple) and (parts[-1] is not Ellipsis or all(fits(item, parts[0]) for item in value))
    if origin is type:
        return isinstance(value, type)
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is collections.abc.Sequence:
        items = value if isinstance(value, collections.abc.Sequence) and not isinstance(value, str) else [None]
        return all(fits(item, parts[0]) for item in items)
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(hint) if not name.startswith("_"))
    return isinstance(value, origin or hint) if isinstance(origin or hint, type) else True


def shown(value: Any) -> str:
    """Return a value roughly as its author wrote it: classes and functions by name, dataclass instances without
    fields."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}(…)"
    if isinstance(value, property):
        return "a property"
    return str(getattr(value, "__name__", repr(value)))


def described(hint: Any) -> str:
    """Describe a type: ``a number``, ``a tuple of Check or str``, ``a text or None``."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is ClassVar:
        return described(parts[0])
    if origin in (Union, types.UnionType):
        return " or ".join(map(described, parts))
    if origin is tuple:
        return f"a tuple of {_name(parts[0])}, such as (…,)"
    if origin is collections.abc.Sequence:
        return _a_list(parts[0])
    if origin is collections.abc.Mapping:
        return "a dict"
    return _WORDS.get(hint) or f"of class {_name(hint)}"


def _a_list(hint: Any) -> str:
    return f"a list of {_name(hint)}"


def _name(hint: Any) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_name, parts))
    return _name(parts[0]) if origin is type else getattr(hint, "__name__", str(hint))
