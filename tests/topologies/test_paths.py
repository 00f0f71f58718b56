"""Checks that a path exists exactly if links and TTLs let a message through."""

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.paths import Path, blocking_limits, connected_pairs, count_by_links, shortest_paths

A, B, C, D = (Broker(name) for name in "abcd")


def chain(
    *brokers: Broker, message_ttl: int = 1, consumer_ttl: int = 1, duplex: bool = False
) -> list[NetworkConnector]:
    pairs = itertools.pairwise(brokers)
    return [
        NetworkConnector(opened_by=a, to=b, duplex=duplex, message_ttl=message_ttl, consumer_ttl=consumer_ttl)
        for a, b in pairs
    ]


def paths(links: list[NetworkConnector]) -> dict[tuple[str, str], Path]:
    return shortest_paths("abcd", links)


def test_a_client_reaches_its_own_broker_in_no_hop() -> None:
    assert paths([])["a", "a"].hops == 0


def test_messages_go_from_the_broker_that_opens_a_link_to_the_other() -> None:
    path_by_ends = paths(chain(A, B))
    assert path_by_ends["a", "b"] == Path(("a", "b"))
    assert ("b", "a") not in path_by_ends


def test_a_duplex_link_goes_both_ways() -> None:
    assert paths(chain(A, B, duplex=True))["b", "a"].hops == 1


def test_a_path_needs_both_ttls_to_be_as_long_as_it_is() -> None:
    assert ("a", "c") not in paths(chain(A, B, C))
    assert ("a", "c") not in paths(chain(A, B, C, message_ttl=2))
    assert ("a", "c") not in paths(chain(A, B, C, consumer_ttl=2))
    assert paths(chain(A, B, C, message_ttl=2, consumer_ttl=2))["a", "c"].route == ("a", "b", "c")


def test_no_limit_is_no_limit() -> None:
    assert paths(chain(A, B, C, D, message_ttl=-1, consumer_ttl=-1))["a", "d"].hops == 3


def test_ttls_count_at_each_link_of_the_path() -> None:
    """The first link may have message_ttl 1, as no link is crossed before it, and the last consumer_ttl 1."""
    first_link = NetworkConnector(opened_by=A, to=B, message_ttl=1, consumer_ttl=2)
    last = NetworkConnector(opened_by=B, to=C, message_ttl=2, consumer_ttl=1)
    assert paths([first_link, last])["a", "c"].hops == 2


def test_the_shortest_way_is_taken() -> None:
    assert paths([*chain(A, B, C, message_ttl=3, consumer_ttl=3), *chain(A, C)])["a", "c"].hops == 1


def test_joined_looks_at_links_only() -> None:
    assert ("a", "d") in connected_pairs("abcd", chain(A, B, C, D))
    assert ("d", "a") not in connected_pairs("abcd", chain(A, B, C, D))


edges = st.lists(
    st.tuples(st.sampled_from([A, B, C, D]), st.sampled_from([A, B, C, D])).filter(lambda edge: edge[0] is not edge[1]),
    max_size=8,
    unique_by=lambda edge: (edge[0].name, edge[1].name),
)


@given(edges)
def test_without_ttl_limits_paths_lead_wherever_links_do(pairs: list[tuple[Broker, Broker]]) -> None:
    links = [NetworkConnector(opened_by=a, to=b, message_ttl=-1, consumer_ttl=-1) for a, b in pairs]
    assert set(paths(links)) == connected_pairs("abcd", links)


@given(edges, st.integers(1, 3), st.integers(1, 3))
def test_a_path_is_never_longer_than_either_ttl(
    pairs: list[tuple[Broker, Broker]], message_ttl: int, consumer_ttl: int
) -> None:
    links = [NetworkConnector(opened_by=a, to=b, message_ttl=message_ttl, consumer_ttl=consumer_ttl) for a, b in pairs]
    free = [NetworkConnector(opened_by=a, to=b, message_ttl=-1, consumer_ttl=-1) for a, b in pairs]
    limit = min(message_ttl, consumer_ttl)
    assert paths(links) == {pair: path for pair, path in paths(free).items() if path.hops <= limit}


@given(edges, st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=8, max_size=8))
def test_where_links_lead_a_message_gets_once_what_is_told_is_raised(
    pairs: list[tuple[Broker, Broker]], ttls: list[tuple[int, int]]
) -> None:
    links = [
        NetworkConnector(opened_by=a, to=b, message_ttl=message_ttl, consumer_ttl=consumer_ttl)
        for (a, b), (message_ttl, consumer_ttl) in zip(pairs, ttls, strict=False)
    ]
    for begin, end in connected_pairs("abcd", links) - shortest_paths("abcd", links).keys():
        limits = blocking_limits(begin, end, links)
        assert limits
        raised = list(links)
        for ttl, link, least in limits:
            at = links.index(link)
            raised[at] = replace(raised[at], **{ttl: least})  # type: ignore[arg-type]
        assert (begin, end) in shortest_paths("abcd", raised)


def test_nothing_is_to_be_raised_where_a_message_gets_or_no_link_leads() -> None:
    assert blocking_limits("a", "b", chain(A, B)) == []
    assert blocking_limits("b", "a", chain(A, B)) == []


def test_pairs_of_brokers_are_counted_by_the_links_between_them() -> None:
    path_by_ends = paths(chain(A, B, C, message_ttl=2, consumer_ttl=2))
    both_ways = [path for (begin, end), path in path_by_ends.items() if {begin, end} <= {"a", "b", "c"}]
    assert count_by_links(both_ways) == (3, 2, 1)
    assert count_by_links([*both_ways, path_by_ends["a", "c"]]) == (3, 2, 1)
    assert count_by_links([path_by_ends["a", "c"]]) == (0, 0, 1)
    assert count_by_links([]) == ()
