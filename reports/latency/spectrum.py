"""The spectrum of latency, from the fastest to the slowest message, with its table and the percentiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log10
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from records.figures.latency import differs
from records.figures.percentiles import LEAST_BEYOND
from records.figures.summary import Summary
from reports.latency.main_measure import DUE
from reports.parts.histogram import Histogram, select
from reports.parts.numbers import significant
from reports.parts.over_time import log_axis
from reports.parts.style import GRID, MUTED, SERIES, SMALL, chart, legend, legend_height, look, new_figure, plain_axes
from reports.parts.values import Cell, Chart, Column, Table


@dataclass(frozen=True)
class Curve:
    """A percentile curve: (fraction, ms) in ascending order. ``count``: samples behind it.

    ``doubtful``: for each point, whether its value is unreliable; empty if all are reliable.
    """

    name: str
    count: int
    points: tuple[tuple[float, float], ...]
    style: int = 0
    doubtful: tuple[bool, ...] = ()


MEASURES = {
    "due_to_received": "due → received",
    "sent_to_received": "sent → received",
    "sent_to_settled": "sent → confirmed",
    "round_trip": "round trip of requests",
}
KEYS = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")
LESS_OWN = "due → received, less the generator's own delay"
OUTSIDE_FAULTS = "due → received, outside faults"
FRACTIONS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
POINTS_PER_DECADE = 30


@dataclass(frozen=True)
class Reliance:
    """Marks points of curves as doubtful; curves by name.

    ``less_own``: the same messages without the generator's own delay: a point that differs from it is doubtful.
    ``wholly``: names of curves without a reliable figure, because the clocks disagree.
    """

    less_own: Mapping[str, Histogram] = field(default_factory=dict)
    wholly: frozenset[str] = frozenset()


def curve(name: str, histogram: Histogram, style: int = 0, reliance: Reliance = Reliance()) -> Curve:
    """Return points that are evenly spread on the 1/(1−p) axis. The last is the largest sample, one in ``count``."""
    if not histogram.count:
        return Curve(name, 0, (), style)
    points = _points(histogram)
    if name in reliance.wholly:
        return Curve(name, histogram.count, points, style, (True,) * len(points))
    return Curve(name, histogram.count, points, style, _doubtful(points, reliance.less_own.get(name)))


def _doubtful(points: tuple[tuple[float, float], ...], less_own: Histogram | None) -> tuple[bool, ...]:
    if less_own is None or not less_own.count:
        return ()
    less_own_values = [*(less_own.percentile(fraction) for fraction, _ in points[:-1]), less_own.maximum]
    return tuple(
        less_own_ms is not None and differs(ms, less_own_ms)
        for (_, ms), less_own_ms in zip(points, less_own_values, strict=True)
    )


def _points(histogram: Histogram) -> tuple[tuple[float, float], ...]:
    decades = log10(histogram.count)
    steps = max(1, round(decades * POINTS_PER_DECADE))
    fractions = [1 - 10 ** (-decades * step / steps) for step in range(steps)]
    points = [(fraction, histogram.percentile(fraction)) for fraction in fractions]
    last = (1 - 1 / histogram.count, histogram.maximum)
    return tuple((fraction, ms) for fraction, ms in (*points, last) if ms is not None)


def trusted_fraction(count: int) -> float:
    """Return the fraction beyond which there are fewer than ten samples."""
    return max(0.0, 1 - LEAST_BEYOND / count) if count else 0.0


def by_measure(latency: pa.Table) -> tuple[tuple[str, Histogram], ...]:
    """Return one histogram per measure over the load phase; with faults, also due → received outside faults."""
    load = select(latency, phase="load")
    histograms = [(name, Histogram.of(select(load, measure=measure))) for measure, name in MEASURES.items()]
    due = select(load, measure="due_to_received")
    histograms.insert(1, (LESS_OWN, Histogram.of(due, "count_less_own")))
    outside = select(due, in_fault=False)
    if 0 < outside.num_rows < due.num_rows:
        histograms.append((OUTSIDE_FAULTS, Histogram.of(outside)))
    return tuple((name, histogram) for name, histogram in histograms if histogram.count)


def reliance_of(latency: pa.Table, summary: Summary) -> Reliance:
    """Return the reliability of the curves of ``by_measure``."""
    doubtful, wholly = summary["timing"]["doubtful"], set[str]()
    for measure, figures in summary["latency_ms"].items():
        measured = [figure for figure, value in figures.items() if figure in KEYS and value is not None]
        if measured and all(f"latency_ms.{measure}.{figure}" in doubtful for figure in measured):
            wholly |= {MEASURES[measure], OUTSIDE_FAULTS, LESS_OWN} if measure == DUE else {MEASURES[measure]}
    return Reliance(_without_own_delay(latency), frozenset(wholly))


def _without_own_delay(latency: pa.Table) -> dict[str, Histogram]:
    due = select(latency, phase="load", measure="due_to_received")
    outside = select(due, in_fault=False)
    return {
        MEASURES[DUE]: Histogram.of(due, "count_less_own"),
        OUTSIDE_FAULTS: Histogram.of(outside, "count_less_own"),
    }


def by_distance(latency: pa.Table, measure: str = DUE) -> tuple[tuple[str, Histogram], ...]:
    """Return one measure by brokers crossed. If hops are unknown: by whether the message left its broker."""
    timed = select(latency, phase="load", measure=measure)
    distances = sorted(
        set(zip(*(timed[c].to_pylist() for c in ("hops", "from_broker", "to_broker")), strict=True)), key=str
    )
    groups: dict[str, list[pa.Table]] = {}
    for hops, sender, receiver in distances:
        rows = timed.filter(_same(timed, hops, sender, receiver))
        groups.setdefault(distance(hops, sender, receiver), []).append(rows)
    return tuple((name, Histogram.of(pa.concat_tables(groups[name]))) for name in sorted(groups))


def distance(hops: int | None, sender: str, receiver: str) -> str:
    if hops is None:
        return "same broker (hops unknown)" if sender == receiver else "other broker (hops unknown)"
    return {0: "0 hops (same broker)", 1: "1 hop"}.get(hops, f"{hops} hops")


def _same(rows: pa.Table, hops: int | None, sender: str, receiver: str) -> pa.ChunkedArray:
    same_hops = pc.is_null(rows["hops"]) if hops is None else pc.fill_null(pc.equal(rows["hops"], hops), False)
    ends = pc.and_(pc.equal(rows["from_broker"], sender), pc.equal(rows["to_broker"], receiver))
    return pc.and_(same_hops, ends)


def spectrum_table(caption: str, histograms: tuple[tuple[str, Histogram], ...]) -> Table:
    """Return a table with a row per percentile and a column per curve.

    Percentiles that are based on fewer than ten samples are left out.
    """
    columns = (Column("Percentile"), *(Column(f"{name} (ms)", 2) for name, _ in histograms))
    rows = [_row(fraction, histograms) for fraction in FRACTIONS]
    shown = [row for row in rows if any(value is not None for value in row[1:])]
    largest: tuple[Cell, ...] = ("largest", *(histogram.maximum for _, histogram in histograms))
    counts: tuple[Cell, ...] = ("samples", *(f"{histogram.count:,}" for _, histogram in histograms))
    return Table(
        f"{caption} (by buckets, exact to 0.4 %)",
        columns,
        (*shown, largest, counts) if histograms else (),
        "No latency was measured.",
    )


def _row(fraction: float, histograms: tuple[tuple[str, Histogram], ...]) -> tuple[Cell, ...]:
    def shown(histogram: Histogram) -> float | None:
        return histogram.percentile(fraction) if fraction <= trusted_fraction(histogram.count) else None

    name = "smallest" if fraction == 0 else f"{significant(100 * fraction, 5).rstrip('0').rstrip('.')} %"
    return (name, *(shown(histogram) for _, histogram in histograms))


HEIGHT = 290
THIN: dict[str, Any] = {"color": MUTED, "linewidth": 1.2, "linestyle": (0, (1, 1.5))}
DOUBTFUL: dict[str, Any] = {"color": MUTED, "linewidth": 3.2, "solid_capstyle": "butt"}
TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


def draw_spectrum(curves: tuple[Curve, ...]) -> Figure:
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
    """Draw the part with at least ten samples beyond it in the curve's color, and the rest thin, gray and dotted."""
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
    """Draw gray over the curve's color, up to each doubtful point from the point before it."""
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
    """Return 0.9990000001 as ``99.9 %``."""
    text = significant(round(100 * fraction, 6), 6)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def _handles(curves: tuple[Curve, ...]) -> list[Line2D]:
    handles = [Line2D([], [], linewidth=2, markersize=5, label=curve.name, **look(curve.style)) for curve in curves]
    if any(any(curve.doubtful) for curve in curves):
        handles.append(Line2D([], [], label="doubtful: do not rely on it", **DOUBTFUL))
    return [*handles, Line2D([], [], label="fewer than 10 samples beyond", **THIN)]


