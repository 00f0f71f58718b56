"""Reads a topology from a user's YAML file into the same model that the catalogue uses.

    name: branch-offices
    brokers: [head-office, {name: branch-1, region: north}]
    links:
      - {opened_by: branch-1, to: head-office, duplex: true}
    groups:
      - {name: producers, enter_at: [branch-1]}
      - {name: consumers, enter_at: [head-office]}

Field names are the same as in `topologies.model`. A link's ``kind`` and ``flavour: classic`` are optional. Each error
names the file, the line and the field.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from yaml.nodes import Node, ScalarNode

from topologies.catalogue.yaml_nodes import Document, Reader, TextInvalid, read_text
from topologies.catalogue.yaml_words import ANYWHERE, HOPS_OF_LINKS, find_replacement, places, spellings, words_at
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.impaired_links import with_impairments
from topologies.model.spelling import nearest, plainly
from topologies.model.topology import Topology
from topologies.model.validity import NAME, NAME_RULE, TopologyInvalid
from topologies.products import DEFAULT, PRODUCTS

SUFFIXES = (".yaml", ".yml")
SECTIONS = ("name", "flavour", "brokers", "links", "groups")
IMPAIRMENTS = "impairments"
"""Impairments of several links at once, in the syntax of ``--link``: ``- east<->west:delay=40ms``."""
BROKERS = {name: product.brokers for name, product in PRODUCTS.items()}
LINKS = {name: product.links for name, product in PRODUCTS.items()}
MOST_PLACES = 3
COMMON = ("kind", "name")
"""Words that occur in many sections, with a different meaning in each."""
PART = re.compile(r"(broker|link|client group|cluster)s?(?: are named)? '([^']+)'")
"""Matches the name of a part in the model's error messages."""

Places = dict[tuple[str, str], tuple[Node, str]]
"""(kind, name) to the node and its path."""


def is_file(text: str) -> bool:
    """Return whether ``--topology`` names a file rather than a catalogue entry."""
    return text.strip().endswith(SUFFIXES)


def read_topology(path: Path) -> Topology:
    """Read a YAML file. Raises `TopologyInvalid`; each problem begins with ``file:line:column``."""
    return parse_topology(read_text(path, "name a YAML file, or an entry of the catalogue"), str(path))


def place_of(topology: str, group: str, field: str) -> str:
    """Return the position of a client group's field in the file ``topology``, as the beginning of an error message.

    Empty if ``topology`` is not a file. Used by rules outside the topologies package.
    """
    if not is_file(topology):
        return ""
    path = Path(topology.strip())
    document = Document(str(path), read_text(path, "name a YAML file, or an entry of the catalogue"))
    _, groups = document.mapping(document.root, "")["groups"]
    for node, part in document.items(groups, "groups"):
        fields = {name: value for name, (_, value) in document.mapping(node, part).items()}
        if document.scalar(fields["name"]) == group and field in fields:
            return f"{document.wrong(fields[field], f'{part}.{field}', '')}"
    return ""


def parse_topology(text: str, name: str) -> Topology:
    """Parse a topology. ``name``: the text's name in error messages."""
    document = Document(name, text)
    sections = document.mapping(document.root, "")
    for section, (key, _) in sections.items():
        if section not in (known_sections := (*SECTIONS, IMPAIRMENTS)):
            hint = nearest(section, list(known_sections)) or f"; known are {', '.join(known_sections)}"
            raise document.wrong(key, "", f"unknown section {section!r}{hint}")
    for needed in ("name", "brokers"):
        if needed not in sections:
            raise document.wrong(document.root, "", f"{needed} is missing; add a line {needed}: …")
    return _topology(document, {section: value for section, (_, value) in sections.items()})


def _topology(document: Document, sections: dict[str, Node]) -> Topology:
    plain = Reader(document)
    flavour = plain.read(sections["flavour"], str, "flavour") if "flavour" in sections else DEFAULT.name
    if flavour not in BROKERS:
        rule = f"{flavour!r}, but it must be one of {', '.join(BROKERS)}"
        raise document.wrong(sections["flavour"], "flavour", rule)
    places_by_part: Places = {}
    brokers = _parts(_reader(document, flavour, BROKERS), sections, "brokers", BROKERS[flavour], places_by_part)
    named: dict[str, AnyBroker] = {broker.name: broker for broker in brokers}

    def broker(node: Node, path: str) -> AnyBroker:
        name = node.value if isinstance(node, ScalarNode) else ""
        if name not in named:
            hint = f"{nearest(name, list(named))} (brokers: {', '.join(named)})"
            raise document.wrong(
                node, path, f"{name!r} is not one of the brokers above{hint}" if name else f"name a broker{hint}"
            )
        return named[name]

    reader = _reader(document, flavour, LINKS, {AnyBroker: broker})
    links = _parts(reader, sections, "links", LINKS[flavour], places_by_part)
    for link in links:
        if link.cluster_name:
            places_by_part.setdefault(("cluster", link.cluster_name), places_by_part["link", link.name])
    groups = _parts(reader, sections, "groups", {"group": ClientGroup}, places_by_part)
    name = plain.read(sections["name"], str, "name")
    if not NAME.fullmatch(name):
        raise document.wrong(sections["name"], "name", f"{name!r}; {NAME_RULE}")
    try:
        topology = Topology(name, tuple(brokers), tuple(links), tuple(groups), PRODUCTS[flavour])
    except TopologyInvalid as error:
        raise TextInvalid(
            document.name, *(_placed(document, problem, places_by_part) for problem in error.problems)
        ) from error
    return _impaired(plain, sections, topology)


