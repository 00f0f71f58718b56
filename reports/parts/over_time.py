"""Charts over time: steps of the time axis, faults in the background, lines, and the equivalent table."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter

from records.run import Phases, RunInfo
from records.units import NS_PER_S
from reports.parts.histogram import Histogram, select
from reports.parts.numbers import significant
from reports.parts.style import (
    BAND,
    FAULT,
    LABEL_ROOM,
    MUTED,
    SERIES,
    SMALL,
    chart,
    legend,
    legend_height,
    look,
    new_figure,
    plain_axes,
)
from reports.parts.values import Cell, Chart, Column, Table


@dataclass(frozen=True)
class Line:
    """One series. ``style`` picks color, dash and marker together, so that one broker looks the same everywhere."""

    name: str
    values: tuple[float | None, ...]
    style: int = 0
    muted: bool = False


@dataclass(frozen=True)
class Panel:
    """One set of axes; the panels of a timeline share its seconds."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class FaultBand:
    """A fault on the time axis, in seconds from the start of the load; ``ended_s`` None: never mended."""

    label: str
    description: str
    began_s: float
    ended_s: float | None
    error: str = ""


@dataclass(frozen=True)
class PauseMark:
    """A pause by the garbage collector of a recorded JVM, in seconds from the start of the load."""

    jvm: str
    began_s: float
    lasted_s: float


@dataclass(frozen=True)
class Backdrop:
    """The background of every plot over time. All in seconds from the start of the load."""

    first_s: int
    last_s: int
    load_s: float
    faults: tuple[FaultBand, ...] = ()
    step_s: int = 1
    pauses: tuple[PauseMark, ...] = ()

    @property
    def starts(self) -> range:
        """The first second of every step; steps are aligned to the start of the load."""
        return range(self.first_s // self.step_s * self.step_s, self.last_s + 1, self.step_s)

    def width_s(self, start: int) -> int:
        """Return how many seconds of a step are inside the run: the first and the last step may be cut short."""
        return min(start + self.step_s, self.last_s + 1) - max(start, self.first_s)


@dataclass(frozen=True)
class TimeSeries:
    """Series over time, one value for each step (null if there is none)."""

    starts: tuple[int, ...]
    panels: tuple[Panel, ...]
    unit: str
    backdrop: Backdrop
    log_y: bool = False
    layered: bool = False  # series that lie on each other are drawn from broad to narrow
    decimals: int = 0

    @property
    def empty(self) -> bool:
        return not any(value is not None for panel in self.panels for line in panel.lines for value in line.values)


MOST_STEPS, MOST_STEPS_OF_MANY = 240, 120
MANY = 12
"""With more brokers than this, charts have fewer steps: a report stays under 1 MB."""
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600)
TIMED = ("rates", "latency", "connections")


def backdrop(
    tables: Mapping[str, pa.Table],
    run: RunInfo,
    load_s: float,
    faults: pa.Table | None,
    unplanned: tuple[FaultBand, ...] = (),
) -> Backdrop:
    """Return the time span of all messages and clients, in steps that are short enough to see and few enough to draw.

    ``unplanned``: outages that no fault caused.
    """
    seconds = [int(value) for name in TIMED if tables[name].num_rows for value in _extremes(tables[name]["second"])]
    first_s, last_s = (min(seconds), max(seconds)) if seconds else (0, max(0, int(load_s) - 1))
    step_s = step_of(last_s - first_s + 1, MOST_STEPS_OF_MANY if len(run.brokers) > MANY else MOST_STEPS)
    return Backdrop(first_s, last_s, load_s, (*bands(run.phases, faults, tables["latency"]), *unplanned), step_s)


def step_of(span_s: int, most_steps: int) -> int:
    """Return the shortest step that gives at most ``most_steps`` steps."""
    return next((step for step in STEPS_S if span_s <= step * most_steps), STEPS_S[-1])


def bands(phases: Phases, faults: pa.Table | None, latency: pa.Table) -> tuple[FaultBand, ...]:
    """Return the faults from their own events; without events, the seconds that the analysis marked as in a fault."""
    if faults is None or phases.load_began_ns is None:
        return _marked(latency)
    rows = sorted(faults.to_pylist(), key=lambda row: int(row["began_ns"]))
    return tuple(_band(number, row, phases.load_began_ns) for number, row in enumerate(rows, start=1))


def _band(number: int, row: Mapping[str, object], load_began_ns: int) -> FaultBand:
    def since_load_s(at_ns: object) -> float | None:
        return (at_ns - load_began_ns) / NS_PER_S if isinstance(at_ns, int) else None

    description = f"{row['kind']} {row['target']}".strip()
    began_s = since_load_s(row["began_ns"]) or 0.0
    ended_s = since_load_s(row["ended_ns"] if row["restored_ns"] is None else row["restored_ns"])
    return FaultBand(f"F{number}", description, began_s, ended_s, str(row["error"] or ""))


