"""Checks that charts, tables and the network drawing match the result tables."""

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.run import RECEIVERS, BrokerInfo, LinkInfo, RunInfo
from records.tables.results import CONNECTIONS, LINK_BACKLOG, LINKS, RATES, REORDERED, RESOURCES
from reports.latency.places import latency_sentence
from reports.load import rates
from reports.messages import outcome_sentence, reordered_table
from reports.network.brokers import MIB, MOST_LINES, cpu, heap, mute_quiet_lines, queue_depths
from reports.network.drawing import network, network_chart, network_table
from reports.network.layout import BOX_WIDTH, PAIR_GAP, chain_of, hub_of, layout, levels_of
from reports.network.links import backlog_table
from reports.parts.numbers import bytes_text, seconds_text, sentence, significant
from reports.parts.over_time import MOST_STEPS, Backdrop, Line, Panel, step_of
from reports.parts.values import ANY, Column, Table, cell
from tests.reports.run_folder import RunPlan, summary

BOX_HEIGHT = 76.0


def table(schema: pa.Schema, *rows: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (3.14159, "3.14"),
        (12_345.6, "12,346"),
        (0.00123, "0.00123"),
        (-2.5, "-2.50"),
        (99.95, "100.0"),
    ],
)
def test_three_digits_say_enough(value: float | None, text: str) -> None:
    assert significant(value) == text


def test_a_column_of_numbers_has_its_points_below_each_other() -> None:
    assert [cell(value, 2) for value in (1_234.5, 0.1, None, 7)] == ["1,234.50", "0.10", "–", "7.00"]
    assert [cell(12.0, ANY), cell(0.25, ANY), cell("text", None)] == ["12", "0.25", "text"]


def test_sizes_durations_and_sentences_are_written_for_people() -> None:
    assert bytes_text(4 * 2**30) == "4.00 GiB"
    assert [seconds_text(value) for value in (0.25, 60, 62.5)] == ["0.25 s", "1 min", "1 min 2.5 s"]
    assert sentence("the disk is full") == "The disk is full."
    assert sentence("messages.lost is 1") == "messages.lost is 1."


@given(st.integers(1, 200_000))
def test_steps_are_few_however_long_the_run(span_s: int) -> None:
    assert span_s / step_of(span_s, MOST_STEPS) <= MOST_STEPS


def test_a_rate_over_a_step_that_the_run_cuts_short_is_divided_by_what_is_left_of_it() -> None:
    backdrop = Backdrop(first_s=-3, last_s=6, load_s=7, step_s=5)
    series = rates(table(RATES, (-3, "warm-up", "due", "a", 30), (6, "load", "due", "a", 20)), backdrop)
    assert series.starts == (-5, 0, 5)
    assert series.panels[0].lines[0].values == (10.0, 0.0, 10.0)


def test_an_event_that_never_happened_has_no_line() -> None:
    series = rates(table(RATES, (0, "load", "sent", "a", 1)), Backdrop(0, 0, 1))
    assert [line.name for line in series.panels[0].lines if line.values[0] is not None] == ["sent"]


def test_cpu_is_a_share_of_one_core_and_the_generator_is_named() -> None:
    rows = ((0, "a", "process", "a", "cpu_ns", 500_000_000), (0, "", "process", "locust", "cpu_ns", 2_000_000_000))
    lines = cpu(table(RESOURCES, *rows), ["a"], Backdrop(0, 0, 1)).panels[0].lines
    assert [(line.name, line.values) for line in lines] == [("a", (50.0,)), ("load generator", (200.0,))]


def test_the_time_that_a_quota_held_a_broker_back_has_a_panel() -> None:
    rows = [(0, "a", "process", "", "cpu_ns", 500_000_000), (0, "", "process", "locust", "cpu_ns", 10)]
    assert [panel.name for panel in cpu(table(RESOURCES, *rows), ["a"], Backdrop(0, 0, 1)).panels] == [""]
    rows.append((0, "a", "process", "", "throttled_ns", 250_000_000))
    used, held_back = cpu(table(RESOURCES, *rows), ["a"], Backdrop(0, 0, 1)).panels
    assert (used.name, held_back.name) == ("used", "held back by its quota")
    assert [(line.name, line.values) for line in held_back.lines] == [("a", (25.0,))]


def test_a_broker_that_is_away_is_a_gap_in_the_charts_of_cpu_heap_and_queues() -> None:
    """It has no rows from the second 1 to 3."""
    figures = (
        ("process", "", "cpu_ns", 10_000_000),
        ("broker", "", "heap_used_bytes", MIB),
        ("queue", "q", "depth", 3),
    )
    rows = table(RESOURCES, *((second, "a", *figure) for second in (0, 4) for figure in figures))
    for view, value in ((cpu, 1.0), (heap, 1.0), (queue_depths, 3)):
        (line,) = view(rows, ["a"], Backdrop(0, 4, 5)).panels[0].lines
        assert line.values == (value, None, None, None, value), view.__name__


