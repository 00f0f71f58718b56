"""Converts a `RunInfo` to run.json and back, without loss.

Reading is strict: an unknown key, a missing key or a value of another type is reported by its path (``users[0].role``).
Otherwise a run that was only partly understood would be analysed wrongly, and nobody would notice.
"""

import dataclasses
import json
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

from records.errors import RunUnreadable
from records.run import RUN_VERSION, RunInfo


class _MisfitError(Exception):
    """(path of the value, what is wrong with it)."""


def encode(info: RunInfo) -> str:
    """run.json as text. ValueError for a number that JSON has no way to write (NaN, infinity)."""
    return json.dumps(dataclasses.asdict(info), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parse(text: str) -> Any:
    """What JSON ``text`` holds. ValueError with a plain sentence."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("its values lie too deep in each other") from None
    except ValueError:  # Python's own limit
        raise ValueError("a number in it has thousands of digits") from None


def decode(text: str, source: str) -> RunInfo:
    """The RunInfo that ``text`` holds; RunUnreadable, naming ``source`` and the key, if it holds none."""
    try:
        found = parse(text)
    except ValueError as error:
        raise RunUnreadable(f"{source}: not readable as JSON ({error}): was it cut short or edited?") from None
    version = found.get("run_version") if isinstance(found, dict) else None
    if version is not None and version != RUN_VERSION:
        raise RunUnreadable(
            f"{source}: run_version is {version!r}, this brokerbench reads {RUN_VERSION}: "
            "use the brokerbench that made the run"
        )
    try:
        info = _value(RunInfo, found, "")
    except _MisfitError as misfit:
        path, problem = misfit.args
        raise RunUnreadable(f"{source}: {path or 'the whole'}: {problem}: was it edited by hand?") from None
    assert isinstance(info, RunInfo)
    return info


def _value(kind: Any, found: object, path: str) -> object:
    """``found`` as a value of the annotated type ``kind``."""
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _record(kind, found, path)
    if origin is tuple:
        items = _of_type(list, found, path)
        return tuple(_value(arguments[0], item, f"{path}[{place}]") for place, item in enumerate(items))
    if origin is dict:
        items = _of_type(dict, found, path)
        return {key: _value(arguments[1], item, f"{path}.{key}") for key, item in items.items()}
    kinds = arguments if origin in (Union, types.UnionType) else (kind,)
    if not any(_is_a(one, found) for one in kinds):
        names = " or ".join("null" if one is types.NoneType else one.__name__ for one in kinds)
        raise _MisfitError(path, f"{found!r} is not of type {names}")
    return found


def _record(kind: Any, found: object, path: str) -> object:
    keys = _of_type(dict, found, path)
    types_of = get_type_hints(kind)
    prefix = f"{path}." if path else ""
    for key in types_of.keys() - keys.keys():
        raise _MisfitError(prefix + key, "the key is missing")
    for key in keys.keys() - types_of.keys():
        raise _MisfitError(prefix + key, "the key is not known")
    return kind(**{key: _value(types_of[key], keys[key], prefix + key) for key in types_of})


def _of_type(kind: type, found: object, path: str) -> Any:
    if not isinstance(found, kind):
        raise _MisfitError(path, f"{found!r} is not a JSON {'array' if kind is list else 'object'}")
    return found


def _is_a(kind: type, found: object) -> bool:
    """Booleans are no numbers here; an integer will do where a float is asked for."""
    if isinstance(found, bool) or kind is bool:
        return isinstance(found, bool) and kind is bool
    return isinstance(found, (int, float) if kind is float else kind)
