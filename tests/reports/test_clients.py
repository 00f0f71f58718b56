"""Checks the pictures and tables of where the clients were, on planted stays of 5, 40 and 300 clients."""

import re
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.clients.rebalance import EntryBrokers
from analysis.events.timeline import FaultSpan
from records.figures.clients import Rebalance
from records.figures.summary import Summary
from records.run import BrokerInfo, GroupInfo, RunInfo
from records.tables.results import STAYS
from reports.clients.areas import (
    COLUMNS,
    MOST_VECTORS,
    NOWHERE,
    areas_of_groups,
    client_charts,
    named_brokers,
    pixels,
    runs,
    timeline,
)
from reports.clients.moves import balance_table, moves_table, stays_table
from reports.inputs import Results
from reports.parts.over_time import Backdrop, FaultBand
from reports.run.page import recovery_section
from tests.analysis.client_parts import rebalance_of_stays

S = 1_000_000_000
LOAD_S = 40
BACKDROP = Backdrop(0, LOAD_S - 1, float(LOAD_S), (FaultBand("F1", "kill b", 10, 20),))
KILL = FaultSpan(1, "kill", "b", 10 * S, 25 * S, mended_ns=20 * S)
Stay = tuple[int, str, float, float, str]


def planted(stays: list[Stay], brokers: str = "abc", clients: int = 0, *, fault: bool = True) -> Results:
    """(client, broker, from, to, cause), seconds. Broker b is killed at 10 s and back at 20 s."""
    ns = [
        (client, client, "g", broker, int(from_s * S), int(to_s * S), why)
        for client, broker, from_s, to_s, why in stays
    ]
    table = pa.Table.from_pylist([dict(zip(STAYS.names, row, strict=True)) for row in ns], STAYS)
    infos, groups = tuple(map(BrokerInfo, brokers)), (GroupInfo("g", tuple(brokers)),)
    total = clients or len({stay[0] for stay in stays})
    faults = (KILL,) if fault else ()
    rebalanced = rebalance_of_stays(table, {"g": total}, faults, EntryBrokers(infos, groups), 0, LOAD_S * S)
    of_faults = [{"fault": "F1", "kind": "kill", "target": "b"}] if fault else []
    summary = cast(Summary, {"rebalance": rebalanced, "recovery": {"faults": of_faults}})
    run = RunInfo("r", "s", "t", "p", "openwire", brokers=infos, groups=groups)
    distribution = pa.table({"second": [0], "group": ["g"], "broker": ["a"], "clients": [total]})
    return Results(run, summary, {"stays": table, "distribution": distribution}, None)


def killed(count: int) -> list[Stay]:
    """A third of the clients is at b, off from 10 s on for half a second, and then at a."""
    whole: list[Stay] = [(at, "abc"[at % 3], 0, LOAD_S, "load_end") for at in range(count) if at % 3 != 1]
    cut: list[Stay] = [(at, "b", 0, 10, "lost") for at in range(1, count, 3)]
    return [*whole, *cut, *((at, "a", 10.5, LOAD_S, "load_end") for at in range(1, count, 3))]


def svgs(results: Results) -> tuple[str, str]:
    areas, timeline = client_charts(results, BACKDROP)
    return areas.svg, timeline.svg


@pytest.mark.parametrize("count", [5, 40, 300])
def test_few_clients_are_shapes_and_many_are_pixels(count: int) -> None:
    areas, rows = svgs(planted(killed(count)))
    assert ("<image" in rows) == (count > MOST_VECTORS)
    assert len(areas) + len(rows) < 60_000
    for svg in (areas, rows):
        assert "F1 kill b" in svg
        assert "seconds from the start of the load" in svg
    assert f"g: {count} clients" in rows
    assert all(f"{name}</text>" in rows for name in ("a", "b", "c", "no connection"))


def test_a_bar_is_drawn_for_each_stay_in_the_color_of_its_broker() -> None:
    _, rows = svgs(planted(killed(5)))
    bars = re.findall(r'<path d="([^"]*)" clip-path="[^"]*" style="fill: var\(--s(\d)\)"', rows)
    assert sorted(style for _, style in bars) == ["0", "0", "0", "0", "1", "1", "2"]


def test_the_areas_are_labeled_with_the_clients_at_the_end_and_after_the_fault() -> None:
    areas, _ = svgs(planted(killed(30)))
    assert {"a 20", "c 10"} <= {" ".join(text.split()) for text in re.findall(r">([^<]+)</text>", areas)}
    assert areas.count(">20</text>") >= 2  # at the axis or after the kill, and after it was mended


def test_a_cell_is_the_broker_and_no_gap_is_too_short_to_be_seen() -> None:
    stays: list[Stay] = [(1, "a", 0, 10.013, "lost"), (1, "b", 10.017, LOAD_S, "load_end")]
    drawn = timeline(planted(stays), BACKDROP)
    (rows,) = drawn.groups
    cells = rows.cells[0]
    at = int(10.013 / LOAD_S * COLUMNS)
    assert (cells[at - 1], cells[at], cells[at + 1]) == (0, NOWHERE, 1)
    assert cells.count(NOWHERE) == 1


def test_a_client_that_opens_before_it_leaves_has_no_gap() -> None:
    drawn = timeline(planted([(1, "a", 0, 10.013, "order"), (1, "b", 10.013, LOAD_S, "load_end")]), BACKDROP)
    assert NOWHERE not in drawn.groups[0].cells[0]