def test_queues_that_stayed_empty_are_left_out() -> None:
    rows = ((0, "a", "queue", "orders", "depth", 3), (0, "a", "queue", "canary", "depth", 0))
    lines = queue_depths(table(RESOURCES, *rows), ["a"], Backdrop(0, 0, 1)).panels[0].lines
    assert [(line.name, line.values) for line in lines] == [("orders at a", (3,))]


def test_a_durable_subscription_is_shown_at_each_broker_that_stores_its_messages() -> None:
    rows = ((0, "a", "subscription", "c.s", "depth", 3), (0, "b", "subscription", "c.s", "depth", 4))
    lines = queue_depths(table(RESOURCES, *rows), ["a", "b"], Backdrop(0, 0, 1)).panels[0].lines
    assert [(line.name, line.values) for line in lines] == [("c.s at a", (3,)), ("c.s at b", (4,))]


def test_a_link_that_messages_waited_for_has_a_row_for_each_direction() -> None:
    rows = (
        (0, "a", "b", "mesh", "bridge", 3),
        (1, "a", "b", "mesh", "bridge", 5),
        (2, "a", "b", "mesh", "bridge", 5),
        (0, "b", "a", "mesh", "bridge", 2),
        (0, "a", "c", "mesh", "bridge", 0),
    )
    assert backlog_table(table(LINK_BACKLOG, *rows)).rows == (
        ("a", "b", "mesh", "bridge", 5, 1),
        ("b", "a", "mesh", "bridge", 2, 0),
    )


def test_producers_with_most_messages_out_of_order_come_first() -> None:
    rows = (("queue://q", "q", 7, 2, 9), ("queue://q", "q", 3, 5, 1))
    assert [row[2:] for row in reordered_table(table(REORDERED, *rows)).rows] == [(3, 5, 1), (7, 2, 9)]


def test_of_many_lines_the_liveliest_keep_a_color_each() -> None:
    lines = tuple(Line(f"b{at}", (0.0, float(at)), at) for at in range(12))
    (panel,) = mute_quiet_lines((Panel("", lines),))
    colored = [line for line in panel.lines if not line.muted]
    assert [line.name for line in colored] == [f"b{at}" for at in range(12 - MOST_LINES + 1, 12)]
    assert len({line.style for line in colored}) == len(colored)


def test_a_links_rate_is_of_the_load_alone() -> None:
    """Messages that crossed in the warm-up or after the load count as forwarded, and not in the rate."""
    link = LinkInfo("a-to-b", opened_by="a", to="b", duplex=True)
    run = RunInfo("r", "s", "t", "memory", "memory", brokers=(BrokerInfo("a"), BrokerInfo("b")), links=(link,))
    links = table(LINKS, ("a", "b", "nc", 30, 12, 7, 3), ("a", "b", "nc2", 10, 8, 2, None))
    connections = table(CONNECTIONS, (-2, "a", "producers", 4), (7, "a", "producers", 6))
    drawn = network(run, links, connections, load_s=10)
    there, back = drawn.edges[0].flows
    assert (there.forwarded, there.per_s) == (40, 2.0)
    assert (there.advisories, there.advisories_per_s) == (9, None), "one connector had no two samples"
    assert (back.forwarded, back.per_s, back.advisories) == (None, None, None)
    rows = [row[-4:] for row in network_table(drawn).rows]
    assert rows == [(40, 2.0, 9, "unknown"), (None, None, "unknown", "unknown")]
    assert drawn.nodes[0].clients[0].text == "4 → 6"


def test_links_that_join_the_same_brokers_have_each_what_it_carried() -> None:
    links = tuple(LinkInfo(name, opened_by="a", to="b", duplex=False) for name in ("queues-1", "queues-2", "topics"))
    run = RunInfo("r", "s", "t", "p", "stomp", brokers=(BrokerInfo("a"), BrokerInfo("b")), links=links)
    rows = (("a", "b", "queues-1", 30, 30), ("a", "b", "queues-2", 10, None), ("a", "b", "x", 5, 5))
    carried = table(LINKS, *((*row, None, None) for row in rows))
    drawn = network(run, carried, table(CONNECTIONS), load_s=10)
    assert [edge.flows[0].per_s for edge in drawn.edges] == [3.0, None, None]
    assert [edge.flows[0].forwarded for edge in drawn.edges] == [30, 10, None]


