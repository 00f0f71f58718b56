"""Checks the table that compares each link's settings with the measured values."""

from typing import Any

import pyarrow as pa

from records.run import LinkInfo, RunInfo
from records.tables.results import RESOURCES
from reports.network.links import link_doubts, links_table


def run_of(*links: LinkInfo) -> RunInfo:
    return RunInfo("r", "s", "t", "processes", "stomp", links=links)


def resources(*rows: tuple[Any, ...]) -> pa.Table:
    columns = [dict(zip(RESOURCES.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(columns, schema=RESOURCES)


def row(second: int, metric: str, value: int) -> tuple[Any, ...]:
    return (second, "", "link", "a-to-b", metric, value)


def test_there_is_no_table_where_links_went_straight() -> None:
    assert links_table(run_of(LinkInfo("a-to-b", "a", "b", duplex=True)), resources()) is None


def test_each_way_has_its_bytes_beside_what_the_link_was_set_to() -> None:
    link = LinkInfo("a-to-b", "a", "b", True, proxied=True, delay_ms=40, jitter_ms=5, bandwidth_kb_per_s=1000)
    measured = resources(
        row(-1, "round_trip_least_ns", 80_000_000),
        row(-1, "round_trip_median_ns", 80_400_000),
        row(-1, "round_trip_most_ns", 95_000_000),
        row(12, "whole_run_forth_bytes", 14_000),
        row(12, "whole_run_back_bytes", 600),
    )
    links = links_table(run_of(link), measured)
    assert links is not None
    assert links.rows == (
        ("a", "b", "a-to-b", 40, 5, 80, 80.4, "80.0 – 95.0", 1000, 14_000),
        ("b", "a", "a-to-b", 40, 5, 80, 80.4, "80.0 – 95.0", 1000, 600),
    )


def test_what_was_not_set_or_not_measured_is_left_empty() -> None:
    links = links_table(run_of(LinkInfo("a-to-b", "a", "b", False, proxied=True)), resources())
    assert links is not None
    assert links.rows[0] == ("a", "b", "a-to-b", 0, 0, 0, None, None, None, None)


def test_a_link_that_took_a_good_deal_longer_than_it_was_set_to_is_doubted() -> None:
    run = run_of(LinkInfo("a-to-b", "a", "b", True, proxied=True, delay_ms=40))
    assert list(link_doubts(run, resources(row(-1, "round_trip_median_ns", 92_000_000)))) == []
    assert list(link_doubts(run, resources(row(-1, "round_trip_median_ns", 94_000_000)))) == [
        "Round trips over links took longer than their configured delays: a-to-b 94.0 ms instead of 80 ms. This "
        "machine causes the difference."
    ]


def test_jitter_is_no_reason_to_doubt() -> None:
    run = run_of(LinkInfo("a-to-b", "a", "b", True, proxied=True, delay_ms=40, jitter_ms=20))
    assert list(link_doubts(run, resources(row(-1, "round_trip_median_ns", 120_000_000)))) == []


def test_of_many_late_links_three_are_named() -> None:
    names = [f"a-to-{n}" for n in range(5)]
    run = run_of(*(LinkInfo(name, "a", name[-1], True, proxied=True) for name in names))
    late = resources(*((-1, "", "link", name, "round_trip_median_ns", 9_000_000) for name in names))
    (sentence,) = link_doubts(run, late)
    assert "a-to-2 9.0 ms instead of 0 ms, and 2 more." in sentence
