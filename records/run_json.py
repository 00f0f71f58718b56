"""Converts a `RunInfo` to run.json and back without loss, and reads JSON strictly as values of annotated types.

An unknown key, a missing key or a value of another type is reported by its path (``users[0].role``). Otherwise a partly
understood file would be used incorrectly without anyone noticing. Impossible values are rejected too: times that go
backwards, counts below 0, brokers that do not exist.
"""

import dataclasses
import hashlib
import json
import math
import re
import types
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from records.errors import RunUnreadable
from records.loads.rate_steps import MOST_S
from records.run import RUN_VERSION, Phases, RunInfo
from records.tables.schemas import SCHEMA_VERSION, UNSEALED_VERSION
from records.units import NS_PER_S

NO_TEXT = re.compile("[\ud800-\udfff]")  # half of a UTF-16 pair: it cannot be written to a file
SHOWN_AT_MOST = 80  # characters of a value


class Misfit(ValueError):
    """A value does not have its type; the message names its path."""


def convert_to_type(kind: Any, value: object, path: str = "") -> Any:
    """Return ``value`` as the annotated type ``kind``: a dataclass, TypedDict, Literal, array, object or plain value.

    ``path``: where the value is; empty for the whole document. Raises Misfit.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return kind(**_fields(kind, value, path))  # type: ignore[operator]
    if is_typeddict(kind):
        return _fields(kind, value, path)
    if origin in (tuple, list):
        items = enumerate(_of_type(list, value, path))
        return origin(convert_to_type(arguments[0], item, f"{path}[{place}]") for place, item in items)
    if origin is dict:
        items = _of_type(dict, value, path)
        return {key: convert_to_type(arguments[1], item, _below(path, key)) for key, item in items.items()}
    if origin is Literal:
        if value not in arguments:
            raise _misfit(path, f"{shown(value)} is not one of {', '.join(arguments)}")
        return value
    kinds = arguments if origin in (Union, types.UnionType) else (kind,)
    if not any(_is_a(alternative, value) for alternative in kinds):
        names = " or ".join("null" if alternative is types.NoneType else alternative.__name__ for alternative in kinds)
        raise _misfit(path, f"{shown(value)} is not of type {names}")
    return value


def _fields(kind: Any, value: object, path: str) -> dict[str, Any]:
    """Return the fields of a dataclass or a TypedDict."""
    fields = _of_type(dict, value, path)
    type_by_name = get_type_hints(kind)
    for name in type_by_name.keys() - fields.keys():
        raise _misfit(_below(path, name), "the key is missing")
    for name in fields.keys() - type_by_name.keys():
        raise _misfit(_below(path, name), "the key is not known")
    return {name: convert_to_type(kind, fields[name], _below(path, name)) for name, kind in type_by_name.items()}


def _of_type(kind: type, value: object, path: str) -> Any:
    if not isinstance(value, kind):
        raise _misfit(path, f"{shown(value)} is not a JSON {'array' if kind is list else 'object'}")
    return value


def _is_a(kind: type, value: object) -> bool:
    """Check strictly: a bool or NaN is not a number, a lone surrogate is not text; an integer is accepted as a
    float."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, str) and NO_TEXT.search(value):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _below(path: str, name: str) -> str:
    shown_name = name if name.isprintable() else ascii(name)
    return f"{path}.{shown_name}" if path else shown_name


def shown(value: object) -> str:
    """Return the value as Python prints it, truncated."""
    text = repr(value)
    return text if len(text) <= SHOWN_AT_MOST else f"{text[:SHOWN_AT_MOST]}…"


def _misfit(path: str, problem: str) -> Misfit:
    return Misfit(f"{path or 'the whole'}: {problem}")


DIGEST = "sha256"
"""The key in run.json with the digest of all other keys."""
LATEST_NS = 2**63 - 1
FOLLOW = (
    ("warm_up_began_ns", "load_began_ns"),
    ("load_began_ns", "load_ended_ns"),
    ("warm_up_began_ns", "drain_ended_ns"),  # a run interrupted in the warm-up may drain before the load would begin
    ("drain_ended_ns", "browse_ended_ns"),
)
"""Pairs of phases: the second must not be before the first."""


def encode(info: RunInfo) -> str:
    """Return run.json as text, including its digest.

    ValueError for a number that JSON cannot represent (NaN, infinity).

    Anything that is not text, as in an argument that is not UTF-8, is written as "?".
    """
    content = json.loads(NO_TEXT.sub("?", json.dumps(dataclasses.asdict(info), ensure_ascii=False, allow_nan=False)))
    return json.dumps({**content, DIGEST: digest_of(content)}, indent=2, ensure_ascii=False) + "\n"