def test_the_flow_of_a_link_that_pulls_comes_to_the_broker_that_opened_it() -> None:
    link = LinkInfo("sink-to-source", opened_by="sink", to="source", duplex=False, kind=RECEIVERS)
    run = RunInfo("r", "s", "t", "p", "stomp", brokers=(BrokerInfo("sink"), BrokerInfo("source")), links=(link,))
    drawn = network(run, table(LINKS, ("source", "sink", "l", 30, 20, None, None)), table(CONNECTIONS), load_s=10)
    (flow,) = drawn.edges[0].flows
    assert (flow.sender, flow.receiver, flow.forwarded) == ("source", "sink", 30)


def marked_run() -> RunInfo:
    """Two links: one with TLS and chosen destinations, and a plain one."""
    secured = LinkInfo("a-to-b", "a", "b", True, tls=True, destination_rules=("excluded_destinations: queue://<x>",))
    brokers = tuple(map(BrokerInfo, "abc"))
    return RunInfo("r", "s", "t", "p", "stomp", brokers=brokers, links=(secured, LinkInfo("b-to-c", "b", "c", True)))


def test_a_link_shows_tls_and_chosen_destinations() -> None:
    chart = network_chart(network(marked_run(), table(LINKS), table(CONNECTIONS), load_s=10))
    marks = re.findall(r'<g class="mark"[^>]*><title>(.*?)</title>', chart.svg)
    assert marks == ["a-to-b uses TLS", "a-to-b: excluded_destinations: queue://&lt;x&gt;"]
    assert re.findall(r'class="legend"[^>]*>(.*?)<', chart.svg) == ["TLS", "carries selected destinations"]
    titles = [column.title for column in chart.table.columns]
    rows = [dict(zip(titles, row, strict=True)) for row in chart.table.rows]
    assert [(row["TLS"], row["Destinations"]) for row in rows] == 2 * [
        ("yes", "excluded_destinations: queue://<x>")
    ] + 2 * [("no", "all")]


def test_plain_links_have_no_marks_or_legend() -> None:
    run = replace(marked_run(), links=marked_run().links[1:])
    chart = network_chart(network(run, table(LINKS), table(CONNECTIONS), load_s=10))
    assert not re.search("mark|legend", chart.svg)
    assert not {"TLS", "Destinations"} & {column.title for column in chart.table.columns}


def test_links_between_regions_cross_no_broker() -> None:
    names, pairs = ["hq", "b1", "b2", "b3"], [("b1", "hq"), ("b2", "hq"), ("b3", "hq")]
    placed = layout(names, pairs, 80, region_of={"hq": "city"} | dict.fromkeys(names[1:], "country"))
    for sender, receiver in pairs:
        for other in set(names) - {sender, receiver}:
            (x1, y1), (x2, y2), (x, y) = (placed.centers[name] for name in (sender, receiver, other))
            places = ((x1 + (x2 - x1) * at / 50, y1 + (y2 - y1) * at / 50) for at in range(51))
            assert not any(abs(px - x) < BOX_WIDTH / 2 and abs(py - y) < 40 for px, py in places)


@given(st.integers(1, 24), st.booleans())
def test_boxes_never_overlap_and_stand_within_the_drawing(count: int, hub: bool) -> None:
    names = [f"b{at}" for at in range(count)]
    pairs = [(names[0], name) for name in names[1:]] if hub else list(combinations(names, 2))
    placed = layout(names, pairs, BOX_HEIGHT)
    for (x, y), (other_x, other_y) in combinations(placed.centers.values(), 2):
        assert abs(x - other_x) >= BOX_WIDTH or abs(y - other_y) >= BOX_HEIGHT
    assert sorted(placed.centers) == sorted(names)
    for x, y in placed.centers.values():
        assert BOX_WIDTH / 2 <= x <= placed.width - BOX_WIDTH / 2
        assert BOX_HEIGHT / 2 <= y <= placed.height - BOX_HEIGHT / 2


