"""Draws a figure night by night: a line for each arm through the middle of its runs, a band for their range."""

from math import nan

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from reports.figures.style import legend, legend_height, look, new_figure, plain_axes
from reports.nightly.trend import Trend, TrendLine

HEIGHT = 230
MOST_LABELS = 5


def draw(trend: Trend) -> Figure:
    handles = [Line2D([], [], linewidth=2, markersize=5, label=line.name, **look(line.style)) for line in trend.lines]
    figure = new_figure(HEIGHT + legend_height(handles))
    axes = figure.subplots()
    plain_axes(axes, trend.metric.unit)
    at = range(len(trend.nights))
    for line in trend.lines:
        low, middle, high = ([nan if each is None else each for each in values] for values in _of(line))
        axes.fill_between(at, low, high, color=look(line.style)["color"], alpha=0.18, linewidth=0)
        axes.plot(at, middle, linewidth=2, markersize=5, **look(line.style))
    axes.set_ylim(bottom=0)
    every = max(1, -(-len(trend.nights) // MOST_LABELS))
    axes.xaxis.set_major_locator(FixedLocator(list(at)[::every]))
    axes.set_xticklabels(trend.nights[::every])
    legend(figure, handles)
    return figure


def _of(line: TrendLine) -> tuple[tuple[float | None, ...], ...]:
    return (line.low, line.middle, line.high)
