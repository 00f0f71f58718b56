"""Turns what was read as JSON into a value of an annotated type, strictly.

An unknown key, a missing key or a value of another type is reported by its path (``users[0].role``). Otherwise a file
that was only partly understood would be used wrongly, and nobody would notice.
"""

import dataclasses
import math
import re
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

NO_TEXT = re.compile("[\ud800-\udfff]")  # half of a pair of UTF-16: no file can be written with it
SHOWN_AT_MOST = 80  # characters of a value


class Misfit(ValueError):
    """A value is not of its type; names its path."""


def typed(kind: Any, value: object, path: str = "") -> Any:
    """``value`` as one of the annotated type ``kind``: a dataclass, TypedDict, Literal, array, object or plain value.

    ``path``: where the value is; '' for the whole. Raises Misfit.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return kind(**_fields(kind, value, path))  # type: ignore[operator]
    if is_typeddict(kind):
        return _fields(kind, value, path)
    if origin in (tuple, list):
        items = enumerate(_of_type(list, value, path))
        return origin(typed(arguments[0], item, f"{path}[{place}]") for place, item in items)
    if origin is dict:
        items = _of_type(dict, value, path)
        return {key: typed(arguments[1], item, _below(path, key)) for key, item in items.items()}
    if origin is Literal:
        if value not in arguments:
            raise _misfit(path, f"{shown(value)} is none of {', '.join(arguments)}")
        return value
    kinds = arguments if origin in (Union, types.UnionType) else (kind,)
    if not any(_is_a(alternative, value) for alternative in kinds):
        names = " or ".join("null" if alternative is types.NoneType else alternative.__name__ for alternative in kinds)
        raise _misfit(path, f"{shown(value)} is not of type {names}")
    return value


def _fields(kind: Any, value: object, path: str) -> dict[str, Any]:
    """The fields of a dataclass or a TypedDict."""
    fields = _of_type(dict, value, path)
    type_by_name = get_type_hints(kind)
    for name in type_by_name.keys() - fields.keys():
        raise _misfit(_below(path, name), "the key is missing")
    for name in fields.keys() - type_by_name.keys():
        raise _misfit(_below(path, name), "the key is not known")
    return {name: typed(kind, fields[name], _below(path, name)) for name, kind in type_by_name.items()}


def _of_type(kind: type, value: object, path: str) -> Any:
    if not isinstance(value, kind):
        raise _misfit(path, f"{shown(value)} is not a JSON {'array' if kind is list else 'object'}")
    return value


def _is_a(kind: type, value: object) -> bool:
    """Booleans are no numbers here, nor is NaN, nor half a character a text; an integer will do as a float."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, str) and NO_TEXT.search(value):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def shown(value: object) -> str:
    """As Python writes it, cut short."""
    text = repr(value)
    return text if len(text) <= SHOWN_AT_MOST else f"{text[:SHOWN_AT_MOST]}…"


def _misfit(path: str, problem: str) -> Misfit:
    return Misfit(f"{path or 'the whole'}: {problem}")
