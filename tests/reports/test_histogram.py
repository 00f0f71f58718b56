"""Checks that percentiles match the samples, to the width of a bucket."""

from math import ceil

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.figures.buckets import bucket_of
from records.figures.latency import differs
from records.tables.results import LATENCY
from reports.latency.spectrum import (
    DOUBTFUL,
    LESS_OWN,
    Reliance,
    by_distance,
    by_measure,
    curve,
    draw_spectrum,
    spectrum_table,
    trusted_fraction,
)
from reports.parts.histogram import Histogram

NS_PER_MS = 1_000_000
samples = st.lists(st.integers(-(10**9), 10**11), min_size=1, max_size=200)


def rows(*columns: dict[str, object]) -> pa.Table:
    """Return latency rows with defaults for columns that a test ignores."""
    usual: dict[str, object] = {
        "measure": "due_to_received",
        "from_broker": "a",
        "to_broker": "b",
        "hops": 1,
        "phase": "load",
        "second": 0,
        "in_fault": False,
        "bucket": bucket_of(NS_PER_MS),
        "count": 1,
        "count_less_own": 0,
    }
    return pa.Table.from_pylist([usual | row for row in columns], schema=LATENCY)


def of_values(values_ns: list[int]) -> pa.Table:
    return rows(*({"bucket": bucket_of(ns), "second": at} for at, ns in enumerate(values_ns)))


@given(samples, st.floats(0, 1))
def test_a_percentile_is_the_nearest_rank_to_the_width_of_a_bucket(values_ns: list[int], fraction: float) -> None:
    histogram = Histogram.of(of_values(values_ns))
    rank = max(1, ceil(fraction * len(values_ns) - 1e-9))
    exact_ms = sorted(values_ns)[rank - 1] / NS_PER_MS
    found_ms = histogram.percentile(fraction)
    assert found_ms == pytest.approx(exact_ms, rel=0.008, abs=1e-6)
    assert histogram.count == len(values_ns)


@given(samples)
def test_a_curve_never_falls_and_ends_at_the_largest(values_ns: list[int]) -> None:
    histogram = Histogram.of(of_values(values_ns))
    points = curve("x", histogram).points
    values = [ms for _, ms in points]
    assert values == sorted(values)
    assert points[0][0] == 0
    assert values[-1] == histogram.maximum
    assert len(points) < 100


def test_without_samples_there_is_no_percentile_and_no_point() -> None:
    empty = Histogram.of(rows())
    assert (empty.count, empty.percentile(0.5), empty.maximum) == (0, None, None)
    assert curve("x", empty).points == ()


@pytest.mark.parametrize(("count", "fraction"), [(0, 0.0), (9, 0.0), (100, 0.9), (10_000, 0.999)])
def test_a_percentile_is_trusted_while_ten_samples_lie_beyond(count: int, fraction: float) -> None:
    assert trusted_fraction(count) == pytest.approx(fraction)


def test_the_table_leaves_out_percentiles_that_rest_on_fewer_than_ten_samples() -> None:
    histogram = Histogram.of(rows({"count": 100}))
    names = [row[0] for row in spectrum_table("x", (("due", histogram),)).rows]
    assert names == ["smallest", "25 %", "50 %", "75 %", "90 %", "largest", "samples"]


def test_a_fault_gets_a_second_curve_without_its_window() -> None:
    names = [name for name, _ in by_measure(rows({}, {"in_fault": True}))]
    assert names == ["due → received", "due → received, outside faults"]


def test_the_same_messages_less_the_generators_own_delay_have_a_curve_of_their_own() -> None:
    histograms = dict(by_measure(rows({"count": 7}, {"bucket": 3, "count": 0, "count_less_own": 7})))
    assert list(histograms) == ["due → received", LESS_OWN]
    assert (histograms["due → received"].maximum, histograms[LESS_OWN].maximum) == (pytest.approx(1, rel=0.008), 3e-6)


@given(samples, samples)
def test_a_point_is_doubtful_just_if_the_own_delay_changes_it(values_ns: list[int], others_ns: list[int]) -> None:
    whole, less_own = Histogram.of(of_values(values_ns)), Histogram.of(of_values(others_ns))
    drawn = curve("x", whole, 0, Reliance({"x": less_own, "y": whole}))
    expected = [differs(ms, less_own.percentile(fraction) or 0) for fraction, ms in drawn.points[:-1]]
    assert list(drawn.doubtful) == [*expected, differs(whole.maximum or 0, less_own.maximum or 0)]
    assert not any(curve("y", whole, 0, Reliance({"x": less_own, "y": whole})).doubtful)
    assert all(curve("x", whole, 0, Reliance(wholly=frozenset("x"))).doubtful)


def test_a_doubtful_curve_is_drawn_gray_where_it_is_and_named_in_the_legend() -> None:
    stalled = Histogram.of(rows({"count": 9_900}, {"bucket": bucket_of(150 * NS_PER_MS), "count": 100}))
    still = Histogram.of(rows({"count": 10_000}))
    drawn = draw_spectrum((curve("x", stalled, 0, Reliance({"x": still})),))
    grays = [line for line in drawn.axes[0].lines if line.get_linewidth() == DOUBTFUL["linewidth"]]
    beyond = [max(line.get_xdata()) for line in grays]
    assert grays
    assert min(beyond) > 1 / (1 - 0.99) * 0.9, "what lies below p99 keeps its color"
    assert any("doubtful" in text.get_text() for text in drawn.legends[0].get_texts())
    assert not any("doubtful" in text.get_text() for text in draw_spectrum((curve("x", still),)).legends[0].get_texts())


def test_the_warm_up_is_no_part_of_the_spectrum() -> None:
    assert by_measure(rows({"phase": "warm-up"}, {"phase": "drain"})) == ()


def test_latency_is_grouped_by_hops() -> None:
    """If hops are unknown, it is grouped by whether the message left its broker."""
    with_hops = rows({"hops": 0}, {"hops": 2}, {"hops": 1})
    assert [name for name, _ in by_distance(with_hops)] == ["0 hops (same broker)", "1 hop", "2 hops"]
    unknown = rows({"hops": None}, {"hops": None, "to_broker": "a"})
    assert [name for name, _ in by_distance(unknown)] == ["other broker (hops unknown)", "same broker (hops unknown)"]
