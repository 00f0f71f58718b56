"""Converts a `RunInfo` to run.json and back, without loss. Reading is strict: see `records.typed_json`."""

import dataclasses
import json
from typing import Any

from records.errors import RunUnreadable
from records.run import RUN_VERSION, RunInfo
from records.schemas import SCHEMA_VERSION
from records.typed_json import NO_TEXT, Misfit, typed


def encode(info: RunInfo) -> str:
    """run.json as text. ValueError for a number that JSON has no way to write (NaN, infinity).

    What is no text, as in an argument that is not UTF-8, is written as "?".
    """
    return NO_TEXT.sub("?", json.dumps(dataclasses.asdict(info), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


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
        document = parse(text)
    except ValueError as error:
        raise RunUnreadable(f"{source}: not readable as JSON ({error}): was it cut short or edited?") from None
    fields = document if isinstance(document, dict) else {}
    _require(source, "run_version", fields.get("run_version", RUN_VERSION), RUN_VERSION)
    _require(source, "schema_version", fields.get("schema_version", SCHEMA_VERSION), SCHEMA_VERSION)
    try:
        info = typed(RunInfo, document)
    except Misfit as misfit:
        raise RunUnreadable(f"{source}: {misfit}: was it edited by hand?") from None
    assert isinstance(info, RunInfo)
    return info


def _require(source: str, key: str, version: object, ours: int) -> None:
    if version != ours:
        raise RunUnreadable(
            f"{source}: {key} is {version!r}, this brokerbench reads {ours}: use the brokerbench that made the run"
        )
