"""Draws percentile curves of several runs as one line with a band from the fastest to the slowest of them."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.figures.spectrum import percentile_axis
from reports.figures.style import GRID, legend, legend_height, look, new_figure, plain_axes
from reports.figures.timeline import log_axis
from reports.values import BandCurve

HEIGHT = 330


def draw(curves: tuple[BandCurve, ...]) -> Figure:
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
