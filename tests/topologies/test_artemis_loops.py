"""Is every way round told that messages of some address take for ever, and none where links lead nowhere round?"""

from collections.abc import Iterator, Sequence

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.topologies.artemis_walks import in_filter, in_pattern
from topologies.artemis import ArtemisBroker
from topologies.artemis_links import AddressMatch, BrokerConnection, Mirror
from topologies.artemis_loops import loop_problems

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
    """Up to five, some of them with an alternate."""
    links = []
    for number in range(draw(st.integers(1, 5))):
        here, there, *others = draw(st.permutations(BROKERS))
        senders, receivers, mirror = draw(some), draw(some), draw(mirrors)
        links.append(
            BrokerConnection(
                here, there, f"link-{number}", mirror=mirror, receivers=receivers,
                senders=senders if senders or receivers or mirror else (AddressMatch("x"),),
                alternates=tuple(others[: draw(st.integers(0, 1))]),
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
    """Whether one comes back to where a sender or a receiver took a message from."""
    ways = {(begin, end) for begin, end, _ in taken}
    for middle in BROKERS:
        ways |= {(b, e) for b, m in ways for other, e in ways if m == other == middle.name}
    return any((end, begin) in ways for begin, end, mirrors in taken if not mirrors)


@settings(max_examples=300, deadline=None)
@given(connections())
def test_what_some_address_goes_round_by_for_ever_is_told(links: list[BrokerConnection]) -> None:
    told = list(loop_problems(links))
    found = any(leads_round(list(steps(links, address))) for address in ADDRESSES)
    event(f"round: {found}, told: {bool(told)}")
    if found:
        assert told


@settings(max_examples=100, deadline=None)
@given(connections())
def test_where_no_address_matters_and_nothing_leads_round_nothing_is_told(links: list[BrokerConnection]) -> None:
    everywhere = [step for address in ADDRESSES for step in steps(links, address)]
    if not leads_round(everywhere):
        assert list(loop_problems(links)) == []