def test_rows_are_sorted_by_the_brokers_at_each_moment_and_the_missing_are_told() -> None:
    drawn = timeline(planted([*killed(6), (9, "a", 0, 5, "lost")], clients=8), BACKDROP)
    (rows,) = drawn.groups
    assert rows.clients == (0, 3, 9, 1, 4, 2, 5)  # a for all of the load, a and then none, b and then a, c
    assert rows.never == 1


def test_the_counts_and_the_fair_shares_of_the_areas_follow_the_fault() -> None:
    brokers, (areas,) = areas_of_groups(planted(killed(30)), BACKDROP)
    assert [broker.name for broker in brokers] == ["a", "b", "c"]

    def at(seconds: float) -> list[tuple[int, float]]:
        column = np.searchsorted(areas.at_s, seconds, side="right") - 1
        return [(counts[column], fair[column]) for counts, fair in zip(areas.counts, areas.fair, strict=True)]

    assert at(5) == [(10, 10.0), (10, 10.0), (10, 10.0)]
    assert at(10.3) == [(10, 15.0), (0, 0.0), (10, 15.0)]
    assert at(15) == [(20, 15.0), (0, 0.0), (10, 15.0)]
    assert at(30) == [(20, 10.0), (0, 10.0), (10, 10.0)]
    assert areas.labeled_counts == ((0.0, (10, 10, 10)), (10.5, (20, 0, 10)), (20.0, (20, 0, 10)))


def test_only_the_broker_with_the_fault_has_a_color() -> None:
    """With many brokers, the others are drawn as one area."""
    names = "abcdefghijkl"
    stays: list[Stay] = [(at, name, 0, 1 if name == "b" else LOAD_S, "load_end") for at, name in enumerate(names)]
    results = planted(stays, names)
    colored = [broker for broker in named_brokers(results) if not broker.muted]
    assert len(colored) == len({broker.style for broker in colored}) == 7
    assert "b" in [broker.name for broker in colored]
    brokers, (areas,) = areas_of_groups(results, BACKDROP)
    assert brokers[-1].name == "5 more"
    assert [counts[0] for counts in areas.counts] == [1] * 7 + [5]


@given(st.lists(st.sampled_from([NOWHERE, 0, 1, 2]), min_size=1), st.sampled_from([0, 1, 2]))
def test_runs_are_the_cells_of_a_value(cells: list[int], value: int) -> None:
    covered = [at for start, stop in runs(tuple(cells), value) for at in range(start, stop)]
    assert covered == [at for at, cell in enumerate(cells) if cell == value]


def test_a_pixel_of_no_connection_is_transparent() -> None:
    drawn = timeline(planted(killed(3)), BACKDROP)
    image = pixels(((0, NOWHERE, 2),), drawn.brokers)
    assert image[0, :, 3].tolist() == [255, 0, 255]
    assert len({tuple(pixel) for pixel in image[0].tolist()}) == 3


def test_tables_have_the_moments_the_moves_and_the_stays_of_those_that_moved() -> None:
    results = planted([*killed(6), (9, "a", 0, 5, "lost")], clients=8)
    rebalanced: Rebalance = results.summary["rebalance"]
    rows = balance_table(rebalanced["groups"][0], rebalanced["faults"]).rows
    assert [row[0] for row in rows] == [
        "the load begins",
        "before F1",
        "after F1, not settled",
        "after F1 mended, not settled",
        "the load ends",
    ]
    assert rows[0][2:6] == (3, 2, 2, 1)
    assert rows[-1][2:6] == (4, 0, 2, 2)
    moves = moves_table(rebalanced).rows
    assert [(*row[:5], *row[7:9]) for row in moves] == [
        ("F1", "applied", 10.0, 2, 2, 0.5, "did not settle"),
        ("F1", "mended", 20.0, 0, 0, None, "did not settle"),
    ]
    table = stays_table(results.tables["stays"])
    assert "4 clients stayed at one broker for the whole load" in table.caption
    assert [row[0] for row in table.rows] == [1, 1, 4, 4, 9]


def test_clients_are_shown_if_a_fault_was_applied_or_any_moved_and_else_not() -> None:
    still: list[Stay] = [(1, "a", 0, LOAD_S, "load_end")]
    moved: list[Stay] = [(1, "a", 0, 10, "order"), (1, "b", 10, LOAD_S, "load_end")]
    assert recovery_section(planted(still, fault=False), BACKDROP) is None
    section: Any = recovery_section(planted(moved, fault=False), BACKDROP)
    assert [chart.anchor for chart in section.charts] == ["client-areas", "client-timeline"]
    assert section.title == "Moves of clients"


def test_close_faults_are_drawn_without_overlapping_labels() -> None:
    """A fault that is followed closely has only its number. A fault after the load is not drawn."""
    late = Backdrop(0, LOAD_S - 1, float(LOAD_S), (FaultBand("F1", "kill b", LOAD_S + 1, None),))
    assert "F1" not in client_charts(planted(killed(5)), late)[1].svg
    close = Backdrop(
        0, LOAD_S - 1, float(LOAD_S), (FaultBand("F1", "kill b", 10, 10.5), FaultBand("F2", "kill b", 11, None))
    )
    svg = client_charts(planted(killed(5)), close)[1].svg
    assert re.findall(r">(F\d[^<]*)</text>", svg) == ["F1", "F2 kill b"]


def test_a_run_in_which_no_client_connected_says_so() -> None:
    for chart in client_charts(planted([], clients=3), BACKDROP):
        assert chart.svg == ""
        assert chart.missing == "No client was connected within the load."
