"""Counts all messages by time and by latency at once."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from math import ceil, floor, log10

import pyarrow as pa

from reports.numbers import significant
from reports.values import Backdrop, Column, Heatmap, Table
from reports.views.backdrop import STEPS_S
from reports.views.histogram import Histogram, select
from reports.views.latency import by_step

BINS_PER_DECADE = 10
COARSE = (1, 2, 5)
MOST_TABLE_ROWS = 40


def heatmap(latency: pa.Table, backdrop: Backdrop) -> Heatmap:
    """Due → received, bins of a tenth of a decade. Values not above 0 do not fit on this axis, and are left out."""
    found = by_step(select(latency, measure="due_to_received"), backdrop)
    steps = tuple(backdrop.starts)
    edges = fine_edges(found.values())
    columns = [binned(found.get(start, Histogram(())), edges) for start in steps]
    counts = tuple(tuple(column[row] for column in columns) for row in range(max(0, len(edges) - 1)))
    return Heatmap(steps, edges, counts, backdrop)


def fine_edges(histograms: Iterable[Histogram]) -> tuple[float, ...]:
    """Edges of bins that hold every positive value."""
    values = [ms for histogram in histograms for ms, _ in histogram.pairs if ms > 0]
    if not values:
        return ()
    low = floor(log10(min(values)) * BINS_PER_DECADE)
    high = max(low + 1, ceil(log10(max(values)) * BINS_PER_DECADE + 1e-9))
    return tuple(10 ** (power / BINS_PER_DECADE) for power in range(low, high + 1))


def binned(histogram: Histogram, edges: tuple[float, ...]) -> list[int]:
    """Counts of the bins between the edges, lower edge included."""
    counts = [0] * max(0, len(edges) - 1)
    for ms, count in histogram.pairs:
        if ms > 0 and counts:
            counts[min(bisect_right(edges, ms) - 1, len(counts) - 1)] += count
    return counts


def table(latency: pa.Table, backdrop: Backdrop) -> Table:
    """The same, coarse enough to read: bins of 1, 2, 5, 10 … ms and at most forty rows."""
    span_s = backdrop.last_s - backdrop.first_s + 1
    step_s = next((step for step in STEPS_S if span_s <= step * MOST_TABLE_ROWS), STEPS_S[-1])
    coarse = replace(backdrop, step_s=step_s)
    found = by_step(select(latency, measure="due_to_received"), coarse)
    edges = coarse_edges(found.values())
    bins = tuple(Column(f"below {significant(edge, 2)} ms", 0) for edge in edges[1:])
    rows = tuple((float(start), *binned(found[start], edges)) for start in coarse.starts if start in found)
    caption = f"Messages by due time (steps of {step_s} s) and latency due → received"
    return Table(caption, (Column("Second", 0), *bins), rows, "No latency was measured.")


def coarse_edges(histograms: Iterable[Histogram]) -> tuple[float, ...]:
    """1, 2, 5, 10 … around every positive value."""
    values = [ms for histogram in histograms for ms, _ in histogram.pairs if ms > 0]
    if not values:
        return ()
    decades = range(floor(log10(min(values))), ceil(log10(max(values))) + 1)
    ladder = [digit * 10.0**decade for decade in decades for digit in COARSE]
    low = max(edge for edge in ladder if edge <= min(values) * (1 + 1e-12))
    high = next((edge for edge in ladder if edge > max(values)), 10 * ladder[-1])
    return tuple(edge for edge in ladder if low <= edge <= high) if high in ladder else (*ladder, high)
