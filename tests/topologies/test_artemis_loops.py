"""Checks that Artemis links on which messages circulate forever are reported, and no others."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.topologies.artemis_walks import in_filter, in_pattern
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, Mirror
from topologies.artemis.loops import MOST_TOLD, UnboundFlow, _meet, flows_of, loop_problems
from topologies.artemis.product import ARTEMIS
from topologies.model.topology import Topology

BROKERS = tuple(ArtemisBroker(name) for name in "abcd")
ADDRESSES = ("orders", "orders.eu", "orders.eu.de", "prices", "prices.eu", "x")

Step = tuple[str, str, bool]
"""(from, to, whether a mirror does it)"""

patterns = st.sampled_from(["#", "*", "orders.#", "orders.*", "prices", "prices.#"]).map(AddressMatch)
some = st.just(()) | st.tuples(patterns)
mirrors = st.none() | st.sampled_from(["", "orders", "!orders.", "prices,!prices.eu"]).map(
    lambda text: Mirror(address_filter=text)
)


@st.composite
def connections(draw: st.DrawFn) -> list[BrokerConnection]:
    """Draw up to five connections, some of them with an alternate."""
    links = []
    for number in range(draw(st.integers(1, 5))):
        here, there, *alternates = draw(st.permutations(BROKERS))
        senders, receivers, mirror = draw(some), draw(some), draw(mirrors)
        links.append(
            BrokerConnection(
                here, there, f"link-{number}", mirror=mirror, receivers=receivers,
                senders=senders if senders or receivers or mirror else (AddressMatch("x"),),
                alternates=tuple(alternates[: draw(st.integers(0, 1))]),
            )
        )  # fmt: skip
    return links


def steps(links: Sequence[BrokerConnection], address: str) -> Iterator[Step]:
    for link in links:
        for end in (link.to, *link.alternates):
            if any(in_pattern(match.address_match, address) for match in link.senders):
                yield link.opened_by.name, end.name, False
            if any(in_pattern(match.address_match, address) for match in link.receivers):
                yield end.name, link.opened_by.name, False
            if link.mirror and in_filter(link.mirror.address_filter, address):
                yield link.opened_by.name, end.name, True


def leads_round(taken: Sequence[Step]) -> bool:
    """Return whether a message comes back to an address after a sender or a receiver took it from there."""
    ways = {(begin, end) for begin, end, _ in taken}
    for middle in BROKERS:
        ways |= {(b, e) for b, m in ways for begin, e in ways if m == begin == middle.name}
    return any((end, begin) in ways for begin, end, mirrors in taken if not mirrors)


@settings(max_examples=300, deadline=None)
@given(connections())
def test_what_some_address_goes_round_by_for_ever_is_told(links: list[BrokerConnection]) -> None:
    problems = list(loop_problems(links))
    is_loop = any(leads_round(list(steps(links, address))) for address in ADDRESSES)
    event(f"round: {is_loop}, told: {bool(problems)}")
    if is_loop:
        assert problems


@settings(max_examples=100, deadline=None)
@given(connections())
def test_where_no_address_matters_and_nothing_leads_round_nothing_is_told(links: list[BrokerConnection]) -> None:
    everywhere = [step for address in ADDRESSES for step in steps(links, address)]
    if not leads_round(everywhere):
        assert list(loop_problems(links)) == []


def every_way_round(path: tuple[UnboundFlow, ...], flows: Sequence[UnboundFlow]) -> Iterator[tuple[UnboundFlow, ...]]:
    """Return all loops, one by one: each visits a broker once, and consecutive flows have an address in common."""
    for flow in flows:
        goes_on = flow.begin == path[-1].end and all(_meet(flow.kind, before.kind) for before in path)
        if goes_on and flow.end == path[0].begin:
            yield (*path, flow)
        elif goes_on and flow.end not in {passed.end for passed in path}:
            yield from every_way_round((*path, flow), flows)


@settings(max_examples=200, deadline=None)
@given(connections())
def test_a_direction_is_told_of_exactly_if_it_is_on_one_of_all_ways_round(links: list[BrokerConnection]) -> None:
    flows = [flow for link in links for flow in flows_of(link)]
    ways = [loop for flow in flows if not flow.mirrors for loop in every_way_round((flow,), flows)]
    problems = list(loop_problems(links))
    event(f"ways: {min(len(ways), 10)}, told: {len(problems)}")
    assert bool(ways) is bool(problems)
    if len(problems) < MOST_TOLD:
        looping_links = {flow.link for loop in ways for flow in loop if not flow.mirrors}
        assert looping_links <= {link.name for link in links if any(repr(link.name) in problem for problem in problems)}


def full_mesh(match: str, back: str) -> list[BrokerConnection]:
    """Connect forty brokers: the earlier pushes ``match`` to the later, which pushes ``back`` to the earlier."""
    brokers = tuple(ArtemisBroker(f"b{number}") for number in range(40))
    pairs = list(combinations(brokers, 2))
    there = [BrokerConnection(opener, end, senders=(AddressMatch(match),)) for opener, end in pairs]
    return there + [BrokerConnection(end, opener, senders=(AddressMatch(back),)) for opener, end in pairs]


@pytest.mark.parametrize(("match", "back", "problems"), [("#", "#", MOST_TOLD), ("up.#", "down.#", 0)])
def test_a_full_mesh_of_forty_is_soon_searched(match: str, back: str, problems: int) -> None:
    """It has more paths than 40 factorial: a search of each path would never end."""
    assert len(list(loop_problems(full_mesh(match, back)))) == problems


def test_a_full_mesh_of_forty_mirrors_is_a_topology_with_all_its_paths() -> None:
    brokers = tuple(ArtemisBroker(f"b{number}") for number in range(40))
    links = tuple(
        BrokerConnection(opener, end, mirror=Mirror()) for opener in brokers for end in brokers if opener != end
    )
    assert len(Topology("t", brokers, links, (), ARTEMIS).paths()) == 1600


def test_patterns_that_make_as_many_ways_as_sets_are_soon_searched() -> None:
    """Forty consecutive steps, each by ``*.x.#`` or ``*.y.#`` with another word, and the same backwards."""
    brokers = tuple(ArtemisBroker(f"b{number}") for number in range(41))
    links = [
        BrokerConnection(
            here, there, f"{here.name}-{there.name}-{word}", senders=(AddressMatch(f"{'*.' * at}{word}.#"),)
        )
        for at, (broker, next_broker) in enumerate(pairwise(brokers))
        for (here, there), words in (((broker, next_broker), "xy"), ((next_broker, broker), "vw"))
        for word in words
    ]
    assert list(loop_problems(links)) == []
