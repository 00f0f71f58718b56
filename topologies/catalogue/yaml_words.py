"""Finds the words allowed at a place in a YAML file, and the replacement for a word of the brokers' manuals.

Words are field and kind names, spelled as in the model or in a manual. Some manual words correspond to several fields,
and some settings have another form in the model. Some words belong to another product: then the advice names that
product and the replacement. The advice in this module applies to every product.
"""

import dataclasses
import re
import typing
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from topologies.model.broker import AnyBroker
from topologies.model.spelling import plainly
from topologies.products import PRODUCTS

ANYWHERE = ""
UNITS = ("_ms", "_bytes")  # suffixes in our field names that the manuals' names lack
INDEX = re.compile(r"\[[^\]]*\]")


def words_at(path: str, kinds: Mapping[str, type]) -> frozenset[str]:
    """Return the words allowed at a path such as ``links[0].discovery``, in every spelling.

    ``kinds``: the kinds of parts in the section. `ANYWHERE`: the words allowed at any place in them.
    """
    _, *fields = INDEX.sub("", path).split(".")
    parts = list(kinds.values())
    for field in fields:
        parts = [part for kind in parts for part in fields_within(kind).get(field, ())]
    words = (_all_words if path == ANYWHERE else _words)(parts)
    return frozenset(spelling for word in (*words, *(() if fields else kinds)) for spelling in spellings(word))


def places(word: str, sections: Mapping[str, Mapping[str, type]]) -> list[str]:
    """Return where a word is allowed: ``in cluster of a link of kind clusterConnection``, ``in discovery of kind …``.

    ``sections``: "link" or "broker" to its kinds.
    """
    descriptions: dict[str, None] = {}
    for part, kinds in sections.items():
        trails = {
            kind: [trail for trail, field in _trails(part_type, ()) if spellings(word) & spellings(field)]
            for kind, part_type in kinds.items()
        }
        for kind, trails_there in trails.items():
            owner = f"a {part}" if all(trails.values()) or kind == part else f"a {part} of kind {kind}"
            descriptions |= {f"in {' of '.join([*reversed(trail), owner])}": None for trail in trails_there}
    return list(descriptions)


def _trails(kind: type, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every field with its enclosing fields, outermost first; if it has several kinds, with its kind."""
    for field, parts in fields_within(kind).items():
        yield above, field
        for part in parts:
            owner = f"{field} of kind {getattr(part, 'kind', '')}" if len(parts) > 1 else field
            yield from _trails(part, (*above, owner))


def spellings(word: str) -> frozenset[str]:
    """Return normalized spellings, with and without a unit.

    ``messageTTL``, ``message-ttl`` and ``message_ttl`` are equal.
    """
    bare = next((word.removesuffix(unit) for unit in UNITS if word.endswith(unit)), word)
    return frozenset({plainly(word), plainly(bare)})


def _words(kinds: list[type]) -> Iterator[str]:
    for kind in kinds:
        yield from fields_within(kind)
        if "kind" not in fields_within(kind):  # otherwise it is a regular field
            yield getattr(kind, "kind", "")


def _all_words(kinds: list[type]) -> Iterator[str]:
    while kinds:
        yield from _words(kinds)
        kinds = [part for kind in kinds for parts in fields_within(kind).values() for part in parts]


def fields_within(kind: type) -> dict[str, list[type]]:
    """Return each field with the dataclasses nested in it.

    Brokers are not nested in a link: it refers to them by name.
    """
    hints = typing.get_type_hints(kind)
    return {
        field.name: [part for part in _dataclasses_in(hints[field.name]) if not issubclass(part, AnyBroker)]
        for field in dataclasses.fields(kind)
    }


def _dataclasses_in(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for argument in typing.get_args(hint):
        yield from _dataclasses_in(argument)


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MULTIPLES: dict[str, tuple[str, dict[str, int]]] = {
    "bytes": ("bytes", {"": 1, "k": KIB, "m": MIB, "g": GIB}),
    "mb": ("MiB", {"": 1, "m": 1, "g": KIB}),
    "ms": ("milliseconds", {"": 1, "ms": 1, "s": 1_000, "sec": 1_000, "min": 60_000, "h": 3_600_000}),
}
"""By the last word of a field: its unit, and the multiples of that unit. As in the brokers, 1 kb is 1,024 bytes."""
QUANTITY = re.compile(r"(\d+) *([a-z]*)")


def unit_and_number(field: str, text: str) -> str:
    """Return `` of bytes: write 33554432`` for ``32mb`` in a field that ends in ``_bytes``; '' without a unit."""
    last = field.rpartition("_")[2]
    if last not in MULTIPLES:
        return ""
    unit, multiples = MULTIPLES[last]
    quantity = QUANTITY.fullmatch(text.strip().lower())
    multiple = multiples.get(quantity[2].removesuffix("b").removesuffix("i")) if quantity else None
    return f" of {unit}: write {int(quantity[1]) * multiple}" if quantity and multiple else f" of {unit}"


ALMOST = 0.88  # one letter in ten differs; short words must match exactly
HOPS_OF_LINKS = ("networkttl", "messagettl", "consumerttl")
"""Two of them are fields of every link, but some products do not let users choose them."""
CREDENTIALS = "a run creates the passwords of all users; leave it out"
LINK_USER = "write user_name in a link, and the same name in users of its brokers"
PLACES = "a run chooses where brokers listen (--base-port, --bind-host), or --brokers-file names them; leave it out"
Words = dict[str, str]
EVERYWHERE: Words = {
    "username": LINK_USER,
    "user": LINK_USER,
    "password": CREDENTIALS,
    "remoteusername": LINK_USER,
    "remotepassword": CREDENTIALS,
    "datadirectory": "a run chooses where brokers keep their stores; leave it out",
    "host": PLACES,
    "port": PLACES,
    "uri": PLACES,
}
OF_LINKS: Words = {
    "from": "write opened_by",
    "source": "write opened_by",
    "target": "write to",
    "bidirectional": "write duplex: true",
}
OF_BROKERS: Words = {
    "master": "write standby_of on the broker that waits",
    "slave": "write standby_of",
    "backup": "write standby_of",
    "backupof": "write standby_of",
}
COMMON: Mapping[str, Words] = {ANYWHERE: EVERYWHERE, "links": OF_LINKS, "brokers": OF_BROKERS}
INSTEAD: Mapping[str, Mapping[str, Words]] = {
    name: {section: words | dict(product.manual_words.get(section, {})) for section, words in COMMON.items()}
    for name, product in PRODUCTS.items()
}
"""Product to section to word (lowercase, without hyphens) to the next step.

A section's own words apply only to its entries; words under `ANYWHERE` apply to every section.
"""


def find_replacement(product: str, word: str, path: str) -> str:
    """Return the replacement at ``path`` for a word, or for a similar word; '' if the manuals do not have it.

    `ANYWHERE`: search the entries of all sections.
    """
    words_by_section = INSTEAD[product]
    sections = ("brokers", "links") if path == ANYWHERE else (INDEX.sub("", path),)
    words = {
        word: advice for section in (ANYWHERE, *sections) for word, advice in words_by_section.get(section, {}).items()
    }
    close = get_close_matches(plainly(word), list(words), n=1, cutoff=ALMOST)
    return words[close[0]] if close else ""
