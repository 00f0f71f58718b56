"""Draws a comparison: the ratio of each arm to the first, block by block, and the percentile curves of all arms.

Each chart's text, drawing and table are defined together.
"""

from dataclasses import dataclass
from math import exp, log, log10
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.comparison.arms import Arm
from reports.comparison.comparison import Comparison
from reports.latency.spectrum import percentile_axis, trusted_fraction
from reports.parts.over_time import log_axis
from reports.parts.style import (
    BAND,
    GRID,
    INK,
    MUTED,
    SMALL,
    chart,
    legend,
    legend_height,
    look,
    new_figure,
    plain_axes,
    shortened,
)
from reports.parts.values import Chart, Column, Table


@dataclass(frozen=True)
class DotRow:
    """The ratios of one arm to the first, one per block, with their estimate and its interval."""

    name: str
    ratios: tuple[float, ...]
    center: float
    low: float
    high: float
    style: int = 0


ROW, ROOM = 62, 74
TICKS = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)
MOST_TICKS = 7


def draw_differences(rows: tuple[DotRow, ...], same_within: float) -> Figure:
    """Draw the ratios of each row. ``same_within``: percent either way that count as the same, drawn as a band."""
    figure = new_figure(ROOM + ROW * len(rows))
    axes = figure.subplots()
    plain_axes(axes, "ratio to the first arm")
    axes.set_xscale("log")
    axes.axvspan(1 / (1 + same_within / 100), 1 + same_within / 100, color=BAND, linewidth=0)
    axes.axvline(1, color=MUTED, linewidth=1.2, linestyle=(0, (1, 1.5)))
    for at, row in enumerate(rows):
        _draw_row(axes, -at, row)
    axes.set_ylim(0.5 - len(rows), 0.75)
    axes.yaxis.set_major_locator(FixedLocator([-at + 0.36 for at in range(len(rows))]))
    axes.grid(False, axis="y")
    axes.set_yticklabels(["" for _ in rows])
    _ratio_axis(axes, rows, same_within)
    return figure


def _draw_row(axes: Axes, y: float, row: DotRow) -> None:
    color, marker = look(row.style)["color"], look(row.style)["marker"]
    axes.text(0.0, y + 0.42, shortened(row.name), transform=axes.get_yaxis_transform(), fontsize=SMALL, color=INK)
    axes.plot(
        row.ratios, [y + 0.12] * len(row.ratios), linestyle="", marker=marker, markersize=6, color=color, alpha=0.6
    )
    axes.plot([row.low, row.high], [y - 0.2] * 2, color=color, linewidth=3)
    axes.plot([row.center], [y - 0.2], linestyle="", marker="D", markersize=8, color=color)


def _ratio_axis(axes: Axes, rows: tuple[DotRow, ...], same_within: float) -> None:
    """Make the axis equally wide on both sides of 1, so that neither side looks longer than it is."""
    values = [value for row in rows for value in (*row.ratios, row.low, row.high)]
    reach = 1.12 * max(log(1 + same_within / 100) * 1.5, *(abs(log(value)) for value in values))
    axes.set_xlim(exp(-reach), exp(reach))
    axes.xaxis.set_major_locator(FixedLocator(ratio_ticks(reach)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"× {x:.2g}" if x < 1 else f"× {x:g}"))
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)


def ratio_ticks(reach: float) -> list[float]:
    """Return the ratios to mark on an axis from exp(-reach) to exp(reach).

    They are 1, and then outward the ratios that are far enough apart.
    """
    apart = 2 * reach / MOST_TICKS
    above: list[float] = []
    for tick in (tick for tick in TICKS if 1 < tick <= exp(reach)):
        if log(tick) - log(above[-1] if above else 1) >= apart:
            above.append(tick)
    return [*(1 / tick for tick in reversed(above)), 1.0, *above]


@dataclass(frozen=True)
class BandCurve:
    """Percentile curves of one arm: minimum, median and maximum over its runs, at the same fractions."""

    name: str
    fractions: tuple[float, ...]
    low_ms: tuple[float, ...]
    middle_ms: tuple[float, ...]
    high_ms: tuple[float, ...]
    style: int = 0


POINTS_PER_DECADE = 16
ROWS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


