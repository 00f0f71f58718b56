"""Which topology does a YAML file of one's own describe? The same model as the catalogue's, field by field.

    name: branch-offices
    brokers: [head-office, {name: branch-1, region: north}]
    links:
      - {opened_by: branch-1, to: head-office, duplex: true}
    groups:
      - {name: producers, enter_at: [branch-1]}
      - {name: consumers, enter_at: [head-office]}

Field names are those of `topologies.model`. A link's ``kind`` may be left out, as may ``flavour: classic``. Each error
names the file, the line and the field.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from yaml.nodes import Node, ScalarNode

from topologies.artemis.brokers import ArtemisBroker
from topologies.artemis.links import BrokerConnection, ClusterLink
from topologies.artemis.router import Router
from topologies.brokers import AnyBroker, Broker
from topologies.groups import ClientGroup
from topologies.impaired import impaired
from topologies.links import Link, NetworkConnector
from topologies.manual_words import HOPS_OF_LINKS, instead
from topologies.model import Topology
from topologies.validity import NAME, NAME_RULE, TopologyInvalid
from topologies.yaml_nodes import Document, Reader, nearest
from topologies.yaml_words import ANYWHERE, places, plainly, spellings, words_at

SUFFIXES = (".yaml", ".yml")
SECTIONS = ("name", "flavour", "brokers", "links", "groups")
IMPAIRMENTS = "impairments"
"""What several links are like at once, as ``--link`` has it: ``- east<->west:delay=40ms``."""
BROKERS: dict[str, Mapping[str, type[AnyBroker]]] = {
    "classic": {"broker": Broker},
    "artemis": {"broker": ArtemisBroker, "router": Router},
}
LINKS: dict[str, Mapping[str, type[Link]]] = {
    "classic": {NetworkConnector.kind: NetworkConnector},
    "artemis": {BrokerConnection.kind: BrokerConnection, ClusterLink.kind: ClusterLink},
}
MOST_PLACES = 2
COMMON = ("kind", "name")
"""Words that stand in many places, and mean something else in each."""
PART = re.compile(r"(broker|link|client group|cluster)s?(?: are named)? '([^']+)'")
"""How the model's sentences name a part."""

Places = dict[tuple[str, str], tuple[Node, str]]
"""(what, its name) to where it stands and its path."""


def is_file(text: str) -> bool:
    """Whether ``--topology`` names a file and no entry of the catalogue."""
    return text.strip().endswith(SUFFIXES)


def read_topology(path: Path) -> Topology:
    """Raises `TopologyInvalid`, each of whose problems begins with ``file:line:column``."""
    return parse_topology(_text(path), str(path))


def place_of(topology: str, group: str, field: str) -> str:
    """Where a field of a client group stands in the file that ``topology`` names, to begin an error; '' where none.

    For rules that topologies know nothing of.
    """
    if not is_file(topology):
        return ""
    path = Path(topology.strip())
    document = Document(str(path), _text(path))
    _, groups = document.mapping(document.root, "")["groups"]
    for node, part in document.items(groups, "groups"):
        fields = {name: value for name, (_, value) in document.mapping(node, part).items()}
        if document.scalar(fields["name"]) == group and field in fields:
            return f"{document.wrong(fields[field], f'{part}.{field}', '')}"
    return ""


def parse_topology(text: str, name: str) -> Topology:
    """``name``: what errors call the text."""
    document = Document(name, text)
    sections = document.mapping(document.root, "")
    for section, (key, _) in sections.items():
        if section not in (known := (*SECTIONS, IMPAIRMENTS)):
            hint = nearest(section, list(known)) or f"; known are {', '.join(known)}"
            raise document.wrong(key, "", f"{section!r} is not known here{hint}")
    for needed in ("name", "brokers"):
        if needed not in sections:
            raise document.wrong(document.root, "", f"{needed} is missing; add a line {needed}: …")
    return _topology(document, {section: value for section, (_, value) in sections.items()})


def _topology(document: Document, sections: dict[str, Node]) -> Topology:
    plain = Reader(document)
    flavour = plain.read(sections["flavour"], str, "flavour") if "flavour" in sections else "classic"
    if flavour not in BROKERS:
        rule = f"{flavour!r}, but it must be one of {', '.join(BROKERS)}"
        raise document.wrong(sections["flavour"], "flavour", rule)
    seen: Places = {}
    brokers = _parts(_reader(document, flavour, BROKERS), sections, "brokers", BROKERS[flavour], seen)
    named: dict[str, AnyBroker] = {broker.name: broker for broker in brokers}

    def broker(node: Node, path: str) -> AnyBroker:
        name = node.value if isinstance(node, ScalarNode) else ""
        if name not in named:
            hint = f"{nearest(name, list(named))} (brokers: {', '.join(named)})"
            raise document.wrong(
                node, path, f"{name!r} is none of the brokers above{hint}" if name else f"name a broker{hint}"
            )
        return named[name]

    reader = _reader(document, flavour, LINKS, {AnyBroker: broker})
    links = _parts(reader, sections, "links", LINKS[flavour], seen)
    groups = _parts(reader, sections, "groups", {"group": ClientGroup}, seen)
    name = plain.read(sections["name"], str, "name")
    if not NAME.fullmatch(name):
        raise document.wrong(sections["name"], "name", f"{name!r}; {NAME_RULE}")
    try:
        topology = Topology(name, tuple(brokers), tuple(links), tuple(groups), flavour)
    except TopologyInvalid as error:
        raise TopologyInvalid(*(_placed(document, problem, seen) for problem in error.problems)) from error
    return _impaired(plain, sections, topology)


