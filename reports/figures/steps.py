"""Draws latency beside the rate: a line through the steps for each percentile. Steps that were not held are hollow."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from reports.figures.style import MUTED, SMALL, legend, legend_height, look, new_figure, plain_axes
from reports.numbers import significant
from reports.views.steps import RatePoint

HEIGHT = 250
HELD, NOT_HELD = 7, 9  # marker sizes
LEAST_MS = 0.001


def draw(points: Sequence[RatePoint]) -> Figure:
    series = {"p50": [point.p50_ms for point in points], "p99": [point.p99_ms for point in points]}
    handles = [
        Line2D([], [], linewidth=2, markersize=HELD, label=name, **look(style)) for style, name in enumerate(series)
    ]
    figure = new_figure(HEIGHT + legend_height(handles))
    axes = figure.subplots()
    plain_axes(axes, "due → received, ms")
    for style, values_ms in enumerate(series.values()):
        _draw_line(axes, points, values_ms, look(style))
    _scale(axes)
    legend(figure, handles)
    return figure


def _draw_line(
    axes: Axes, points: Sequence[RatePoint], values_ms: Sequence[float | None], drawn: Mapping[str, Any]
) -> None:
    known = [nan if value is None else max(value, LEAST_MS) for value in values_ms]
    colour, marker = drawn["color"], drawn["marker"]
    rates = [point.rate_per_s for point in points]
    axes.plot(rates, known, linewidth=2, color=colour, linestyle=drawn["linestyle"])
    for point, value in zip(points, known, strict=True):
        size, inside = (HELD, colour) if point.held else (NOT_HELD, "none")
        axes.plot(point.rate_per_s, value, marker, color=colour, markersize=size, markerfacecolor=inside)


def _scale(axes: Axes) -> None:
    """Rates from 0; latencies by orders of magnitude, as a broker that takes no more is slower by some of them."""
    axes.set_xlim(left=0)
    axes.set_xlabel("messages due a second", fontsize=SMALL, color=MUTED)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))
