"""Reads YAML as the frozen dataclasses of the model, by their field types; each error has a line and a field.

YAML itself constructs no objects. It parses the text to nodes, which have their positions in the file. Each node is
read as the type that the model declares there. Therefore this module does not depend on brokers or links.
"""

import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Union

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from topologies.catalogue.yaml_words import spellings, unit_and_number
from topologies.model.explicit_fields import mark_explicit, replace_explicitly
from topologies.model.spelling import nearest
from topologies.model.validity import TopologyInvalid

PLAIN = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
TAG = "tag:yaml.org,2002:"
FINITE = sys.float_info.max
MOST_CHARACTERS = 1_000_000
MOST_NODES = 20_000
"""Texts, lists and mappings in a file. A mesh of 50 brokers has 9,000."""
MOST_READ = 2 * MOST_NODES
"""Entries that are read; an entry that is reached again through an alias (``*``) counts again."""
DEEPEST = 50
BITS = 64
FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where PyYAML has it


def text_of(path: Path) -> str:
    """Read a YAML file. Raises OSError, UnicodeDecodeError, or `TopologyInvalid` if the text is too long."""
    with path.open(encoding="utf-8") as file:
        text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise TopologyInvalid(f"{path}: it has more than {MOST_CHARACTERS:,} characters; shorten it")
    return text


def read_text(path: Path, next_step: str) -> str:
    """Return the text of a file. Raises `TopologyInvalid`. ``next_step``: advice if the file cannot be read."""
    try:
        return text_of(path)
    except OSError as error:
        raise TopologyInvalid(f"{path}: {error.strerror}; {next_step}") from error
    except UnicodeDecodeError as error:
        raise TopologyInvalid(f"{path}: byte {error.start + 1} is not valid UTF-8; save the file as UTF-8") from error


class TextInvalid(TopologyInvalid):
    """The text of a file breaks a rule; the problems may quote the text. ``place``: file, line and column only.

    A web page shows only ``place``, because a user who may name a file there must not be able to read it there.
    """

    def __init__(self, place: str, *problems: str) -> None:
        super().__init__(*problems)
        self.place = place


class Document:
    """A YAML file. ``name``: its name in error messages."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._mappings: dict[int, dict[str, tuple[Node, Node]]] = {}
        self._read_count = 0
        try:
            with suppress(yaml.YAMLError, UnicodeEncodeError):  # reported below, in the words of one loader
                self._require_few(text)
            self._loader = yaml.SafeLoader(text)
            self.root = self._loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark or error.context_mark
            where = f"{name}:{at.line + 1}:{at.column + 1}" if at else name
            reason = " ".join(filter(None, (error.context, error.problem)))
            raise TextInvalid(where, f"{where}: not valid YAML: {reason}") from error
        except yaml.YAMLError as error:
            raise TextInvalid(name, f"{name}: not valid YAML: {' '.join(str(error).split())}") from error
        except RecursionError:  # `_require_few` ends at what the faster loader takes for an error
            raise TextInvalid(name, f"{name}: it is nested more than {DEEPEST} levels deep; nest it less") from None

    def _require_few(self, text: str) -> None:
        """Reject more values, or deeper values, than a network can need, before any node is composed."""
        count = depth = 0
        for event in yaml.parse(text, Loader=FAST_LOADER):
            count += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if count > MOST_NODES:
                raise self.wrong(event, "", f"the file has more than {MOST_NODES:,} names and values; write fewer")
            if depth > DEEPEST:
                raise self.wrong(event, "", f"this is nested more than {DEEPEST} levels deep; nest it less")

    def wrong(self, node: Node | yaml.Event | None, path: str, sentence: str) -> TextInvalid:
        """Return an error with ``file:line:column: path: sentence``."""
        at = node.start_mark if node else None
        line, column = (at.line + 1, at.column + 1) if at else (1, 1)
        place = f"{self.name}:{line}:{column}"
        return TextInvalid(place, f"{place}: {path + ': ' if path else ''}{sentence}")

    def scalar(self, node: Node) -> Any:
        """Return the value in YAML.

        None for an unreadable value such as a thirteenth month, an unknown tag or ``!!int x``.
        """
        try:
            return self._loader.construct_object(node, deep=True)
        except (ValueError, LookupError, AttributeError, ArithmeticError, yaml.YAMLError):
            return None  # PyYAML raises any of these

    def mapping(self, node: Node | None, path: str) -> dict[str, tuple[Node, Node]]:
        """Map each key to its node and its value's node; ``<<`` is merged in."""
        fields = self._merged(node, path, ())
        self._count(len(fields) + 1, node, path)
        return dict(fields)

    def _merged(self, node: Node | None, path: str, around: tuple[Node, ...]) -> dict[str, tuple[Node, Node]]:
        """Read a mapping, and the mappings that are merged into it. Each is read once, even if it is merged often.

        ``around``: the mappings that this one is merged into.
        """
        if id(node) in self._mappings:
            return self._mappings[id(node)]
        if not isinstance(node, MappingNode):
            raise self.wrong(node, path, f"{_shown(node)}, but it must be a mapping: lines of FIELD: VALUE")
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise self.wrong(key, path, "a field name must be plain text")
            if key.tag == f"{TAG}merge":
                for part in reversed(value.value if isinstance(value, SequenceNode) else [value]):
                    if not isinstance(part, MappingNode) or part in (node, *around) or len(around) > DEEPEST:
                        raise self.wrong(node, path, "'<<' must name a mapping that is anchored (&) above")
                    merged |= self._merged(part, path, (*around, node))
                continue
            if key.value in own:
                first_line = own[key.value][0].start_mark.line + 1
                raise self.wrong(key, path, f"{key.value!r} is given twice, first in line {first_line}; keep one")
            own[key.value] = (key, value)
        return self._mappings.setdefault(id(node), merged | own)

    def _count(self, entries: int, node: Node | None, path: str) -> None:
        self._read_count += entries
        if self._read_count > MOST_READ:
            rule = f"the file expands to more than {MOST_READ:,} values; use fewer entries or fewer aliases (*)"
            raise self.wrong(node, path, rule)

    def items(self, node: Node | None, path: str) -> list[tuple[Node, str]]:
        """Return the entries of a list, each with its path, e.g. ``links[0]``."""
        if not isinstance(node, SequenceNode):
            raise self.wrong(node, path, f"{_shown(node)}, but it must be a list: lines that begin with '- '")
        self._count(len(node.value), node, path)
        return [(item, f"{path}[{n}]") for n, item in enumerate(node.value)]


