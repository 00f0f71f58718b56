"""Latency over time: percentiles per time step, and a heat map of message counts by time and latency."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil, floor, log10

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from reports.inputs import Results
from reports.latency.main_measure import DUE, main_measure, measure_text
from reports.latency.spectrum import NOTHING_RECEIVED
from reports.parts.histogram import Histogram, select
from reports.parts.numbers import significant
from reports.parts.over_time import (
    STEPS_S,
    Backdrop,
    Panel,
    TimeSeries,
    by_step,
    draw_backdrop,
    percentiles_over_time,
    second_ticks,
)
from reports.parts.style import LABEL_ROOM, chart, new_figure, plain_axes
from reports.parts.values import Chart, Column, Table


def latency(table: pa.Table, backdrop: Backdrop, measure: str = DUE) -> TimeSeries:
    lines = percentiles_over_time(select(table, measure=measure), backdrop)
    return TimeSeries(tuple(backdrop.starts), (Panel("", lines),), "ms", backdrop, log_y=True, decimals=2)


@dataclass(frozen=True)
class Heatmap:
    """``counts[row][column]``: messages of a latency bin (rows, ascending, ``edges_ms`` one longer) in a time step."""

    starts: tuple[int, ...]
    edges_ms: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    backdrop: Backdrop


BINS_PER_DECADE = 10
COARSE = (1, 2, 5)
MOST_TABLE_ROWS = 40


def heatmap(latency: pa.Table, backdrop: Backdrop, measure: str = DUE) -> Heatmap:
    """Return the heat map of one measure, with bins of a tenth of a decade.

    The axis is logarithmic, so values that are not above 0 are left out.
    """
    histogram_by_step = by_step(select(latency, measure=measure), backdrop)
    steps = tuple(backdrop.starts)
    edges = fine_edges(histogram_by_step.values())
    columns = [count_in_bins(histogram_by_step.get(start, Histogram(())), edges) for start in steps]
    counts = tuple(tuple(column[row] for column in columns) for row in range(max(0, len(edges) - 1)))
    return Heatmap(steps, edges, counts, backdrop)


def fine_edges(histograms: Iterable[Histogram]) -> tuple[float, ...]:
    """Return the edges of bins that hold every positive value."""
    values = [ms for histogram in histograms for ms, _ in histogram.pairs if ms > 0]
    if not values:
        return ()
    low = floor(log10(min(values)) * BINS_PER_DECADE)
    high = max(low + 1, ceil(log10(max(values)) * BINS_PER_DECADE + 1e-9))
    return tuple(10 ** (power / BINS_PER_DECADE) for power in range(low, high + 1))


def count_in_bins(histogram: Histogram, edges: tuple[float, ...]) -> list[int]:
    """Return the counts of the bins between the edges. A bin includes its lower edge."""
    counts = [0] * max(0, len(edges) - 1)
    for ms, count in histogram.pairs:
        if ms > 0 and counts:
            counts[min(bisect_right(edges, ms) - 1, len(counts) - 1)] += count
    return counts


def heatmap_table(latency: pa.Table, backdrop: Backdrop, measure: str = DUE) -> Table:
    """Return the heat map as a table, coarse enough to read: bins of 1, 2, 5, 10 … ms, and at most forty rows."""
    span_s = backdrop.last_s - backdrop.first_s + 1
    step_s = next((step for step in STEPS_S if span_s <= step * MOST_TABLE_ROWS), STEPS_S[-1])
    coarse = replace(backdrop, step_s=step_s)
    histogram_by_step = by_step(select(latency, measure=measure), coarse)
    edges = coarse_edges(histogram_by_step.values())
    bins = tuple(Column(f"below {significant(edge, 2)} ms", 0) for edge in edges[1:])
    rows = tuple(
        (float(start), *count_in_bins(histogram_by_step[start], edges))
        for start in coarse.starts
        if start in histogram_by_step
    )
    by = "due time" if measure == DUE else "time of sending"
    caption = f"Messages by {by} (steps of {step_s} s) and latency {measure_text(measure)}"
    return Table(caption, (Column("Second", 0), *bins), rows, "No latency was measured.")


def coarse_edges(histograms: Iterable[Histogram]) -> tuple[float, ...]:
    """Return edges of 1, 2, 5, 10 … that enclose every positive value."""
    values = [ms for histogram in histograms for ms, _ in histogram.pairs if ms > 0]
    if not values:
        return ()
    decades = range(floor(log10(min(values))), ceil(log10(max(values))) + 1)
    ladder = [digit * 10.0**decade for decade in decades for digit in COARSE]
    low = max(edge for edge in ladder if edge <= min(values) * (1 + 1e-12))
    high = next((edge for edge in ladder if edge > max(values)), 10 * ladder[-1])
    return tuple(edge for edge in ladder if low <= edge <= high) if high in ladder else (*ladder, high)


HEIGHT = 310
HUE = (0x2F / 255, 0x7D / 255, 0xE1 / 255)
"""Far enough from white and from near-black: a raster cannot follow the page's CSS variables."""
FAINTEST = 0.18


def draw_heatmap(heatmap: Heatmap) -> Figure:
    figure = new_figure(HEIGHT)
    axes = figure.subplots()
    plain_axes(axes, "ms", LABEL_ROOM)
    axes.grid(False)
    draw_backdrop(axes, heatmap.backdrop)
    low, high = log10(heatmap.edges_ms[0]), log10(heatmap.edges_ms[-1])
    left_s, right_s = heatmap.starts[0], heatmap.starts[-1] + heatmap.backdrop.step_s
    limits = axes.get_xlim()
    axes.imshow(
        pixels(heatmap.counts), extent=(left_s, right_s, low, high), origin="lower", aspect="auto", interpolation="none"
    )
    axes.set_xlim(limits)
    axes.yaxis.set_major_locator(FixedLocator(ticks(low, high)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: significant(10**at, 1)))
    second_ticks(axes, heatmap.backdrop)
    return figure


def ticks(low: float, high: float) -> list[float]:
    """Return the exponents of powers of ten within the axis; on a short axis also of their multiples by 2 and 5."""
    digits = (1, 2, 5) if high - low < 2 else (1,)
    exponents = [decade + log10(digit) for decade in range(floor(low), ceil(high) + 1) for digit in digits]
    return [at for at in exponents if low - 1e-9 <= at <= high + 1e-9]


def pixels(counts: tuple[tuple[int, ...], ...]) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """Return RGBA values, one pixel per cell; transparent for cells without messages."""
    values = np.asarray(counts, dtype=float)
    strongest = np.log1p(max(1.0, values.max()))
    opacity = np.where(values > 0, FAINTEST + (1 - FAINTEST) * np.log1p(values) / strongest, 0)
    image = np.empty((*values.shape, 4))
    image[..., :3], image[..., 3] = HUE, opacity
    return (image * 255).round().astype(np.uint8)


def heatmap_chart(results: Results, backdrop: Backdrop) -> Chart:
    table, measure = results.tables["latency"], main_measure(results.summary)
    cells = heatmap(table, backdrop, measure)
    most = max((count for row in cells.counts for count in row), default=0)
    lead = (
        f"All messages, {measure_text(measure)}. A stronger color means more messages: 1 to {most:,} in a cell, on a "
        "logarithmic scale."
    )
    draw = (lambda: draw_heatmap(cells)) if most else None
    return chart(
        "heatmap", "Messages by time and latency", lead, heatmap_table(table, backdrop, measure), draw, NOTHING_RECEIVED
    )
