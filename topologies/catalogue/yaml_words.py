"""Finds which words may stand at one place of a YAML file: fields and kinds, spelt as in the model or a manual."""

import dataclasses
import re
import typing
from collections.abc import Iterator, Mapping

from topologies.model.broker import AnyBroker
from topologies.model.spelling import plainly

ANYWHERE = ""
UNITS = ("_ms", "_bytes")  # what our names carry, and the manuals' do not
INDEX = re.compile(r"\[[^\]]*\]")


def words_at(path: str, kinds: Mapping[str, type]) -> frozenset[str]:
    """The words allowed at a path such as ``links[0].discovery``, in every spelling, if the section has parts of those
    kinds.

    `ANYWHERE`: what may stand in any of its places.
    """
    _, *fields = INDEX.sub("", path).split(".")
    parts = list(kinds.values())
    for field in fields:
        parts = [part for kind in parts for part in fields_within(kind).get(field, ())]
    words = (_all_words if path == ANYWHERE else _words)(parts)
    return frozenset(one for word in (*words, *(() if fields else kinds)) for one in spellings(word))


def places(word: str, sections: Mapping[str, Mapping[str, type]]) -> list[str]:
    """Where a word stands: ``in cluster of a link of kind clusterConnection``, ``in discovery of kind static of a …``.

    ``sections``: "link" to its kinds.
    """
    found: dict[str, None] = {}
    for part, kinds in sections.items():
        trails = {
            kind: [trail for trail, field in _trails(of, ()) if spellings(word) & spellings(field)]
            for kind, of in kinds.items()
        }
        for kind, trails_there in trails.items():
            whose = f"a {part}" if all(trails.values()) or kind == part else f"a {part} of kind {kind}"
            found |= {f"in {' of '.join([*reversed(trail), whose])}": None for trail in trails_there}
    return list(found)


def _trails(kind: type, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every field with those in which it stands, the outermost first, each with its kind if it has several."""
    for field, parts in fields_within(kind).items():
        yield above, field
        for part in parts:
            whose = f"{field} of kind {getattr(part, 'kind', '')}" if len(parts) > 1 else field
            yield from _trails(part, (*above, whose))


def spellings(word: str) -> frozenset[str]:
    """``messageTTL``, ``message-ttl`` and ``message_ttl`` are one; so are those with and without a unit."""
    bare = next((word.removesuffix(unit) for unit in UNITS if word.endswith(unit)), word)
    return frozenset({plainly(word), plainly(bare)})


def _words(kinds: list[type]) -> Iterator[str]:
    for kind in kinds:
        yield from fields_within(kind)
        if "kind" not in fields_within(kind):  # else it is a field like any other
            yield getattr(kind, "kind", "")


def _all_words(kinds: list[type]) -> Iterator[str]:
    while kinds:
        yield from _words(kinds)
        kinds = [part for kind in kinds for parts in fields_within(kind).values() for part in parts]


def fields_within(kind: type) -> dict[str, list[type]]:
    """Field to what is written out in it. Brokers within a link are only named there."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: [part for part in _dataclasses_in(hints[field.name]) if not issubclass(part, AnyBroker)]
        for field in dataclasses.fields(kind)
    }


def _dataclasses_in(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for each in typing.get_args(hint):
        yield from _dataclasses_in(each)