def digest_of(content: object) -> str:
    """Return the SHA-256 of a JSON value, regardless of the order of keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def content_digest(text: str) -> str:
    """Return the SHA-256 of run.json's content, ignoring formatting; empty if the digest in it does not match."""
    try:
        document = parse(text)
        written = document.pop(DIGEST, "")
    except (ValueError, AttributeError, TypeError):
        return ""
    return written if written == digest_of(document) else ""


def parse(text: str) -> Any:
    """Parse JSON. ValueError with a plain sentence."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    except ValueError:  # Python's own limit
        raise ValueError("it contains a number with thousands of digits") from None


def decode(text: str, source: str) -> RunInfo:
    """Parse ``text`` as a RunInfo. RunUnreadable, with ``source`` and the key, if that fails."""
    try:
        document = parse(text)
    except ValueError as error:
        raise RunUnreadable(f"{source}: not readable as JSON ({error}): was it cut short or edited?") from None
    fields = document if isinstance(document, dict) else {}
    fields.pop(DIGEST, None)  # `content_digest` checks whether it matches
    _require(source, "run_version", fields.get("run_version", RUN_VERSION), (RUN_VERSION,))
    _require(source, "schema_version", fields.get("schema_version", SCHEMA_VERSION), (SCHEMA_VERSION, UNSEALED_VERSION))
    try:
        info = convert_to_type(RunInfo, document)
        assert isinstance(info, RunInfo)
        for problem in _impossible(info):
            raise Misfit(problem)
    except Misfit as misfit:
        raise RunUnreadable(
            f"{source}: {misfit}: was it edited by hand? Bring it back from a copy, or make the run again"
        ) from None
    return info


def _impossible(info: RunInfo) -> Iterator[str]:
    """Yield each impossible value, by its path."""
    yield from _impossible_times(info.phases)
    counts = {"withheld": info.withheld, "missed": info.missed}
    counts |= {f"pairs_by_links[{n}]": pairs for n, pairs in enumerate(info.pairs_by_links)}
    counts |= {f"users[{n}].count": user.count for n, user in enumerate(info.users)}
    for n, process in enumerate(info.processes):
        counts |= {f"processes[{n}].{key}": getattr(process, key) or 0 for key in ("begun", "settled", "received")}
        counts |= {f"processes[{n}].rows.{table}": rows for table, rows in process.rows.items()}
    yield from (f"{path}: {count} is below 0, and no count can be" for path, count in counts.items() if count < 0)
    names = {
        f"links[{n}].{end}": getattr(link, end) for n, link in enumerate(info.links) for end in ("opened_by", "to")
    }
    names |= {f"brokers[{n}].standby_of": broker.standby_of for n, broker in enumerate(info.brokers)}
    for n, group in enumerate(info.groups):
        names |= {f"groups[{n}].enter_at[{place}]": name for place, name in enumerate(group.enter_at)}
    brokers = {broker.name for broker in info.brokers} | {""}  # '': not a standby
    yield from (f"{path}: the run has no broker {shown(name)}" for path, name in names.items() if name not in brokers)


def _impossible_times(phases: Phases) -> Iterator[str]:
    times = {name: at_ns for name, at_ns in dataclasses.asdict(phases).items() if at_ns is not None}
    for name, at_ns in times.items():
        if not 0 <= at_ns <= LATEST_NS:
            yield f"phases.{name}: {shown(at_ns)} is not a clock time in nanoseconds"
    for earlier, later in FOLLOW:
        if earlier in times and later in times and times[later] < times[earlier]:
            yield f"phases.{later}: {times[later]} is before {earlier} ({times[earlier]})"
    load_ns = times.get("load_ended_ns", 0) - times.get("load_began_ns", 0)
    if "load_began_ns" in times and load_ns > MOST_S * NS_PER_S:
        yield f"phases.load_ended_ns: the load would have lasted more than {MOST_S:,} s, the longest load"


def _require(source: str, key: str, version: object, ours: Sequence[int]) -> None:
    if version not in ours:
        reads = " and ".join(map(str, ours))
        raise RunUnreadable(
            f"{source}: {key} is {shown(version)}, this brokerbench reads {reads}: use the brokerbench that made the "
            "run"
        )
