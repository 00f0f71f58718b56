"""Draws percentile curves: latency against 1/(1−p), both logarithmic.

Grey where the figures are doubtful; grey, thin and dotted where too few samples remain.
"""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.figures.style import (
    GRID,
    MUTED,
    SERIES,
    SMALL,
    legend,
    legend_height,
    look,
    new_figure,
    plain_axes,
)
from reports.figures.timeline import log_axis
from reports.numbers import significant
from reports.values import Curve
from reports.views.spectrum import trusted_fraction

HEIGHT = 290
THIN: dict[str, Any] = {"color": MUTED, "linewidth": 1.2, "linestyle": (0, (1, 1.5))}
DOUBTFUL: dict[str, Any] = {"color": MUTED, "linewidth": 3.2, "solid_capstyle": "butt"}
TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


def draw(curves: tuple[Curve, ...]) -> Figure:
    handles = _handles(curves)
    figure = new_figure(HEIGHT + legend_height(handles))
    axes = figure.subplots()
    plain_axes(axes, "ms")
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    for curve in curves:
        _draw_curve(axes, curve)
        _draw_doubtful(axes, curve)
    percentile_axis(axes, max(curve.count for curve in curves))
    log_axis(axes)
    legend(figure, handles)
    return figure


def _draw_curve(axes: Axes, curve: Curve) -> None:
    """The part with at least ten samples beyond it in its colour, the rest thin, grey and dotted."""
    points = [(1 / (1 - fraction), ms) for fraction, ms in curve.points if ms > 0]
    edge = 1 / (1 - trusted_fraction(curve.count))
    trusted = [point for point in points if point[0] <= edge]
    thin = points[max(0, len(trusted) - 1) :]
    axes.plot(*_columns(thin), **THIN)
    every = max(1, len(points) // 6)
    axes.plot(
        *_columns(trusted),
        linewidth=2,
        markersize=5,
        markevery=(curve.style * every // SERIES % every, every),
        **look(curve.style),
    )


def _draw_doubtful(axes: Axes, curve: Curve) -> None:
    """Grey over the curve's colour, from each point before a doubtful one to it."""
    places = [(1 / (1 - fraction), ms) for fraction, ms in curve.points]
    for at, doubtful in enumerate(curve.doubtful):
        stretch = [point for point in places[max(0, at - 1) : at + 1] if point[1] > 0]
        if doubtful and len(stretch) > 1:
            axes.plot(*_columns(stretch), **DOUBTFUL)


def _columns(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def percentile_axis(axes: Axes, count: int) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1, max(10, count))
    shown = [fraction for fraction in TICKS if 1 / (1 - fraction) <= max(10.0, count * 1.01)]
    axes.xaxis.set_major_locator(FixedLocator([1 / (1 - fraction) for fraction in shown]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: percent(1 - 1 / x)))
    axes.set_xlabel("share of messages that were at least as fast", fontsize=SMALL, color=MUTED)


def percent(fraction: float) -> str:
    """0.9990000001 -> 99.9 %."""
    text = significant(round(100 * fraction, 6), 6)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def _handles(curves: tuple[Curve, ...]) -> list[Line2D]:
    handles = [Line2D([], [], linewidth=2, markersize=5, label=curve.name, **look(curve.style)) for curve in curves]
    if any(any(curve.doubtful) for curve in curves):
        handles.append(Line2D([], [], label="doubtful: not to be relied on", **DOUBTFUL))
    return [*handles, Line2D([], [], label="fewer than 10 samples beyond", **THIN)]