@dataclasses.dataclass(frozen=True)
class Reader:
    """Reads nodes of a document as values of given types.

    ``references``: for a type whose values the file refers to by name, the function that looks them up. ``hint``:
    advice about an unknown word at a path; its last argument is whether a known field has that word in another
    spelling. ``last_hint``: advice without a better hint.
    """

    document: Document
    references: Mapping[type, Callable[[Node, str], object]] = dataclasses.field(default_factory=dict)
    hint: Callable[[str, str, bool], str] = lambda word, path, is_spelt_otherwise: ""
    last_hint: Callable[[str], str] = lambda word: ""

    def read(self, node: Node, wanted: Any, path: str, over: Any = None) -> Any:
        """Return the value of ``node`` as type ``wanted``. Raises `TopologyInvalid`.

        ``over``: a value that the fields of ``node`` override: see `merge_fields`.
        """
        if wanted in self.references:
            return self.references[wanted](node, path)
        if wanted in PLAIN:
            return self._plain(node, wanted, path)
        if dataclasses.is_dataclass(wanted):
            if over is not None:
                return self.merge_fields(over, node, path)
            return self.part(node, {"": typing.cast(type, wanted)}, path)
        if typing.get_origin(wanted) in (Union, types.UnionType):
            return self._either(node, typing.get_args(wanted), path, over)
        if typing.get_origin(wanted) is tuple:
            return self._several(node, typing.get_args(wanted)[0], path, over or ())
        raise TypeError(f"{path}: no reader for {wanted}")

    def part(self, node: Node, kinds: Mapping[str, type], path: str) -> Any:
        """Read one of several kinds of values. ``kind`` in the file selects it; the first is the default."""
        if not kinds:
            raise self.document.wrong(node, path, "brokers of this flavour have no such part; leave it out")
        usual = next(iter(kinds.values()))
        if isinstance(node, ScalarNode) and node.tag == f"{TAG}str" and _required(usual) == ["name"]:
            return self._build(usual, {"name": (node, node)}, node, path)
        if isinstance(node, ScalarNode) and node.value:
            raise self.document.wrong(
                node, path, f"{_shown(node)}, but it must be a mapping, {_as_a_part(node, kinds)}"
            )
        fields = dict(self.document.mapping(node, path))
        kind = self._kind(fields, kinds, path)
        self._require_known(kind, fields, path)
        for name in _required(kind):
            if name not in fields:
                raise self.document.wrong(node, path, f"{name} is missing; add a line {name}: …")
        return self._build(kind, fields, node, path)

    def merge_fields(self, base: Any, node: Node, path: str, fixed: Collection[str] = ()) -> Any:
        """Return ``base`` with its fields overridden by the fields of ``node``, recursively.

        In a list, an entry overrides the existing entry with the same `KEY`; otherwise it is appended. A list of plain
        values replaces the existing list. ``fixed``: fields that cannot be changed.
        """
        fields = self.document.mapping(node, path)
        self._require_known(type(base), fields, path, fixed)
        return self._build(type(base), fields, node, path, base)

    def _require_known(
        self, kind: type, fields: Mapping[str, tuple[Node, Node]], path: str, fixed: Collection[str] = ()
    ) -> None:
        names = [field.name for field in dataclasses.fields(kind) if field.name not in fixed]
        for name, (key, _) in fields.items():
            if name in fixed:
                rule = f"{name!r} is part of the topology itself; change it there, and leave it out here"
                raise self.document.wrong(key, path, rule)
            if name not in names:
                raise self.document.wrong(key, path, f"unknown field {name!r}{self._hint(name, names, path)}")

    def _kind(self, fields: dict[str, tuple[Node, Node]], kinds: Mapping[str, type], path: str) -> type:
        usual = next(iter(kinds.values()))
        if "kind" not in fields or "" in kinds or "kind" in {field.name for field in dataclasses.fields(usual)}:
            return usual
        _, value = fields["kind"]
        name = self._plain(value, str, f"{path}.kind")
        if name not in kinds:
            hint = self.last_hint(name)
            advice = f": {hint}" if hint else nearest(name, list(kinds))
            raise self.document.wrong(
                value, f"{path}.kind", f"{name!r}, but it must be one of {', '.join(kinds)}{advice}"
            )
        del fields["kind"]
        return kinds[name]

    def _build(
        self, kind: type, fields: Mapping[str, tuple[Node, Node]], node: Node, path: str, base: Any = None
    ) -> Any:
        """Build a value from the given fields; the other fields come from ``base``."""
        hints = _field_types(kind)
        at = {name: value for name, (_, value) in fields.items()}
        values = {
            name: self.read(value, hints[name], f"{path}.{name}", getattr(base, name, None))
            for name, value in at.items()
        }
        try:
            part = kind(**values) if base is None else replace_explicitly(base, **_replaced(kind, values), **values)
        except TopologyInvalid as error:
            named = f"{path}.{error.field}" if error.field else path
            problem = "; ".join(error.problems)
            raise self.document.wrong(at.get(error.field, node), named, problem) from error
        for name, value in values.items():
            if (followed := getattr(part, name)) != value:
                rule = f"{value!r}, but the other fields make it {followed!r}; leave it out"
                raise self.document.wrong(at.get(name, node), f"{path}.{name}", rule)
        mark_explicit(part, values)
        return part

    def _plain(self, node: Node, wanted: type, path: str) -> Any:
        value: Any = self.document.scalar(node) if isinstance(node, ScalarNode) else None
        if type(value) is int and wanted is int and value.bit_length() > BITS:
            raise self.document.wrong(node, path, f"{_shown(node)}, but a number has at most {BITS} bits; write less")
        if wanted is float and type(value) in (int, float):
            if not -FINITE <= value <= FINITE:  # not a number is neither
                raise self.document.wrong(node, path, f"{_shown(node)}, but it must be a finite number")
            return float(value)
        if type(value) is not wanted:
            rule = f"{PLAIN[wanted]}{_how(node, wanted, path)}"
            raise self.document.wrong(node, path, f"{_shown(node)}, but it must be {rule}")
        return value

    def _either(self, node: Node, wanted: tuple[Any, ...], path: str, over: Any) -> Any:
        """Read an optional value, or one of several kinds. ``over``: as for `read`."""
        kinds = [kind for kind in wanted if kind is not type(None)]
        if isinstance(node, ScalarNode) and node.tag == f"{TAG}null" and len(kinds) < len(wanted):
            return None
        if len(kinds) == 1 and kinds[0] in PLAIN:
            return self._plain(node, kinds[0], path)
        if over is not None and (len(kinds) == 1 or not self._names_kind(node, path)):
            return self.merge_fields(over, node, path)
        return self.part(node, {getattr(kind, "kind", ""): kind for kind in kinds}, path)

    def _names_kind(self, node: Node, path: str) -> bool:
        return isinstance(node, MappingNode) and "kind" in self.document.mapping(node, path)

    def _several(self, node: Node, wanted: Any, path: str, over: tuple[Any, ...]) -> tuple[Any, ...]:
        if typing.get_origin(wanted) is tuple:  # pairs are written as FIELD: VALUE
            fields = self.document.mapping(node, path)
            pairs = {name: self._plain(value, str, f"{path}.{name}") for name, (_, value) in fields.items()}
            return tuple((dict(over) | pairs).items())
        items = self.document.items(node, path)
        if not (key := getattr(wanted, "KEY", ())):
            return tuple(self.read(item, wanted, at) for item, at in items)
        parts_by_key: dict[object, Any] = {tuple(getattr(part, name) for name in key): part for part in over}
        for item, at in items:
            same = parts_by_key.get(self._key(item, wanted, key, at))
            part = self.read(item, wanted, at, same)
            parts_by_key[tuple(getattr(part, name) for name in key) if over else len(parts_by_key)] = part
        return tuple(parts_by_key.values())

    def _key(self, node: Node, wanted: type, key: Sequence[str], path: str) -> tuple[Any, ...]:
        """Return the key of a list entry; fields that are left out have their defaults."""
        if not isinstance(node, MappingNode):
            return ()
        fields = self.document.mapping(node, path)
        if not all(isinstance(fields[name][1], ScalarNode) for name in key if name in fields):
            return ()  # reading it raises the error
        usual = {field.name: field.default for field in dataclasses.fields(wanted)}
        return tuple(self.document.scalar(fields[name][1]) if name in fields else usual[name] for name in key)

    def _hint(self, name: str, names: list[str], path: str) -> str:
        is_spelt_otherwise = any(spellings(name) & spellings(known_name) for known_name in names)
        if advice := self.hint(name, path, is_spelt_otherwise):
            return f": {advice}"
        if near := nearest(name, names):
            return near
        advice = self.last_hint(name)
        return f": {advice}" if advice else f"; known are {', '.join(names)}"