ALL_RELIABLE = Reliance()
NOTHING_RECEIVED = "No message was received, so latency is unknown."


def spectrum_chart(
    anchor: str,
    title: str,
    histograms: tuple[tuple[str, Histogram], ...],
    reliance: Reliance = ALL_RELIABLE,
) -> Chart:
    curves = tuple(curve(name, histogram, style, reliance) for style, (name, histogram) in enumerate(histograms))
    lead = "Rarer, slower messages are further right. Gray dots mark where too few samples remain for a reliable value."
    if any(any(curve.doubtful) for curve in curves):
        lead += " Do not rely on gray parts of lines: the load generator was late, or clocks disagree."
    drawable = tuple(curve for curve in curves if has_positive(curve))
    draw = (lambda: draw_spectrum(drawable)) if drawable else None
    return chart(anchor, title, lead, spectrum_table(title, histograms), draw, NOTHING_RECEIVED)


def has_positive(curve: Curve) -> bool:
    return any(ms > 0 for _, ms in curve.points)


def percentiles_table(summary: Summary) -> Table:
    """Return every percentile of summary.json, with a row per measure."""
    names = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")
    titles = ("Smallest", "p50", "p90", "p99", "p99.9", "p99.99", "Largest")
    columns = (
        Column("Measure"),
        Column("Samples", 0),
        Column("Negative", 0),
        *(Column(f"{t} (ms)", 2) for t in titles),
    )
    doubtful, rows = summary["timing"]["doubtful"], list[tuple[Cell, ...]]()
    for measure, latency in summary["latency_ms"].items():
        figures = dict(latency)
        counts: tuple[Cell, ...] = (latency["count"], latency["negative"])
        rows.append((_measure(measure), *counts, *(cast(float | None, figures[name]) for name in names)))
        if any(f"latency_ms.{measure}.{name}" in doubtful for name in names):
            marks = ("doubtful" if f"latency_ms.{measure}.{name}" in doubtful else "" for name in names)
            rows.append((f"{_measure(measure)}: do not rely on", None, None, *marks))
        if measure == "due_to_received":
            less_own = (summary["timing"]["less_own_time_ms"].get(name) for name in names)
            rows.append((f"{_measure(measure)}, less the generator's own delay", *counts[:1], None, *less_own))
    return Table("Latency over the load phase", columns, tuple(rows), "No latency was measured.")


def _measure(name: str) -> str:
    return "round trip of requests" if name == "round_trip" else name.replace("_to_", " → ")