def _marked(latency: pa.Table) -> tuple[FaultBand, ...]:
    marked = latency.filter(latency["in_fault"])["second"]
    if not len(marked):
        return ()
    first_s, last_s = _extremes(marked)
    return (FaultBand("F1", "fault (by the analysis' marks)", float(first_s), float(last_s + 1)),)


def _extremes(seconds: pa.ChunkedArray) -> tuple[int, int]:
    extremes = pc.min_max(seconds).as_py()
    return extremes["min"], extremes["max"]


def with_step(rows: pa.Table, backdrop: Backdrop) -> pa.Table:
    """Append the column ``step``: the first second of each row's step."""
    steps = pc.cast(pc.floor(pc.divide(pc.cast(rows["second"], pa.float64()), float(backdrop.step_s))), pa.int64())
    return rows.append_column("step", pc.multiply(steps, backdrop.step_s))


def summed(rows: pa.Table, column: str, backdrop: Backdrop) -> dict[int, int]:
    """Return the sum of a column by step; steps without rows are absent."""
    sums = with_step(rows, backdrop).group_by("step").aggregate([(column, "sum")])
    return dict(zip(sums["step"].to_pylist(), sums[f"{column}_sum"].to_pylist(), strict=True))


def last_of_steps(by_second: dict[int, int], backdrop: Backdrop) -> tuple[int | None, ...]:
    """Return the last value in each step; None for a step without values."""
    last = {second // backdrop.step_s * backdrop.step_s: by_second[second] for second in sorted(by_second)}
    return tuple(last.get(start) for start in backdrop.starts)


def highest_of_steps(by_second: dict[int, int], backdrop: Backdrop) -> tuple[int | None, ...]:
    """Return the highest value in each step; None for a step without values."""
    highest: dict[int, int] = {}
    for second, value in by_second.items():
        step = second // backdrop.step_s * backdrop.step_s
        highest[step] = max(value, highest.get(step, value))
    return tuple(highest.get(start) for start in backdrop.starts)


def mean_of_steps(by_second: dict[int, int], backdrop: Backdrop) -> tuple[float | None, ...]:
    """Return the mean over the seconds that have a value; None for a step without values."""
    values: dict[int, list[int]] = {}
    for second, value in by_second.items():
        values.setdefault(second // backdrop.step_s * backdrop.step_s, []).append(value)
    return tuple(sum(values[s]) / len(values[s]) if s in values else None for s in backdrop.starts)


def series_table(caption: str, timeline: TimeSeries, empty: str) -> Table:
    """Return a row per step and a column per line. Steps without a recorded value are left out."""
    lines = [(panel.name, line) for panel in timeline.panels for line in panel.lines]
    titles = [f"{panel}: {line.name}" if panel else line.name for panel, line in lines]
    columns = (Column("Second", 0), *(Column(f"{title} ({timeline.unit})", timeline.decimals) for title in titles))
    rows: list[tuple[Cell, ...]] = []
    for at, start in enumerate(timeline.starts):
        values = tuple(line.values[at] for _, line in lines)
        if any(value is not None for value in values):
            rows.append((start, *values))
    step_s = timeline.backdrop.step_s
    counted = f"{caption}; seconds from the start of the load" + (f", in steps of {step_s} s" if step_s > 1 else "")
    return Table(counted, columns, tuple(rows), empty)


PAUSE = MUTED
MINUTES_FROM_S = 300
ROUND_S = (60, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200, 21_600)


def draw_backdrop(axes: Axes, backdrop: Backdrop, labeled: bool = True) -> None:
    """Shade the times outside the load, and each fault with its number. Faults are hatched, not only colored."""
    first_s, last_s = float(backdrop.first_s), float(backdrop.last_s + 1)
    end = min(last_s, backdrop.load_s) if backdrop.load_s else last_s
    axes.set_xlim(min(first_s, 0.0), max(last_s, first_s + 1))
    for start, stop, name in ((first_s, 0.0, "warm-up"), (end, last_s, "drain")):
        if stop - start > 0:
            axes.axvspan(start, stop, facecolor=BAND, edgecolor="none", zorder=0)
            if labeled and stop - start > 0.1 * (last_s - first_s):
                _label(axes, (start + stop) / 2, name)
    for band in backdrop.faults:
        start, stop = max(first_s, band.began_s), min(last_s, last_s if band.ended_s is None else band.ended_s)
        if start <= stop:  # the part of it that the plot shows, if any
            _draw_fault(axes, start, stop)
            if labeled:
                _label(axes, (start + stop) / 2, band.label)
    for pause in backdrop.pauses:
        if first_s <= pause.began_s <= last_s:
            ended_s = pause.began_s + pause.lasted_s
            axes.axvspan(pause.began_s, ended_s, ymax=0.08, color=PAUSE, linewidth=1, zorder=0.7)


def _draw_fault(axes: Axes, start: float, stop: float) -> None:
    axes.axvspan(start, stop, facecolor="none", edgecolor=FAULT, hatch="////", linewidth=0, zorder=0.5)
    for at_s in (start, stop):
        axes.axvline(at_s, color=FAULT, linewidth=1, zorder=0.6)


def _label(axes: Axes, at_s: float, text: str) -> None:
    axes.text(
        at_s,
        1.01,
        text,
        transform=axes.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize=SMALL,
        color=MUTED,
        clip_on=False,
    )


def second_ticks(axes: Axes, backdrop: Backdrop) -> None:
    """Label the time axis in seconds, or in minutes and seconds for a long run."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))
    if backdrop.last_s >= MINUTES_FROM_S:
        span_s = backdrop.last_s - backdrop.first_s
        axes.xaxis.set_major_locator(MultipleLocator(next((s for s in ROUND_S if span_s <= 7 * s), ROUND_S[-1])))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at_s, _: clock(at_s)))
        axes.set_xlabel("minutes:seconds from the start of the load", fontsize=SMALL, color=MUTED)
    else:
        axes.set_xlabel("seconds from the start of the load", fontsize=SMALL, color=MUTED)


def clock(at_s: float) -> str:
    """Return 90 as ``1:30``, and -5 as ``−0:05``."""
    minutes, seconds = divmod(abs(round(at_s)), 60)
    return f"{'−' if at_s < 0 else ''}{minutes}:{seconds:02d}"


FRAME_HEIGHT, PLOT_HEIGHT, LEAST_PANEL_HEIGHT = 90, 200, 110
MARKS = 12
MUTED_LOOK: dict[str, Any] = {"color": MUTED, "linewidth": 0.8, "alpha": 0.5}


def draw_series(timeline: TimeSeries) -> Figure:
    """Draw one set of axes per panel, one above the other with the same time axis."""
    handles = _handles(timeline)
    plots = max(PLOT_HEIGHT, LEAST_PANEL_HEIGHT * len(timeline.panels))
    figure = new_figure(FRAME_HEIGHT + plots + legend_height(handles))
    axes = figure.subplots(len(timeline.panels), 1, sharex=True, squeeze=False)[:, 0]
    for at, (panel_axes, panel) in enumerate(zip(axes, timeline.panels, strict=True)):
        _draw_panel(panel_axes, timeline, panel, topmost=at == 0)
    second_ticks(axes[-1], timeline.backdrop)
    legend(figure, handles)
    return figure


def _draw_panel(axes: Axes, timeline: TimeSeries, panel: Panel, topmost: bool) -> None:
    unit = f"{panel.name}: {timeline.unit}" if panel.name else timeline.unit
    plain_axes(axes, unit, LABEL_ROOM if topmost else 4)
    draw_backdrop(axes, timeline.backdrop, labeled=topmost)
    for line in sorted(panel.lines, key=lambda line: not line.muted):
        _draw_line(axes, timeline, line)
    if timeline.log_y:
        log_axis(axes)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=timeline.decimals == 0, min_n_ticks=2))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.set_ylim(bottom=0)


def _draw_line(axes: Axes, timeline: TimeSeries, line: Line) -> None:
    """Draw each value in the middle of the step. Steps without a value are gaps."""
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
    style_look = look(line.style)
    if not timeline.layered:
        return style_look | {"linewidth": 1.8, "markersize": 4.5}
    width = max(1.4, 6 - 1.6 * line.style)
    broad = {"linestyle": "-", "markersize": 0, "alpha": 0.45} if width > 4 else {"markersize": 4.5}
    return style_look | {"linewidth": width} | broad


def log_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(base=10, numticks=7))
    axes.yaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    if high / low < 300:
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=8))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))


def _handles(timeline: TimeSeries) -> list[Line2D]:
    """Return each line once, even if several panels have it, then the muted lines."""
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


def chart_over_time(anchor: str, title: str, lead: str, series: TimeSeries, missing: str) -> Chart:
    draw = None if series.empty else lambda: draw_series(series)
    return chart(anchor, title, lead, series_table(title, series, missing), draw, missing)


SHOWN = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))


def by_step(rows: pa.Table, backdrop: Backdrop) -> dict[int, Histogram]:
    """Return all latencies by step, buckets merged (percentiles of several seconds are never averaged)."""
    counts = with_step(rows, backdrop).group_by(["step", "bucket"]).aggregate([("count", "sum")])
    steps = sorted(set(counts["step"].to_pylist()))
    renamed = counts.rename_columns(["step", "bucket", "count"])
    return {step: Histogram.of(select(renamed, step=step)) for step in steps}


def percentiles_over_time(rows: pa.Table, backdrop: Backdrop) -> tuple[Line, ...]:
    """Return the median, 99th percentile and largest latency of the messages due in each step, in ms."""
    histogram_by_step = by_step(rows, backdrop)
    empty = Histogram(())
    return tuple(
        Line(name, tuple(histogram_by_step.get(start, empty).percentile(fraction) for start in backdrop.starts), style)
        for style, (name, fraction) in enumerate(SHOWN)
    )
