"""Applies the settings in a user's YAML file to the brokers and links of any topology.

    brokers:
      all:
        persistence: {journal_disk_sync_strategy: periodic}
        jvm: {heap_mb: 1024, options: [-XX:+UseZGC]}
      broker-2: {memory_percent_of_heap: 50}
    links:
      all: {prefetch_size: 100}

Fields have the same names as in topology files. Each error names the file, the line and the field.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaml.nodes import Node

from topologies.catalogue.yaml_nodes import Document, Reader, TextInvalid, read_text
from topologies.catalogue.yaml_topology import BROKERS, LINKS, hint, hint_for_flavour
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.impaired_links import ALL as EVERY_LINK
from topologies.model.impaired_links import links_meant
from topologies.model.link import Link
from topologies.model.spelling import nearest
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

ALL, NONE = "all", "none"
FIXED_OF_BROKERS = ("name", "region", "standby_of")
FIXED_OF_LINKS = ("name", "opened_by", "to", "alternates", "impairment")
"""Fields that define the topology itself; delays are set by ``--link``."""
HOW = "write brokers: or links:, and below it all: or a name, with the settings below that"

Found = dict[str, Any]
"""Brokers or links by name."""


@dataclass(frozen=True)
class Overlay:
    """The content of an overlay file at the start of the run. ``path``: as the user wrote it."""

    path: Path
    text: str

    @property
    def digest(self) -> str:
        """Identifies the content: runs with equal digests had equal settings, regardless of the file's path."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def apply(self, topology: Topology, *, renames_links: bool = False) -> Topology:
        """Return ``topology`` with the settings of the file. Raises `TopologyInvalid`.

        ``renames_links``: whether the file can also change the names of links.
        """
        document = Document(str(self.path), self.text)
        if document.root is None:
            raise document.wrong(None, "", f"the file is empty; {HOW}")
        sections = {name: parts for name, (_, parts) in _sections(document).items()}
        brokers: Found = {broker.name: broker for broker in topology.brokers}
        if "brokers" in sections:
            reader = _reader(document, topology.flavour, BROKERS)
            _apply_section(reader, sections["brokers"], "brokers", brokers, _brokers_meant(topology), FIXED_OF_BROKERS)
        links: Found = {link.name: _with_brokers(link, brokers) for link in topology.links}
        if "links" in sections:
            reader = _reader(document, topology.flavour, LINKS)
            fixed = [name for name in FIXED_OF_LINKS if not (renames_links and name == "name")]
            _apply_section(reader, sections["links"], "links", links, _links_meant(topology), fixed)
        groups = tuple(_with_brokers(group, brokers) for group in topology.groups)
        try:
            return dataclasses.replace(
                topology, brokers=tuple(brokers.values()), links=tuple(links.values()), groups=groups
            )
        except TopologyInvalid as error:
            raise TextInvalid(str(self.path), *(f"{self.path}: {problem}" for problem in error.problems)) from error


def partly_applied(before: Topology, after: Topology, brokers: Collection[str]) -> Topology:
    """Return ``before``, in which only these brokers, and the links that they open, are as in ``after``. Pure.

    ``after``: made from ``before`` by an overlay.
    """
    mixed = {
        old.name: new if old.name in brokers else old for old, new in zip(before.brokers, after.brokers, strict=True)
    }
    links = (new if old.opened_by.name in brokers else old for old, new in zip(before.links, after.links, strict=True))
    return dataclasses.replace(
        before,
        brokers=tuple(mixed.values()),
        links=tuple(_with_brokers(link, mixed) for link in links),
        groups=tuple(_with_brokers(group, mixed) for group in before.groups),
    )


def apply_overlay(topology: Topology, option: str | None) -> tuple[Topology, Overlay | None]:
    """Apply ``--overlay`` to ``topology``. Raises `TopologyInvalid`, each problem prefixed with the option."""
    try:
        overlay = overlay_named(option or "")
        return (overlay.apply(topology), overlay) if overlay else (topology, None)
    except TopologyInvalid as error:
        raise TopologyInvalid(*(f"--overlay {problem}" for problem in error.problems)) from error


def overlay_named(text: str) -> Overlay | None:
    """Return the overlay for the value of ``--overlay``; None for '' and `NONE`. Raises `TopologyInvalid`."""
    if text.strip() in ("", NONE):
        return None
    path = Path(text.strip())
    return Overlay(path, read_text(path, "name a YAML file with settings of brokers"))


def _sections(document: Document) -> dict[str, tuple[Node, Node]]:
    sections = document.mapping(document.root, "")
    for name, (key, _) in sections.items():
        if name not in ("brokers", "links"):
            raise document.wrong(key, "", f"unknown section {name!r}{nearest(name, ['brokers', 'links'])}; {HOW}")
    return sections


def _apply_section(
    reader: Reader,
    node: Node,
    section: str,
    parts: Found,
    meant: Callable[[str], Collection[str]],
    fixed: Collection[str],
) -> None:
    """Update ``parts`` in place. Later entries of the file override earlier entries."""
    for selector, (key, settings) in reader.document.mapping(node, section).items():
        path = f"{section}[{selector}]"
        try:
            names = meant(selector)
        except TopologyInvalid as error:
            raise reader.document.wrong(key, section, str(error)) from error
        for name in names:
            parts[name] = reader.merge_fields(parts[name], settings, path, fixed)


def _brokers_meant(topology: Topology) -> Callable[[str], Collection[str]]:
    groups = {group.name: [broker.name for broker in group.enter_at] for group in topology.groups}
    usual = next(iter(topology.product.brokers.values()))
    of_all = [broker.name for broker in topology.brokers if isinstance(broker, usual)]
    names_by_selector = {ALL: of_all} | groups | {broker.name: [broker.name] for broker in topology.brokers}

    def meant(selector: str) -> Collection[str]:
        if selector not in names_by_selector:
            names = f"(brokers: {', '.join(broker.name for broker in topology.brokers)}; groups: {', '.join(groups)})"
            problem = f"{selector!r} is not a broker of topology {topology.name!r}, a client group or {ALL!r}"
            raise TopologyInvalid(f"{problem}{nearest(selector, list(names_by_selector))} {names}")
        return names_by_selector[selector]

    return meant


def _links_meant(topology: Topology) -> Callable[[str], Collection[str]]:
    return lambda selector: [link.name for link in links_meant(topology, EVERY_LINK if selector == ALL else selector)]


def _with_brokers(part: Any, brokers: Mapping[str, AnyBroker]) -> Any:
    """Replace the brokers that a link or a client group refers to with the changed brokers of the same names."""
    return replace_explicitly(part, **dict(_named(part, brokers)))


def _named(part: Link, brokers: Mapping[str, AnyBroker]) -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, AnyBroker):
            yield field.name, brokers[value.name]
        elif isinstance(value, tuple) and value and all(isinstance(broker, AnyBroker) for broker in value):
            yield field.name, tuple(brokers[broker.name] for broker in value)


def _reader(document: Document, flavour: str, kinds: Mapping[str, Mapping[str, type]]) -> Reader:
    """Return a reader whose errors recognize words from other sections, the other product and the manuals."""

    def advise(word: str, path: str, is_spelt_otherwise: bool) -> str:
        return "" if is_spelt_otherwise else hint(word, path, flavour, kinds, chosen_here=False)

    return Reader(document, hint=advise, last_hint=lambda word: hint_for_flavour(word, flavour, chosen_here=False))