def _impaired(plain: Reader, sections: dict[str, Node], topology: Topology) -> Topology:
    """Apply the settings for several links, which override a link's own settings."""
    if IMPAIRMENTS not in sections:
        return topology
    for node, path in plain.document.items(sections[IMPAIRMENTS], IMPAIRMENTS):
        try:
            topology = with_impairments(topology, plain.read(node, str, path))
        except TopologyInvalid as error:
            if str(error).startswith(f"{plain.document.name}:"):
                raise
            sentences = (str(plain.document.wrong(node, path, problem)) for problem in error.problems)
            raise TextInvalid(plain.document.name, *sentences) from error
    return topology


def _parts(
    reader: Reader, sections: dict[str, Node], section: str, kinds: Mapping[str, type], places_by_part: Places
) -> list[Any]:
    """Read the values of one section; empty if the section is missing."""
    if section not in sections:
        return []
    kind = {"brokers": "broker", "links": "link", "groups": "client group"}[section]
    parts = []
    for node, path in reader.document.items(sections[section], section):
        part = reader.part(node, kinds, path)
        places_by_part[kind, part.name] = (node, path)  # if two have one name, the second is the duplicate
        parts.append(part)
    return parts


def _placed(document: Document, problem: str, places_by_part: Places) -> str:
    """Return a problem of the whole topology with the line of the first part that it names."""
    sentence = problem.partition(": ")[2]
    for kind, name in PART.findall(sentence):
        if (kind, name) in places_by_part:
            return str(document.wrong(*places_by_part[kind, name], sentence))
    return str(document.wrong(document.root, "", sentence))


def _reader(
    document: Document,
    flavour: str,
    kinds: Mapping[str, Mapping[str, type]],
    references: Mapping[type, Callable[[Node, str], object]] | None = None,
) -> Reader:
    """Return a reader for a section with parts of these kinds.

    It recognizes words from other sections and the manuals.
    """

    def advise(word: str, path: str, is_spelt_otherwise: bool) -> str:
        if is_spelt_otherwise:
            return find_replacement(flavour, word, path) if plainly(word) in HOPS_OF_LINKS else ""
        return hint(word, path, flavour, kinds)

    return Reader(document, references or {}, advise, lambda word: hint_for_flavour(word, flavour))


def hint(word: str, path: str, flavour: str, kinds: Mapping[str, Mapping[str, type]], chosen_here: bool = True) -> str:
    """Return advice about an unknown word at ``path`` in a section with parts of these kinds; '' if there is none.

    ``chosen_here``: whether the file itself sets the flavour.
    """
    of_another_kind = bool(spellings(word) & words_at(path, kinds[flavour]))
    return (
        (_elsewhere(word, flavour) if of_another_kind else "")
        or hint_for_place(word, flavour, path)
        or _other_flavours(word, path, flavour, kinds, chosen_here)
    )


def hint_for_place(word: str, flavour: str, path: str = ANYWHERE) -> str:
    """Return advice about a word of a manual, or the places where this flavour has it; '' if there are many places."""
    return find_replacement(flavour, word, path) or _elsewhere(word, flavour)


def _elsewhere(word: str, flavour: str) -> str:
    owners = places(word, {"broker": BROKERS[flavour], "link": LINKS[flavour]})
    is_helpful = owners and len(owners) <= MOST_PLACES and word not in COMMON
    return f"it belongs {' or '.join(owners)}; write it there" if is_helpful else ""


def hint_for_flavour(word: str, flavour: str, chosen_here: bool = True) -> str:
    """Return a sentence if topologies of another flavour have this word; '' otherwise."""
    hints = (_other_flavours(word, ANYWHERE, flavour, kinds, chosen_here) for kinds in (BROKERS, LINKS))
    return next(filter(None, hints), "")


def _other_flavours(
    word: str, path: str, flavour: str, kinds: Mapping[str, Mapping[str, type]], chosen_here: bool
) -> str:
    """Return a sentence if only brokers or links of another flavour have this word; '' otherwise."""
    for other_flavour, classes in kinds.items():
        if other_flavour != flavour and (spellings(word) & words_at(path, classes)) - words_at(path, kinds[flavour]):
            or_else = f", or write flavour: {other_flavour}" if chosen_here else ""
            return f"it belongs to flavour {other_flavour}, and this topology's is {flavour}; leave it out{or_else}"
    return ""