@given(st.integers(1, 12), st.integers(1, 4), st.booleans())
def test_pairs_and_regions_stand_together(count: int, regions: int, paired: bool) -> None:
    """No box overlaps another. A standby touches its active broker. Each region's frame contains only its brokers."""
    names = [f"b{at}" for at in range(count)]
    standby_of = {f"{name}-standby": name for name in names} if paired else {}
    region_of = {name: f"region-{at % regions}" for at, name in enumerate(names)}
    region_of |= {standby: region_of[name] for standby, name in standby_of.items()}
    every = [*names, *standby_of]
    placed = layout(every, list(combinations(names, 2)), BOX_HEIGHT, standby_of=standby_of, region_of=region_of)
    for (x, y), (other_x, other_y) in combinations(placed.centers.values(), 2):
        assert abs(x - other_x) >= BOX_WIDTH or abs(y - other_y) >= BOX_HEIGHT
    for standby, name in standby_of.items():
        (x, y), (active_x, active_y) = placed.centers[standby], placed.centers[name]
        assert (x, abs(y - active_y)) == pytest.approx((active_x, BOX_HEIGHT + PAIR_GAP))
    for region, (left, top, width, height) in placed.frames.items():
        inside = {name for name in every if is_inside(placed.centers[name], left, top, width, height)}
        assert inside == {name for name in every if region_of[name] == region}
    assert len(placed.frames) == (0 if min(count, regions) == 1 else min(count, regions))
    assert all(BOX_WIDTH / 2 <= x <= placed.width - BOX_WIDTH / 2 for x, _ in placed.centers.values())
    assert all(BOX_HEIGHT / 2 <= y <= placed.height - BOX_HEIGHT / 2 for _, y in placed.centers.values())


def is_inside(center: tuple[float, float], left: float, top: float, width: float, height: float) -> bool:
    return left <= center[0] <= left + width and top <= center[1] <= top + height


def test_a_tree_has_a_level_for_each_step_from_its_middle() -> None:
    links = [("root", "a"), ("root", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")]
    names = ["a1", "root", "a", "b", "a2", "b1", "b2"]
    assert levels_of(names, links) == [["root"], ["a", "b"], ["a1", "a2", "b1", "b2"]]
    assert levels_of(names, [*links, ("a1", "b1")]) is None
    assert levels_of(["a", "b", "c"], [("a", "b"), ("b", "c")]) is None


def test_a_line_is_walked_from_end_to_end_and_a_ring_is_none() -> None:
    assert chain_of(["b", "a", "c"], [("a", "b"), ("c", "a")]) == ["b", "a", "c"]
    assert chain_of(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "a")]) is None
    assert chain_of(["a", "b", "c", "d"], [("a", "b"), ("c", "d")]) is None


def test_a_hub_is_what_all_others_and_only_they_are_linked_to() -> None:
    spokes = [("hub", name) for name in "abc"]
    assert hub_of(["hub", "a", "b", "c"], spokes) == "hub"
    assert hub_of(["hub", "a", "b", "c"], [*spokes, ("a", "b")]) is None


def test_the_answer_names_every_fate_that_happened() -> None:
    plan = RunPlan(load_s=2, per_s=10, lost=2, duplicated=1)
    run_summary: Any = summary(plan)
    assert outcome_sentence(run_summary) == "Of 120 messages sent, 118 were received; 2 lost. Also: 1 duplicated."
    run_summary["latency_ms"] = {}
    assert latency_sentence(run_summary) == "No latency was measured."


def test_the_answer_to_requests_is_their_round_trip() -> None:
    plan = RunPlan(load_s=2, per_s=10)
    run_summary: Any = summary(plan)
    run_summary["latency_ms"]["round_trip"] = run_summary["latency_ms"]["due_to_received"] | {"p50": 44.7, "p99": 150.5}
    sentence = "Half of the replies came within 44.7 ms of the time their requests were due, 99 % within 150 ms."
    assert latency_sentence(run_summary) == sentence
    run_summary["latency_ms"]["round_trip"]["p50"] = None  # too few replies
    assert latency_sentence(run_summary).startswith("Half arrived within ")


def test_the_answer_counts_receptions_where_a_message_has_several_subscriptions() -> None:
    run_summary: Any = summary(RunPlan(load_s=2, per_s=10))
    all_received: Any = {**run_summary, "messages": run_summary["messages"] | {"expected": 240, "received": 240}}
    assert outcome_sentence(all_received) == "All 240 receptions of 120 messages sent took place, each exactly once."
    one_missing: Any = {
        **run_summary,
        "messages": run_summary["messages"] | {"expected": 240, "received": 120, "lost": 120},
    }
    assert outcome_sentence(one_missing) == "Of 240 receptions of 120 messages sent, 120 took place; 120 lost."
    assert latency_sentence(one_missing).startswith("Of the messages that arrived, half came within ")


def test_a_column_of_sentences_keeps_its_width_and_one_of_names_or_numbers_need_not() -> None:
    meaning = "Refused by a broker, or never written: its client had no connection."
    table = Table("Counts", (Column("Count"), Column("Meaning"), Column("All", 0)), (("failed", meaning, 0),))
    assert table.prose == (False, True, False)
    assert Table("Counts", (Column("Meaning"),), ()).prose == (False,)
