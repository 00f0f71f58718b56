"""Checks how link impairments are selected and applied, by link or by region, and the error for each mistake."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topologies.golden_files import assert_golden_refusals
from topologies.catalogue.lookup import build
from topologies.catalogue.yaml_topology import parse_topology
from topologies.model.impaired_links import with_impairments
from topologies.model.impairment import Impairment, parse_impairment
from topologies.model.proxied_links import proxied
from topologies.model.spelling import shortened
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

FORTY = Impairment(delay_ms=40)

MISTAKES = {
    "a link misspelt": ("source-and-sink", "source-to-snik:delay=1ms"),
    "a link by a broker's name": ("source-and-sink", "sink:delay=1ms"),
    "a place misspelt": ("two-regions", "east<->wset:delay=1ms"),
    "two places without a link": ("two-regions", "east-1<->west-1:delay=1ms"),
    "no link named": ("source-and-sink", ":delay=1ms"),
    "a setting misspelt": ("source-and-sink", "*:dealy=1ms"),
    "a setting like no other": ("source-and-sink", "*:loss=1%"),
    "a setting without a value": ("source-and-sink", "*:delay"),
    "a setting twice": ("source-and-sink", "*:delay=1ms,delay=2ms"),
    "no unit": ("source-and-sink", "*:delay=40"),
    "the unit of another": ("source-and-sink", "*:bandwidth=10ms"),
    "a negative delay": ("source-and-sink", "*:delay=-1ms"),
    "half a millisecond": ("source-and-sink", "*:delay=0.5ms"),
    "too long a delay": ("source-and-sink", "*:delay=61s"),
    "more jitter than delay": ("source-and-sink", "*:delay=5ms,jitter=6ms"),
    "no links at all": ("single", "*:delay=1ms"),
}


def impairments(topology: Topology) -> dict[str, Impairment | None]:
    return {link.name: link.impairment for link in topology.links}


def test_a_link_is_meant_by_its_name() -> None:
    topology = with_impairments(build("mesh"), "broker-2-to-broker-3:delay=40ms")
    assert impairments(topology) == {
        "broker-1-to-broker-2": None,
        "broker-1-to-broker-3": None,
        "broker-2-to-broker-3": FORTY,
    }


def test_all_links_between_two_regions_are_meant_by_the_regions_names() -> None:
    topology = with_impairments(build("cross-region-mesh"), "region-2<->region-1:delay=40ms")
    assert {name for name, impairment in impairments(topology).items() if impairment == FORTY} == {
        "broker-1-to-broker-4", "broker-4-to-broker-3", "broker-4-to-broker-2",
    }  # fmt: skip


def test_all_links_between_any_two_regions_are_meant_by_the_word_regions() -> None:
    assert impairments(with_impairments(build("cross-region-mesh"), "regions:delay=40ms")) == impairments(
        with_impairments(build("cross-region-mesh"), "region-2<->region-1:delay=40ms")
    )
    with pytest.raises(TopologyInvalid, match="no link of topology 'mesh-of-3' joins two regions"):
        with_impairments(build("mesh"), "regions:delay=40ms")


def test_all_links_within_a_region_are_meant_by_its_name_twice() -> None:
    topology = with_impairments(build("two-regions"), "east<->east:delay=40ms")
    assert {name for name, impairment in impairments(topology).items() if impairment} == {
        "east-1-to-east-2", "east-1-to-east-3", "east-2-to-east-3",
    }  # fmt: skip


def test_both_links_between_two_brokers_are_meant_whoever_opens_them() -> None:
    assert set(impairments(with_impairments(build("two-one-way"), "broker-2<->broker-1:delay=40ms")).values()) == {
        FORTY
    }


def test_of_two_that_mean_a_link_the_later_one_holds() -> None:
    topology = with_impairments(build("two-regions"), "*:delay=1ms; east<->west:delay=40ms")
    assert impairments(topology)["west-3-to-east-3"] == FORTY
    assert impairments(topology)["east-1-to-east-2"] == Impairment(delay_ms=1)


def test_a_link_can_be_measured_without_being_changed() -> None:
    assert set(impairments(with_impairments(build("mesh"), "*")).values()) == {Impairment()}


def test_nothing_asked_for_changes_nothing() -> None:
    assert with_impairments(build("mesh"), None) == with_impairments(build("mesh"), "") == build("mesh")


def test_as_soon_as_one_link_goes_through_a_proxy_all_do() -> None:
    assert proxied(build("mesh").links) == ()
    topology = with_impairments(build("mesh"), "broker-1-to-broker-2:delay=1ms")
    assert proxied(topology.links) == topology.links


@pytest.mark.parametrize("entry", ["cluster", "mesh(discovery='multicast')", "senders", "two-regions"])
def test_any_link_goes_through_a_proxy_whatever_its_kind(entry: str) -> None:
    topology = with_impairments(build(entry), "*:delay=40ms")
    assert set(impairments(topology).values()) == {FORTY}
    assert proxied(topology.links) == topology.links


def test_a_link_to_a_pair_has_a_way_to_each_of_the_two() -> None:
    topology = build("mesh-of-pairs(pairs=2)")
    assert [broker.name for broker in topology.links[0].called(topology.brokers)] == ["broker-2", "broker-2-standby"]


def test_a_file_of_ones_own_says_it_link_by_link() -> None:
    text = "name: t\nbrokers: [a, b]\nlinks:\n  - {opened_by: a, to: b, impairment: {delay_ms: 40, jitter_ms: 5}}\n"
    assert impairments(parse_topology(text, "t.yaml")) == {"a-to-b": Impairment(40, 5)}


def test_a_file_of_ones_own_says_it_of_several_links_as_the_command_line_does() -> None:
    text = (
        "name: t\nbrokers: [{name: a, region: east}, {name: b, region: west}]\n"
        "links:\n  - {opened_by: a, to: b, impairment: {delay_ms: 1}}\nimpairments:\n  - east<->west:delay=40ms\n"
    )
    assert impairments(parse_topology(text, "t.yaml")) == {"a-to-b": FORTY}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("delay=0.2s", Impairment(delay_ms=200)),
        ("delay=40ms, jitter=5ms", Impairment(40, 5)),
        ("bandwidth=10MB/s", Impairment(bandwidth_kb_per_s=10_000)),
        ("bandwidth=80Mbit/s", Impairment(bandwidth_kb_per_s=10_000)),
        ("bandwidth=1.5 MB/s", Impairment(bandwidth_kb_per_s=1500)),
        ("", Impairment()),
    ],
)
def test_amounts_have_the_units_that_people_write(text: str, meant: Impairment) -> None:
    assert parse_impairment(text) == meant


@given(st.integers(0, 2_000).flatmap(lambda ms: st.tuples(st.just(ms), st.integers(0, ms))), st.integers(1, 10**8))
def test_what_an_impairment_says_of_itself_is_read_as_the_same(times: tuple[int, int], bandwidth: int) -> None:
    impairment = Impairment(*times, bandwidth)
    assert parse_impairment(str(impairment)) == impairment


def test_every_mistake_names_what_was_written_the_rule_and_the_next_step() -> None:
    mistakes = {
        f"{title}: --link {text!r} on {topology}": partial(with_impairments, build(topology), text)
        for title, (topology, text) in MISTAKES.items()
    }
    assert_golden_refusals("link-errors.txt", mistakes)


@pytest.mark.parametrize("text", ["a b " * 3_000, "*:" + "delay " * 3_000, "\U0010ffff " * 3_000])
def test_a_text_of_thousands_of_short_words_is_shown_by_its_ends_and_the_rule(text: str) -> None:
    with pytest.raises(TopologyInvalid) as refused:
        with_impairments(build("mesh"), text)
    sentence = shortened(f"--link {text!r}: {refused.value}")
    assert len(sentence) < 3_100
    assert sentence.startswith(f"--link {text[:20]!r}"[:-1])
    assert sentence.endswith(str(refused.value)[-80:])
