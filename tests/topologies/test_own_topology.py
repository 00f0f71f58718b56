"""Checks that topology files are read correctly, and that each error names its line and field."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topologies.golden_files import assert_golden_refusals
from tests.topologies.samples import every_feature, topologies
from topologies.artemis.router import Router
from topologies.catalogue.lookup import build
from topologies.catalogue.yaml_topology import BROKERS, LINKS, SECTIONS, hint, parse_topology
from topologies.catalogue.yaml_words import ANYWHERE, HOPS_OF_LINKS, INSTEAD, fields_within, places, spellings, words_at
from topologies.classic.broker import Broker
from topologies.classic.product import CLASSIC
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.spelling import plainly
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import ENTRIES, PRODUCTS

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "topologies" / "examples" / "branch-offices.yaml"
TWO = "name: t\nbrokers: [a, b]\n"
PAIRS = ("transport_options", "properties")  # fields written as FIELD: VALUE
ARTEMIS = "name: t\nflavour: artemis\n"
LINK = TWO + "links:\n  - opened_by: a\n    to: b\n"
ARTEMIS_LINK = LINK.replace(TWO, ARTEMIS + "brokers: [a, b]\n")
ARTEMIS_CLUSTER = ARTEMIS_LINK + "    kind: clusterConnection\n"

MISTAKES = {
    "nothing": "",
    "a list": "- a\n- b\n",
    "no YAML": "name: [a\nbrokers: b\n",
    "a tab": "name: t\nbrokers:\n\t- a\n",
    "no name": "brokers: [a]\n",
    "no brokers": "name: t\n",
    "a section misspelt": TWO + "link: []\n",
    "a flavour misspelt": TWO + "flavour: clasic\n",
    "a section that is not a list": "name: t\nbrokers:\n  a: {}\n",
    "a broker that is a number": "name: t\nbrokers: [1]\n",
    "a broker that is the word for false": "name: t\nbrokers: [no, se]\n",
    "a broker that is nothing": "name: t\nbrokers: [~]\n",
    "a text that is nearly a day": "name: t\nbrokers: [{name: a, region: 2024-13-45}]\n",
    "a text with a tag": "name: t\nbrokers: [{name: a, region: !foo x}]\n",
    "a number that a tag makes of a text": "name: t\nbrokers: [{name: a, memory_percent_of_heap: !!int x}]\n",
    "a number that a tag makes of nothing": "name: t\nbrokers: [{name: a, memory_percent_of_heap: !!int ''}]\n",
    "true or false that a tag makes of a text": LINK + "    duplex: !!bool x\n",
    "a day that a tag makes of a text": LINK + "    name: !!timestamp x\n",
    "not a number": ARTEMIS_CLUSTER + "    cluster: {retry_interval_multiplier: .nan}\n",
    "a number without end": ARTEMIS_CLUSTER + "    cluster: {retry_interval_multiplier: .inf}\n",
    "a broker without a name": "name: t\nbrokers:\n  - region: north\n",
    "a broker's name with a space": "name: t\nbrokers: [a b]\n",
    "a field misspelt": "name: t\nbrokers:\n  - name: a\n    regoin: north\n",
    "a field as the manual spells it": LINK + "    conduitSubscriptions: false\n",
    "networkTTL": LINK + "    networkTTL: 5\n",
    "network_ttl with another TTL": LINK + "    network_ttl: 5\n    message_ttl: 1\n",
    "networkTTL of a broker": "name: t\nbrokers:\n  - {name: a, networkTTL: 5}\n",
    "networkTTL, misspelt": LINK + "    netwrokTTL: 5\n",
    "networkTTL of a mirror": ARTEMIS_LINK + "    mirror: {}\n    networkTTL: 5\n",
    "messageTTL of a cluster": ARTEMIS_LINK + "    kind: clusterConnection\n    messageTTL: 5\n",
    "hops of a cluster in a bridge": LINK + "    max-hops: 2\n",
    "hops of a cluster in its link": ARTEMIS_LINK + "    kind: clusterConnection\n    max-hops: 2\n",
    "a flag of a mirror in its link": ARTEMIS_LINK + "    mirror: {}\n    sync: true\n",
    "a mirror in a cluster's link": ARTEMIS_LINK + "    kind: clusterConnection\n    mirror: {}\n",
    "a delay of redistribution in a cluster": ARTEMIS_LINK
    + "    kind: clusterConnection\n    cluster: {redistribution-delay: 0}\n",
    "a broker's field in a link": LINK + "    advisorySupport: false\n",
    "a filter's field in a link": LINK + "    replayWhenNoConsumers: true\n",
    "credentials in a link": LINK + "    userName: admin\n",
    "an address in a link": ARTEMIS_LINK + "    uri: tcp://b:5672\n",
    "excluded destinations of Artemis": ARTEMIS_LINK + "    mirror: {}\n    excludedDestinations: [queue://x]\n",
    "the beginning of a field": LINK + "    conduit: false\n",
    "a router's field in a broker": ARTEMIS + "brokers: [{name: a, waypoints: [q]}]\n",
    "a policy as in the manual": "name: t\nbrokers: [{name: a, policies: [{queue: '>'}]}]\n",
    "a kind of store that has no kinds": "name: t\nbrokers: [{name: a, persistence: {kind: NIO}}]\n",
    "a text for an acceptor": ARTEMIS + "brokers: [{name: a, acceptors: [core]}]\n",
    "a text for a sender": ARTEMIS_LINK + "    senders: ['orders.#']\n",
    "a text for a discovery": LINK + "    discovery: multicast\n",
    "true for a mirror": ARTEMIS_LINK + "    mirror: true\n",
    "a link of a kind that is nearly one": ARTEMIS_LINK + "    kind: cluster\n",
    "a host of a broker": "name: t\nbrokers: [{name: a, host: h, port: 1}]\n",
    "an end by another word": TWO + "links: [{from: a, to: b}]\n",
    "a link both ways by another word": LINK + "    bidirectional: true\n",
    "failover options with their question mark": "name: t\nbrokers: [a]\n"
    "groups: [{name: g, enter_at: [a], failover: '?randomize=false'}]\n",
    "an end by another word, of clients": TWO + "groups: [{name: g, from: [a]}]\n",
    "an address of a connector": "name: t\nbrokers: [{name: a, connectors: [{uri: 'tcp://0.0.0.0:61616'}]}]\n",
    "an address of an acceptor": ARTEMIS + "brokers: [{name: a, acceptors: [{uri: 'tcp://0.0.0.0:61616'}]}]\n",
    "a port of a connector": "name: t\nbrokers: [{name: a, connectors: [{port: 61616}]}]\n",
    "a port of a discovery whose kind is forgotten": LINK + "    discovery: {port: 7000}\n",
    "an address of a discovery whose kind is forgotten": LINK + "    discovery: {address: 239.1.1.1}\n",
    "a field of the other kind of discovery": LINK + "    discovery: {kind: multicast, minConnectTime: 5}\n",
    "queues of a broker": ARTEMIS + "brokers: [{name: a, queues: [q]}]\n",
    "queues of an address": ARTEMIS + "brokers: [{name: a, addresses: [{name: o, queues: [q]}]}]\n",
    "a ttl of a link": LINK + "    ttl: 3\n",
    "a field that is like no other": LINK + "    discovery: {colour: red}\n",
    "a field of the other kind of brokers": "name: t\nbrokers:\n  - name: a\n    acceptors: []\n",
    "a field of the other kind of links, as its manual spells it": ARTEMIS_LINK + "    conduitSubscriptions: false\n",
    "a field of the other kind of links, without its unit": LINK + "    retry-interval: 5\n",
    "a field of the other kind of stores": ARTEMIS
    + "brokers:\n  - name: a\n    persistence: {checkpoint_interval_ms: 5}\n",
    "a field of the other kind of brokers, too deep": "name: t\nbrokers:\n  - name: a\n"
    "    persistence: {wildcardRouting: true}\n",
    "a misspelt field that the other kind has too": ARTEMIS_LINK + "    senders: [{address: orders}]\n",
    "a link of the other kind": LINK + "    kind: amqpConnection\n",
    "a link of the other kind, as its manual spells it": ARTEMIS_LINK + "    kind: network-connector\n",
    "a broker of the other kind": "name: t\nbrokers:\n  - {name: a, kind: router}\n",
    "a number out of range": LINK + "    message_ttl: 0\n",
    "a text for a number": LINK + "    message_ttl: many\n",
    "a size with its unit": "name: t\nbrokers: [{name: a, policies: [{memory_limit_bytes: 32mb}]}]\n",
    "a size that is not a number": "name: t\nbrokers: [{name: a, memory_limit_bytes: much}]\n",
    "a heap with its unit": "name: t\nbrokers: [{name: a, jvm: {heap_mb: 1g}}]\n",
    "a time with its unit": "name: t\nbrokers: [{name: a, persistence: {cleanup_interval_ms: 30s}}]\n",
    "a number for a text": "name: t\nbrokers:\n  - name: a\n    region: 5\n",
    "yes for a text": "name: t\nbrokers:\n  - name: a\n    region: yes\n",
    "a number for true or false": LINK + "    duplex: 1\n",
    "nothing for a number": LINK + "    message_ttl:\n",
    "a mapping for a text": LINK + "    name: {a: b}\n",
    "a destination without a kind": LINK + "    excluded_destinations: [orders]\n",
    "a text for a list": LINK + "    excluded_destinations: queue://orders\n",
    "a discovery of an unknown kind": LINK + "    discovery: {kind: rendezvous}\n",
    "a link of an unknown kind": LINK + "    kind: federation\n",
    "hops on a connection that counts none": ARTEMIS_LINK + "    senders: [{address_match: o}]\n    message_ttl: 5\n",
    "duplex on a connection that leads one way": ARTEMIS_LINK + "    senders: [{address_match: o}]\n    duplex: true\n",
    "not duplex on a connection that leads both ways": ARTEMIS_LINK
    + "    senders: [{address_match: o}]\n    receivers: [{address_match: p}]\n    duplex: false\n",
    "hops in addition to the cluster's": ARTEMIS_LINK
    + "    kind: clusterConnection\n    cluster: {max_hops: 2}\n    consumer_ttl: 3\n",
    "a cluster's link that is not duplex": ARTEMIS_LINK + "    kind: clusterConnection\n    duplex: false\n",
    "an unknown broker at a link": TWO + "links:\n  - opened_by: a\n    to: c\n",
    "a broker misspelt in a group": "name: t\nbrokers: [depot]\ngroups:\n  - {name: g, enter_at: [deptos]}\n",
    "a link without an end": TWO + "links:\n  - opened_by: a\n",
    "an impairment misspelt": LINK + "    impairment: {delay: 40}\n",
    "more jitter than delay": LINK + "    impairment: {delay_ms: 4, jitter_ms: 5}\n",
    "an impairment of places that are not there": LINK + "impairments:\n  - a<->b:delay=1ms\n  - a<->x:delay=1ms\n",
    "an impairment of nothing": LINK + "impairments: ['*:dealy=1ms']\n",
    "an impairment that is not a text": LINK + "impairments: [{a: b}]\n",
    "a link to itself": TWO + "links:\n  - {opened_by: a, to: b}\n  - {opened_by: b, to: b}\n",
    "two brokers of one name": "name: t\nbrokers:\n  - a\n  - a\n",
    "a field twice": "name: t\nbrokers:\n  - name: a\n    region: x\n    region: y\n",
    "a merge of nothing": "name: t\nbrokers:\n  - <<: 5\n    name: a\n",
    "a field named by a list": "name: t\nbrokers:\n  - [x]: y\n",
    "a standby with another store": "name: t\nbrokers:\n  - a\n  - {name: s, standby_of: a, persistence: null}\n",
    "no way from producers to consumers": TWO
    + "groups:\n  - {name: producers, enter_at: [a]}\n  - {name: consumers, enter_at: [b]}\n",
    "a cluster of too few hops": ARTEMIS
    + "brokers: [a, b, c, d]\nlinks:\n"
    + "".join(
        f"  - {{kind: clusterConnection, opened_by: {opener}, to: {end}}}\n" for opener, end in ("ab", "bc", "cd")
    )
    + "groups: [{name: producers, enter_at: [a]}, {name: consumers, enter_at: [d]}]\n",
    "a rule about two fields": "name: t\nbrokers:\n  - name: a\n    connectors:\n"
    "      - {protocol: openwire, rebalance_cluster_clients: true}\n",
    "an invalid name": "name: a/b\nbrokers: [a]\n",
}


def test_each_mistake_draws_its_own_sentence_with_line_and_field() -> None:
    mistakes = {title: partial(parse_topology, text, "my.yaml") for title, text in MISTAKES.items()}
    assert_golden_refusals("own-topology-errors.txt", mistakes)


def test_a_whole_number_beyond_every_fraction_is_a_sentence_too() -> None:
    text = ARTEMIS_CLUSTER + f"    cluster: {{retry_interval_multiplier: {10**400}}}\n"
    with pytest.raises(TopologyInvalid, match=r"^my\.yaml:8:42: .*must be a finite number$"):
        parse_topology(text, "my.yaml")


def test_the_example_is_a_topology_with_what_it_says() -> None:
    topology = build(str(EXAMPLE))
    assert topology.name == "branch-offices"
    assert topology.warnings == ()
    assert [link.message_ttl for link in topology.links] == [2, 2, 2]
    assert {path.begin for path in topology.paths_between(PRODUCERS, CONSUMERS)} == {"branch-1", "branch-2", "branch-3"}
    assert topology.reaches("branch-1", "branch-2", "queue://private.letters")
    assert not topology.reaches("branch-1", "branch-3", "queue://private.letters")


def test_examples_of_the_page_are_connected_topologies() -> None:
    """Their producers reach their consumers."""
    page = (REPOSITORY / "docs" / "topologies.md").read_text(encoding="utf-8")
    texts = [block.partition("```")[0] for block in page.split("```yaml\n")[1:]]
    shown = [parse_topology(text, "page.yaml") for text in texts if text.startswith("name: ")]  # others are overlays
    assert [topology.flavour for topology in shown] == ["classic", "artemis"]
    for topology in shown:
        assert topology.warnings == ()
        (path,) = topology.paths_between(PRODUCERS, CONSUMERS)
        assert topology.reaches(path.begin, path.end, "queue://orders")


def test_the_example_of_clients_that_brokers_spread_has_connectors_that_tell_them() -> None:
    topology = build(str(EXAMPLE.with_name("rebalanced-mesh.yaml")))
    assert topology.warnings == ()
    assert {group.enter_at[0].name for group in topology.groups} == {"broker-1"}
    telling = [connector for broker in topology.brokers for connector in broker.connectors]  # type: ignore[attr-defined]
    assert [(connector.protocol, connector.rebalance_cluster_clients) for connector in telling] == [
        ("openwire", True)
    ] * 3


def test_what_is_left_out_has_the_models_default() -> None:
    assert parse_topology("name: t\nbrokers: [a]\n", "my.yaml") == Topology("t", (Broker("a"),), (), (), CLASSIC)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopologyInvalid, match=r"none\.yaml: No such file or directory; name a YAML file"):
        build(str(tmp_path / "none.yaml"))
    (tmp_path / "picture.yaml").write_bytes(b"name: \xff\xd8")
    with pytest.raises(TopologyInvalid, match=r"picture\.yaml: byte 7 is not valid UTF-8"):
        build(str(tmp_path / "picture.yaml"))


def written(value: Any, *, named: bool = False) -> Any:
    """Convert a value of the model to YAML with all fields, even at their defaults. ``named``: brokers by name only."""
    if isinstance(value, AnyBroker) and named:
        return value.name
    if dataclasses.is_dataclass(value):
        fields = {field.name: written(getattr(value, field.name), named=True) for field in dataclasses.fields(value)}
        fields |= {name: dict(getattr(value, name)) for name in PAIRS if name in fields}
        kind = "router" if isinstance(value, Router) else getattr(value, "kind", "")
        return fields | {"kind": kind} if kind and "kind" not in fields else fields
    if isinstance(value, tuple):
        return [written(item, named=named) for item in value]
    return value


def as_yaml(topology: Topology) -> str:
    sections = {name: getattr(topology, name) for name in SECTIONS}
    listed = {name: [written(part) for part in value] for name, value in sections.items() if isinstance(value, tuple)}
    return yaml.safe_dump(sections | listed, sort_keys=False, allow_unicode=True)


@settings(max_examples=60, deadline=None)
@given(topologies())
def test_any_topology_can_be_written_down(topology: Topology) -> None:
    assert parse_topology(as_yaml(topology), "my.yaml") == topology


@pytest.mark.parametrize("entry", list(ENTRIES))
def test_every_entry_of_the_catalogue_can_be_written_down(entry: str) -> None:
    assert parse_topology(as_yaml(build(entry)), "my.yaml") == build(entry)


def test_what_no_entry_uses_can_be_written_down() -> None:
    assert parse_topology(as_yaml(every_feature()), "my.yaml") == every_feature()


def lines_of(text: str) -> Iterable[str]:
    return text.splitlines(keepends=True)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_is_a_topology_or_a_sentence_with_its_line(data: st.DataObject) -> None:
    lines = list(lines_of(EXAMPLE.read_text(encoding="utf-8")))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = data.draw(st.sampled_from([[], [lines[at], lines[at]], [lines[at][1:]], ["  - <<: *x\n"]]))
    try:
        name_or_refusal = parse_topology("".join(lines), "my.yaml").name
    except TopologyInvalid as error:
        name_or_refusal = str(error)
        assert name_or_refusal.startswith("my.yaml:")
    assert name_or_refusal


@given(st.text(max_size=80))
def test_any_text_is_a_topology_or_a_sentence(text: str) -> None:
    with pytest.raises(TopologyInvalid, match=r"^my\.yaml"):
        parse_topology(text, "my.yaml")


def field_names(kinds: dict[str, type]) -> set[str]:
    return {field.name for kind in kinds.values() for field in dataclasses.fields(kind)}


@pytest.mark.parametrize(("flavour", "kinds"), [*BROKERS.items(), *LINKS.items()])
def test_every_field_that_only_one_flavour_has_is_told_to_the_other_in_any_spelling(
    flavour: str, kinds: dict[str, type]
) -> None:
    kinds_by_flavour = BROKERS if kinds in BROKERS.values() else LINKS
    foreign_kinds = {
        f"{name} {kind}": part
        for name, parts in kinds_by_flavour.items()
        for kind, part in parts.items()
        if name != flavour
    }
    foreign_fields = field_names(foreign_kinds) - field_names(kinds)
    assert foreign_fields
    for field in foreign_fields:
        first_word, *later_words = field.split("_")
        for spelt in (field, field.replace("_", "-"), first_word + "".join(word.title() for word in later_words)):
            assert (spellings(spelt) & words_at("section[0]", foreign_kinds)) - words_at("section[0]", kinds), spelt


@pytest.mark.parametrize("flavour", [name for name, product in PRODUCTS.items() if product.links])
def test_what_is_told_of_a_word_of_the_manuals_names_only_what_can_be_written(flavour: str) -> None:
    """Each word with an underscore after ``write`` is a field."""
    fields = {
        name
        for kinds in ({"broker": BROKERS[flavour], "link": LINKS[flavour]},)
        for words in INSTEAD[flavour].values()
        for advice in words.values()
        for name in re.findall(r"[a-z]+(?:_[a-z]+)+", advice)
        if not places(name, kinds)
    }
    assert fields == set()


def all_places(flavour: str) -> Iterator[tuple[str, dict[str, dict[str, type]], list[type]]]:
    """Return (path, kinds by section, types allowed there) for the entries of each section and their parts."""
    for section, kinds in (("brokers", BROKERS), ("links", LINKS)):
        waiting = [(f"{section}[0]", list(kinds[flavour].values()))]
        while waiting:
            path, parts = waiting.pop()
            yield path, kinds, parts  # type: ignore[misc]
            for name in sorted({field.name for part in parts for field in dataclasses.fields(part)}):
                if inner_parts := [inner for part in parts for inner in fields_within(part).get(name, ())]:
                    waiting.append((f"{path}.{name}[0]", inner_parts))


@pytest.mark.parametrize("flavour", list(INSTEAD))
def test_no_word_of_the_manuals_hides_a_field(flavour: str) -> None:
    """The error names the kind if a field belongs to another kind. Hops are left out: they depend on other fields."""
    hidden = {
        (path, field.name)
        for path, kinds, parts in all_places(flavour)
        for part in parts
        for field in dataclasses.fields(part)
        if plainly(field.name) not in HOPS_OF_LINKS
        if hint(field.name, path, flavour, kinds)
        in [advice for advice_by_word in INSTEAD[flavour].values() for advice in advice_by_word.values()]
    }
    assert hidden == set()


@pytest.mark.parametrize("flavour", [name for name, product in PRODUCTS.items() if product.links])
def test_what_is_told_of_an_entry_is_not_told_within_it_or_of_another_section(flavour: str) -> None:
    everywhere = set(INSTEAD[flavour][ANYWHERE].values())
    for path, kinds, _ in all_places(flavour):
        for section in ("brokers", "links"):
            advice_by_word = {
                word: advice for word, advice in INSTEAD[flavour][section].items() if advice not in everywhere
            }
            hinted_words = {word for word in advice_by_word if hint(word, path, flavour, kinds) == advice_by_word[word]}
            assert hinted_words == (set(advice_by_word) if path == f"{section}[0]" else set()), path
