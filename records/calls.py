"""Reads ``NAME(TEXT, SETTING=TEXT)``: the form of topologies, faults, searches and work on a command line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from records.errors import UserError

_CALL = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=\s*+(?:,|\Z))"""
_PART = re.compile(rf"\s*+(?:([\w-]++)\s*+=)?\s*+({_QUOTED}|[^,()]*+)\s*+(?:,|\Z)", re.DOTALL)  # linear: `++`


@dataclass(frozen=True)
class Call:
    """``kill(broker-2, at=10)``: its name, its texts, and the texts of its settings by name."""

    name: str
    texts: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def parse_call(text: str) -> Call | None:
    """The call of a text, whose brackets may be left out; None if it is none.

    A text may have commas and brackets only in quotes, and keeps these. Texts and settings have any order; what stands
    empty between commas is left out. Raises UserError for a setting that is given twice.
    """
    call = _CALL.fullmatch(text)
    if call is None:
        return None
    texts: list[str] = []
    settings: dict[str, str] = {}
    rest = (call[2] or "").rstrip()
    while rest:
        part = _PART.match(rest)
        if part is None:
            return None
        name, value = part[1], part[2].rstrip()
        if name in settings:
            raise UserError(f"{name} is given twice; keep one")
        if name:
            settings[name] = value
        elif value:
            texts.append(value)
        rest = rest[part.end() :]
    return Call(call[1], tuple(texts), settings)
