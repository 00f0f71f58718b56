"""Draws the percentile curves of arms: the middle run, and between which values the others lie."""

from dataclasses import dataclass
from math import log10
from statistics import median

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.comparison.arms import Arm
from reports.latency.spectrum import percentile_axis, trusted_fraction
from reports.parts.over_time import log_axis
from reports.parts.style import GRID, legend, legend_height, look, new_figure, plain_axes
from reports.parts.values import Column, Table


@dataclass(frozen=True)
class BandCurve:
    """Percentile curves of the runs of one arm: the middle one, and the least and the most, at the same fractions."""

    name: str
    fractions: tuple[float, ...]
    low_ms: tuple[float, ...]
    middle_ms: tuple[float, ...]
    high_ms: tuple[float, ...]
    style: int = 0


POINTS_PER_DECADE = 16
ROWS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


def band_curve(arm: Arm, style: int) -> BandCurve | None:
    """None without a run that received anything. It ends where fewer than ten samples of the smallest run remain."""
    measured = [run.latency for run in arm.runs if run.latency.count]
    if not measured:
        return None
    last = trusted_fraction(min(histogram.count for histogram in measured))
    decades = -log10(1 - last) if last else 0.0
    steps = max(1, round(decades * POINTS_PER_DECADE))
    fractions = [1 - 10 ** (-decades * step / steps) for step in range(steps + 1)]
    found = [[histogram.percentile(fraction) or 0.0 for histogram in measured] for fraction in fractions]
    kept = [(fraction, values) for fraction, values in zip(fractions, found, strict=True) if min(values) > 0]
    if not kept:
        return None
    return BandCurve(
        arm.name,
        tuple(fraction for fraction, _ in kept),
        tuple(min(values) for _, values in kept),
        tuple(median(values) for _, values in kept),
        tuple(max(values) for _, values in kept),
        style,
    )


def band_table(caption: str, arms: tuple[Arm, ...]) -> Table:
    """Three columns an arm: the fastest run, the median and the slowest, at each percentile of `ROWS`."""
    columns = [Column("Percentile")]
    for arm in arms:
        columns += [Column(f"{arm.name}, {what} (ms)", 3) for what in ("fastest run", "median", "slowest run")]
    rows: list[tuple[str | float | None, ...]] = []
    for fraction in ROWS:
        cells = [value for arm in arms for value in _three(arm, fraction)]
        if any(value is not None for value in cells):
            rows.append((f"{100 * fraction:.6g} %" if fraction else "smallest", *cells))
    return Table(caption, tuple(columns), tuple(rows), "No latency was measured.")


def _three(arm: Arm, fraction: float) -> tuple[float | None, float | None, float | None]:
    counted = [run.latency for run in arm.runs if run.latency.count]
    if not counted or any(fraction > trusted_fraction(histogram.count) for histogram in counted):
        return None, None, None
    values = [histogram.percentile(fraction) or 0.0 for histogram in counted]
    return min(values), median(values), max(values)


HEIGHT = 330


def draw_bands(curves: tuple[BandCurve, ...]) -> Figure:
    handles = [Line2D([], [], linewidth=2, markersize=5, label=curve.name, **look(curve.style)) for curve in curves]
    figure = new_figure(HEIGHT + legend_height(handles))
    axes = figure.subplots()
    plain_axes(axes, "ms")
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    for curve in curves:
        x = [1 / (1 - fraction) for fraction in curve.fractions]
        every = max(1, len(x) // 6)
        colour = look(curve.style)["color"]
        axes.fill_between(x, curve.low_ms, curve.high_ms, color=colour, alpha=0.18, linewidth=0)
        axes.plot(x, curve.middle_ms, linewidth=2, markersize=5, markevery=every, **look(curve.style))
    percentile_axis(axes, max(round(1 / (1 - curve.fractions[-1])) for curve in curves))
    log_axis(axes)
    legend(figure, handles)
    return figure