def band_curve(arm: Arm, style: int) -> BandCurve | None:
    """Return the arm's curves; None if no run received anything.

    The curves end at the fraction beyond which the smallest run has fewer than ten samples.
    """
    measured = [run.latency for run in arm.runs if run.latency.count]
    if not measured:
        return None
    last = trusted_fraction(min(histogram.count for histogram in measured))
    decades = -log10(1 - last) if last else 0.0
    steps = max(1, round(decades * POINTS_PER_DECADE))
    fractions = [1 - 10 ** (-decades * step / steps) for step in range(steps + 1)]
    values_by_fraction = [[histogram.percentile(fraction) or 0.0 for histogram in measured] for fraction in fractions]
    positive = [
        (fraction, values) for fraction, values in zip(fractions, values_by_fraction, strict=True) if min(values) > 0
    ]
    if not positive:
        return None
    return BandCurve(
        arm.name,
        tuple(fraction for fraction, _ in positive),
        tuple(min(values) for _, values in positive),
        tuple(median(values) for _, values in positive),
        tuple(max(values) for _, values in positive),
        style,
    )


def band_table(caption: str, arms: tuple[Arm, ...]) -> Table:
    """Return a table with a row per percentile of `ROWS`, and with three columns per arm.

    The columns are the fastest run, the median and the slowest run.
    """
    columns = [Column("Percentile")]
    for arm in arms:
        columns += [
            Column(f"{arm.name}, {statistic} (ms)", 3) for statistic in ("fastest run", "median", "slowest run")
        ]
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
        color = look(curve.style)["color"]
        axes.fill_between(x, curve.low_ms, curve.high_ms, color=color, alpha=0.18, linewidth=0)
        axes.plot(x, curve.middle_ms, linewidth=2, markersize=5, markevery=every, **look(curve.style))
    percentile_axis(axes, max(round(1 / (1 - curve.fractions[-1])) for curve in curves))
    log_axis(axes)
    legend(figure, handles)
    return figure


def charts_of(comparison: Comparison, several: bool) -> tuple[Chart, ...]:
    """Return the charts of a comparison. ``several``: whether other scenarios have the same charts on the page."""
    under, anchor = (f" ({comparison.scenario})", f"-{comparison.scenario}") if several else ("", "")
    return (*_differences(comparison, under, anchor), _spectra(comparison, under, anchor))


def _differences(comparison: Comparison, under: str, anchor: str) -> tuple[Chart, ...]:
    """Return a chart per primary figure, with a row of dots per arm."""
    charts = []
    for number, metric in enumerate(comparison.primary, 1):
        rows = tuple(
            row
            for style, arm in enumerate(comparison.design.rows)
            if (row := _dots(comparison, metric.path, arm.name, style))
        )
        title = (
            f"{metric.title[:1].upper()}{metric.title[1:]} against {comparison.reference.name}, block by block{under}"
        )
        words = (
            "Each small mark is the ratio of two runs of one block. The diamond is the Hodges–Lehmann estimate, the "
            f"bar its interval. The shaded band is {comparison.same_within:g} % either way, which counts as the same."
        )
        table = _ratio_table(comparison, metric.path, title)
        draw = (lambda rows=rows: draw_differences(rows, comparison.same_within)) if rows else None
        missing = "No block has this figure in both arms."
        charts.append(chart(f"difference{anchor}-{number}", title, words, table, draw, missing))
    return tuple(charts)


def _dots(comparison: Comparison, path: str, arm: str, style: int) -> DotRow | None:
    figure = comparison.figures[path, arm]
    if figure.against is None:
        return None
    ratio = figure.against
    return DotRow(arm, tuple(map(exp, figure.used)), exp(ratio.center), exp(ratio.low), exp(ratio.high), style)


def _ratio_table(comparison: Comparison, path: str, caption: str) -> Table:
    arms = [arm.name for arm in comparison.design.rows[1:]]
    columns = (Column("Block"), *(Column(arm, 3) for arm in arms))
    rows = tuple(
        (block, *(_exp(comparison.figures[path, arm].log_ratios[at]) for arm in arms))
        for at, block in enumerate(comparison.design.blocks)
    )
    return Table(f"{caption} (ratios)", columns, rows)


def _exp(value: float | None) -> float | None:
    return None if value is None else exp(value)


def _spectra(comparison: Comparison, under: str, anchor: str) -> Chart:
    arms = comparison.design.arms
    curves = tuple(curve for style, arm in enumerate(arms) if (curve := band_curve(arm, style)))
    title = f"Latency from the fastest to the slowest message{under}"
    words = (
        "Due to received, load phase. The line is the median of the arm's runs at each percentile, the band reaches "
        "from its fastest to its slowest run. A curve ends where a run has fewer than ten samples beyond."
    )
    draw = (lambda: draw_bands(curves)) if curves else None
    return chart(f"spectra{anchor}", title, words, band_table(title, arms), draw, "No message was received.")
