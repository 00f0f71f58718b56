"""Parses ``mesh(brokers=5)``: a name and keyword arguments of plain values; nothing is ever evaluated."""

import ast
from dataclasses import dataclass, field

from topologies.model.validity import TopologyInvalid

HOW = "write NAME or NAME(PARAMETER=VALUE, …), e.g. mesh or mesh(brokers=5)"


@dataclass(frozen=True)
class EntryCall:
    """``mesh(brokers=5)`` as ``EntryCall("mesh", {"brokers": 5})``."""

    name: str
    arguments: dict[str, object] = field(default_factory=dict)


def parse_call(text: str) -> EntryCall:
    """Raises `TopologyInvalid` for anything but a name with keyword arguments that are plain values."""
    name, bracket, arguments = text.strip().partition("(")
    name = name.strip()
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise _malformed(text)
    return EntryCall(name, _arguments(text, arguments) if bracket else {})


def _arguments(text: str, after_bracket: str) -> dict[str, object]:
    try:
        tree = ast.parse(f"f({after_bracket}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _malformed(text) from error
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.args:
        raise _malformed(text)
    arguments: dict[str, object] = {}
    for keyword in tree.keywords:
        if keyword.arg is None:
            raise _malformed(text)
        if keyword.arg in arguments:
            raise TopologyInvalid(f"topology {text!r}: {keyword.arg} is given twice; keep one")
        arguments[keyword.arg] = _value(text, keyword.arg, keyword.value)
    return arguments


def _value(text: str, name: str, value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise TopologyInvalid(f"topology {text!r}: {name} is not a plain value; {_plainly(value)}") from error


def _plainly(value: ast.expr) -> str:
    if not isinstance(value, ast.Name):
        return "write a number, True, False or a 'text'"
    word = value.id.capitalize()
    return f"write {word if word in ('True', 'False') else repr(value.id)}"


def _malformed(text: str) -> TopologyInvalid:
    or_a_file = "; or name a file, which ends in .yaml" if {"/", "."} & {*text.partition("(")[0]} else ""
    return TopologyInvalid(f"topology {text!r} cannot be read; {HOW}{or_a_file}")