def _impaired(plain: Reader, sections: dict[str, Node], topology: Topology) -> Topology:
    """What a link says of itself gives way to what is said of several."""
    if IMPAIRMENTS not in sections:
        return topology
    for node, path in plain.document.items(sections[IMPAIRMENTS], IMPAIRMENTS):
        try:
            topology = impaired(topology, plain.read(node, str, path))
        except TopologyInvalid as error:
            if str(error).startswith(f"{plain.document.name}:"):
                raise
            raise TopologyInvalid(*(str(plain.document.wrong(node, path, each)) for each in error.problems)) from error
    return topology


def _parts(
    reader: Reader, sections: dict[str, Node], section: str, kinds: Mapping[str, type], seen: Places
) -> list[Any]:
    """The values of one section; a section that is left out has none."""
    if section not in sections:
        return []
    what = {"brokers": "broker", "links": "link", "groups": "client group"}[section]
    found = []
    for node, path in reader.document.items(sections[section], section):
        part = reader.part(node, kinds, path)
        seen[what, part.name] = (node, path)  # of two with one name, the second is the one too many
        if isinstance(part, ClusterLink):
            seen.setdefault(("cluster", part.cluster.name), (node, path))
        found.append(part)
    return found


def _placed(document: Document, problem: str, seen: Places) -> str:
    """A sentence about the whole, at the line of the first part that it names."""
    sentence = problem.partition(": ")[2]
    for what, name in PART.findall(sentence):
        if (what, name) in seen:
            return str(document.wrong(*seen[what, name], sentence))
    return str(document.wrong(document.root, "", sentence))


def _reader(
    document: Document,
    flavour: str,
    kinds: Mapping[str, Mapping[str, type]],
    references: Mapping[type, Callable[[Node, str], object]] | None = None,
) -> Reader:
    """Of a section whose parts have those kinds; it knows of words that stand elsewhere, in manuals, or in both."""

    def told(word: str, path: str, is_spelt_otherwise: bool) -> str:
        if is_spelt_otherwise:
            return instead(flavour, word, path) if plainly(word) in HOPS_OF_LINKS else ""
        return hint(word, path, flavour, kinds)

    return Reader(document, references or {}, told, lambda word: known_to_the_other(word, flavour))


def hint(word: str, path: str, flavour: str, kinds: Mapping[str, Mapping[str, type]]) -> str:
    """What is known of a word that no field has at ``path`` of a section whose parts have those kinds."""
    of_another_kind = bool(spellings(word) & words_at(path, kinds[flavour]))
    return (
        (_elsewhere(word, flavour) if of_another_kind else "")
        or known_elsewhere(word, flavour, path)
        or _other_flavours(word, path, flavour, kinds)
    )


def known_elsewhere(word: str, flavour: str, path: str = ANYWHERE) -> str:
    """What the manuals' word is here, or where a topology of this flavour has it, unless that is in many places."""
    return instead(flavour, word, path) or _elsewhere(word, flavour)


def _elsewhere(word: str, flavour: str) -> str:
    found = places(word, {"broker": BROKERS[flavour], "link": LINKS[flavour]})
    told = found and len(found) <= MOST_PLACES and word not in COMMON
    return f"it belongs {' or '.join(found)}; write it there" if told else ""


def known_to_the_other(word: str, flavour: str) -> str:
    """That topologies of the other flavour have it somewhere."""
    return next(filter(None, (_other_flavours(word, ANYWHERE, flavour, each) for each in (BROKERS, LINKS))), "")


def _other_flavours(word: str, path: str, flavour: str, kinds: Mapping[str, Mapping[str, type]]) -> str:
    """That the brokers or links of the other flavour have it, and ours do not."""
    for other, classes in kinds.items():
        if other != flavour and (spellings(word) & words_at(path, classes)) - words_at(path, kinds[flavour]):
            return (
                f"it belongs to flavour {other}, and this topology's is {flavour}; leave it out, or write flavour:"
                f" {other}"
            )
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TopologyInvalid(f"{path}: {error.strerror}; name a YAML file, or an entry of the catalogue") from error
    except UnicodeDecodeError as error:
        raise TopologyInvalid(f"{path}: byte {error.start + 1} is no UTF-8; save the file as UTF-8") from error
