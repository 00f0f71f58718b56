"""Does a text name the topology it should, and is every mistake told apart?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topologies.golden_files import assert_golden
from topologies.catalogue import ENTRIES, build, entries
from topologies.model import CONSUMERS, PRODUCERS, TopologyInvalid
from topologies.parse import Call, parse_call

MISTAKES = (
    "mehs",
    "ring",
    "mesh(broker=3)",
    "mesh(colour='red')",
    "single(brokers=2)",
    "mesh(brokers=1)",
    "mesh(brokers=-3)",
    "mesh(brokers=51)",
    "mesh(brokers=2.0)",
    "mesh(brokers=True)",
    "mesh(brokers='3')",
    "mesh(message_ttl=0)",
    "source-and-sink(duplex=1)",
    "",
    "mesh(",
    "mesh)",
    "mesh(3)",
    "mesh(brokers=)",
    "mesh(brokers=3, brokers=4)",
    "mesh(**{'brokers': 3})",
    "mesh(brokers=__import__('os').getpid())",
    "mesh(brokers=3) or single",
    "mesh(brokers=3)(brokers=4)",
    "mesh; single",
)


def test_each_mistake_draws_its_own_sentence() -> None:
    said = []
    for text in MISTAKES:
        with pytest.raises(TopologyInvalid) as caught:
            build(text)
        said.append(f"{text}\n    {caught.value}\n")
    assert_golden("catalogue-errors.txt", "".join(said))


@given(st.text(max_size=60) | st.builds("{}({})".format, st.sampled_from(list(ENTRIES)), st.text(max_size=30)))
def test_any_text_is_a_topology_or_a_sentence(text: str) -> None:
    try:
        said = build(text).name
    except TopologyInvalid as error:
        said = str(error)
    assert said


@given(st.dictionaries(st.sampled_from(["a", "brokers"]), st.integers() | st.booleans() | st.text(max_size=20)))
def test_what_is_written_as_keywords_is_read_as_such(arguments: dict[str, object]) -> None:
    text = f"mesh({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    assert parse_call(text) == Call("mesh", arguments)


def test_a_very_long_text_is_refused_without_repeating_it() -> None:
    with pytest.raises(TopologyInvalid) as caught:
        build("mesh(brokers=" + "(" * 100_000)
    assert len(str(caught.value)) < 300


def test_every_entry_is_built_by_its_bare_name_and_by_its_usage() -> None:
    listed = entries()
    assert [entry.name for entry in listed] == ["single", "source-and-sink", "mesh"]
    for entry in listed:
        assert build(entry.name) == build(entry.usage)
        assert entry.summary.endswith(".")
        assert "broker" in entry.picture or "source" in entry.picture


def test_every_entry_has_producers_and_consumers_and_nothing_to_warn_of() -> None:
    for name in ENTRIES:
        topology = build(name)
        assert topology.warnings == ()
        assert topology.paths_between(PRODUCERS, CONSUMERS)


def test_a_mesh_joins_each_pair_once_from_its_earlier_end() -> None:
    mesh = build("mesh(brokers=4)")
    joined = [(link.opened_by.name, link.to.name) for link in mesh.links]
    assert joined == [(f"broker-{a}", f"broker-{b}") for a in range(1, 5) for b in range(a + 1, 5)]
    assert all(link.duplex for link in mesh.links)


@given(st.integers(2, 12))
def test_in_a_mesh_everybody_reaches_everybody_in_one_hop(brokers: int) -> None:
    paths = build(f"mesh(brokers={brokers})").paths_between(PRODUCERS, CONSUMERS)
    assert len(paths) == brokers**2
    assert {path.hops for path in paths} == {0, 1}


def test_a_mesh_forwards_once_only_lest_topics_duplicate() -> None:
    assert {(link.message_ttl, link.consumer_ttl) for link in build("mesh").links} == {(1, 1)}


def test_source_and_sink_is_one_way_unless_asked_otherwise() -> None:
    assert set(build("source-and-sink").paths()) == {("source", "source"), ("sink", "sink"), ("source", "sink")}
    assert ("sink", "source") in build("source-and-sink(duplex=True)").paths()


def test_an_underscore_does_for_the_dash() -> None:
    assert build("source_and_sink") == build("source-and-sink")
