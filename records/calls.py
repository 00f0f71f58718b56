"""Parses ``NAME(TEXT, SETTING=TEXT)``: the syntax of topologies, faults, searches and work on the command line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from records.errors import UserError

_CALL = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=\s*+(?:,|\Z))"""
_PART = re.compile(rf"\s*+(?:([\w-]++)\s*+=)?\s*+({_QUOTED}|[^,()]*+)\s*+(?:,|\Z)", re.DOTALL)  # linear: `++`
_TWO_PARTS = re.compile(r"\s*([^\s,()=]+)\s+[\w-]+\s*=")


@dataclass(frozen=True)
class Call:
    """``kill(broker-2, at=10)``: its name, its positional texts, and its settings by name."""

    name: str
    texts: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def parse_call(text: str) -> Call | None:
    """Parse a call; its parentheses are optional. Return None if ``text`` is not a call.

    A text may contain commas and parentheses only in quotes, which are kept. Texts and settings may come in any order,
    and empty items between commas are ignored. Raises UserError for a setting that is given twice.
    """
    call = _CALL.fullmatch(text)
    if call is None:
        return None
    texts: list[str] = []
    settings: dict[str, str] = {}
    inner, position = (call[2] or "").rstrip(), 0
    while position < len(inner):
        part = _PART.match(inner, position)
        if part is None:
            return None
        name, value = part[1], part[2].rstrip()
        if name in settings:
            raise UserError(f"{name} is given twice; keep one")
        if name:
            settings[name] = value
        elif value:
            texts.append(value)
        position = part.end()
    return Call(call[1], tuple(texts), settings)


def before_missing_comma(text: str) -> str:
    """Return ``broker-2`` for ``broker-2 at=10``; empty if no comma is missing."""
    words = _TWO_PARTS.match(text)
    return words[1] if words else ""
