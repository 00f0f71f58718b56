"""Draws series over time: rates, latencies, connections, depths, CPU, heap and lag."""

from math import nan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from reports.figures.style import (
    LABEL_ROOM,
    MUTED,
    SERIES,
    legend,
    legend_height,
    look,
    new_figure,
    plain_axes,
)
from reports.figures.time_axis import draw_backdrop, second_ticks
from reports.numbers import significant
from reports.values import Line, Panel, TimeSeries

FRAME_HEIGHT, PLOT_HEIGHT, LEAST_PANEL_HEIGHT = 90, 200, 110
MARKS = 12
MUTED_LOOK: dict[str, Any] = {"color": MUTED, "linewidth": 0.8, "alpha": 0.5}


def draw(timeline: TimeSeries) -> Figure:
    """One set of axes a panel, one above the other on the same seconds."""
    handles = _handles(timeline)
    plots = max(PLOT_HEIGHT, LEAST_PANEL_HEIGHT * len(timeline.panels))
    figure = new_figure(FRAME_HEIGHT + plots + legend_height(handles))
    axes = figure.subplots(len(timeline.panels), 1, sharex=True, squeeze=False)[:, 0]
    for at, (each, panel) in enumerate(zip(axes, timeline.panels, strict=True)):
        _draw_panel(each, timeline, panel, first=at == 0)
    second_ticks(axes[-1], timeline.backdrop)
    legend(figure, handles)
    return figure


def _draw_panel(axes: Axes, timeline: TimeSeries, panel: Panel, first: bool) -> None:
    unit = f"{panel.name}: {timeline.unit}" if panel.name else timeline.unit
    plain_axes(axes, unit, LABEL_ROOM if first else 4)
    draw_backdrop(axes, timeline.backdrop, labelled=first)
    for line in sorted(panel.lines, key=lambda line: not line.muted):
        _draw_line(axes, timeline, line)
    if timeline.log_y:
        log_axis(axes)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=timeline.decimals == 0, min_n_ticks=2))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.set_ylim(bottom=0)


def _draw_line(axes: Axes, timeline: TimeSeries, line: Line) -> None:
    """Each value stands in the middle of its step; a step without one is a gap."""
    half = timeline.backdrop.step_s / 2
    xs = [start + half for start in timeline.starts]
    ys = [nan if value is None or (timeline.log_y and value <= 0) else value for value in line.values]
    axes.plot(xs, ys, **_look(timeline, line), markevery=_marks(line, len(xs)))


def _marks(line: Line, steps: int) -> tuple[int, int]:
    every = max(1, steps // MARKS)
    return (line.style * every // SERIES % every, every)


def _look(timeline: TimeSeries, line: Line) -> dict[str, Any]:
    if line.muted:
        return MUTED_LOOK
    found = look(line.style)
    if not timeline.layered:
        return found | {"linewidth": 1.8, "markersize": 4.5}
    width = max(1.4, 6 - 1.6 * line.style)
    broad = {"linestyle": "-", "markersize": 0, "alpha": 0.45} if width > 4 else {"markersize": 4.5}
    return found | {"linewidth": width} | broad


def log_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(base=10, numticks=7))
    axes.yaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    if high / low < 300:
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=8))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))


def _handles(timeline: TimeSeries) -> list[Line2D]:
    """A line once, even when several panels have it; then what is muted."""
    lines = [line for panel in timeline.panels for line in panel.lines]
    drawn = {line.name: line for line in reversed(lines) if not line.muted and _has_values(line)}
    ordered = dict.fromkeys(line.name for line in lines if line.name in drawn)
    handles = [Line2D([], [], label=name, **_look(timeline, drawn[name])) for name in ordered]
    muted = len({line.name for line in lines if line.muted} - drawn.keys())
    if muted:
        handles.append(Line2D([], [], label=f"{muted} more (in the table)", **MUTED_LOOK))
    return handles


def _has_values(line: Line) -> bool:
    return any(value is not None for value in line.values)