def _replaced(kind: type, given: Collection[str]) -> dict[str, Any]:
    """Return the defaults of fields that a class replaces by one of the given fields (its ``REPLACES``)."""
    replaces: Mapping[str, tuple[str, ...]] = getattr(kind, "REPLACES", {})
    replaced = {name for field in given for name in replaces.get(field, ())} - {*given}
    return {field.name: field.default for field in dataclasses.fields(kind) if field.name in replaced}


@lru_cache
def _field_types(kind: type) -> dict[str, Any]:
    return {name: hint for name, hint in typing.get_type_hints(kind).items() if typing.get_origin(hint) != ClassVar}


def _required(kind: type) -> list[str]:
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    return [field.name for field in fields if field.default is missing and field.default_factory is missing]


def _how(node: Node, wanted: type, path: str) -> str:
    """Return details of a field's rule, such as its unit, and the correction."""
    if wanted is int:
        return unit_and_number(path, node.value if isinstance(node, ScalarNode) else "")
    return _as_a_text(node) if wanted is str else ""


def _as_a_text(node: Node) -> str:
    """Return how to write a value as text if YAML reads it as another type."""
    if not isinstance(node, ScalarNode) or node.tag == f"{TAG}null":
        return ""
    return "; put it in quotes" if node.tag.startswith(TAG) else f"; remove the unknown tag {node.tag}"


def _as_a_part(node: ScalarNode, kinds: Mapping[str, type]) -> str:
    """Return how to write a part that the file gives as plain text: by its kind, or by its first field."""
    usual = next(iter(kinds.values()))
    first_field = dataclasses.fields(usual)[0]
    if node.value in kinds:
        return f"e.g. {{kind: {node.value}}}"
    if node.tag == f"{TAG}str" and first_field.type in (str, "str"):
        return f"e.g. {{{first_field.name}: {node.value!r}}}"
    if node.tag != f"{TAG}null" and _required(usual) == ["name"]:
        return f"or a name{_as_a_text(node)}"
    return "as lines of FIELD: VALUE" + ("" if _required(usual) else ", or {} for all defaults")


def _shown(node: Node | None) -> str:
    """Return a short description of the text there."""
    if node is None:
        return "nothing is written here"
    if isinstance(node, ScalarNode):
        return repr(node.value) if node.value else "nothing is written here"
    return "a list" if isinstance(node, SequenceNode) else "a mapping"
