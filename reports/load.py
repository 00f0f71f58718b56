"""Charts, tables and sentences about the load: rates and generator lag over time, and steps of rates or clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from records.figures.clients import Connections, ConnectionStep
from records.figures.load import Limit, StepResult
from records.figures.step_judgement import held_by_rate
from records.figures.summary import Summary
from reports.inputs import Results
from reports.parts.histogram import select
from reports.parts.numbers import counted, joined, significant
from reports.parts.over_time import Backdrop, Line, Panel, TimeSeries, chart_over_time, percentiles_over_time, summed
from reports.parts.style import MUTED, SMALL, chart, legend, legend_height, look, new_figure, plain_axes
from reports.parts.values import Chart, Table, columns_of, table_of

EVENTS = ("due", "sent", "acked", "received")


def rates(table: pa.Table, backdrop: Backdrop, events: Sequence[str] = EVENTS) -> TimeSeries:
    """Return the messages per second in each step; a second without messages is 0."""
    lines = []
    for event in events:
        totals = summed(table.filter(pc.equal(table["event"], event)), "count", backdrop)
        values = tuple(totals.get(start, 0) / backdrop.width_s(start) for start in backdrop.starts)
        lines.append(Line(event, values if totals else (None,) * len(values), EVENTS.index(event)))
    return TimeSeries(tuple(backdrop.starts), (Panel("", tuple(lines)),), "messages/s", backdrop, layered=True)


def lag(table: pa.Table, backdrop: Backdrop) -> TimeSeries:
    """Return the delay that the generator itself caused."""
    lines = percentiles_over_time(select(table, measure="ready_to_sent"), backdrop)
    return TimeSeries(tuple(backdrop.starts), (Panel("", lines),), "ms", backdrop, log_y=True, decimals=2)


@dataclass(frozen=True)
class RatePoint:
    """One step: mean due messages per second, percentiles in ms (None if unknown), and whether the step was held."""

    rate_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    held: bool


def steps_sentence(steps: list[StepResult], held_per_s: float | None, limit: Limit) -> str:
    """Return the highest rate that was held, the limit of the load, and rates that are unknown; '' without steps."""
    if not steps:
        return ""
    not_held, unknown = limit["not_held_per_s"], _unknown(steps)
    if not_held is not None and held_per_s:
        rates_held = (
            f"The load was held up to {_number(held_per_s)} messages/s, and not at {_number(not_held)} messages/s: "
            f"{limit['why']}."
        )
    elif not_held is not None:
        rates_held = f"No rate was held, and {_number(not_held)} messages/s was the lowest not held: {limit['why']}."
    elif unknown:
        rates_held = (
            f"The load was held at {_number(held_per_s)} messages/s."
            if held_per_s
            else "No rate is known to have been held."
        )
    else:
        rates_held = f"Every step was held, up to {_number(held_per_s or 0.0)} messages/s."
    return " ".join([rates_held, *unknown])


def _unknown(steps: Sequence[StepResult]) -> list[str]:
    """Return a sentence on the lowest unknown rate, if there is one."""
    held = held_by_rate((_rate(step), step["held"]) for step in steps)
    rates = sorted(rate for rate, verdict in held.items() if verdict is None)
    if not rates:
        return []
    why = next(step["why"] for step in reversed(steps) if _rate(step) == rates[0] and step["held"] is None)
    others = f" (and at {joined([_number(rate) for rate in rates[1:]])})" if rates[1:] else ""
    return [f"Whether it was held at {_number(rates[0])} messages/s is unknown{others}: {why}."]


def held_step(steps: list[StepResult], held_per_s: float | None) -> StepResult | None:
    """Return the last step of the highest rate that was held; None if none was."""
    return next((step for step in reversed(steps) if step["held"] and _rate(step) == held_per_s), None)


def steps_table(steps: list[StepResult]) -> Table:
    """Return a table with a row per step."""
    columns = columns_of(
        StepResult,
        ("Step", None, step_name),
        *("from_s", "until_s", "due_per_s", "sent_per_s", "received_per_s", "backlog"),
        *(f"due_to_received_ms.{name}" for name in ("p50", "p99", "p99_9", "max")),
        ("Held", None, lambda step: HELD_WORDS[step["held"]]),
        ("Why", None, "why"),
    )
    return table_of("Steps of the load", steps, columns, "The load ended before its first step did.")


def step_name(step: StepResult) -> str:
    """Return ``100/s`` or ``100 → 1,000/s``."""
    from_rate, to_rate = _number(step["from_per_s"]), _number(step["to_per_s"])
    return f"{from_rate}/s" if from_rate == to_rate else f"{from_rate} → {to_rate}/s"


def rate_points(steps: list[StepResult]) -> tuple[RatePoint, ...]:
    """Return the points from the lowest rate to the highest."""
    points = (
        RatePoint(
            step["due_per_s"],
            step["due_to_received_ms"]["p50"],
            step["due_to_received_ms"]["p99"],
            step["held"] is True,
        )
        for step in sorted(steps, key=_rate)
    )
    return tuple(point for point in points if point.p50_ms is not None)


def _rate(step: StepResult) -> float:
    return (step["from_per_s"] + step["to_per_s"]) / 2


def _number(per_s: float) -> str:
    """Return 16000.0 as ``16,000``, and 0.5 as ``0.5``."""
    return f"{round(per_s, 3):,.10g}"


HELD_WORDS = {True: "yes", False: "no", None: "unknown"}
HEIGHT = 250
HELD, NOT_HELD = 7, 9  # marker sizes
LEAST_MS = 0.001


def draw_steps(points: Sequence[RatePoint]) -> Figure:
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
    shown_ms = [nan if value is None else max(value, LEAST_MS) for value in values_ms]
    color, marker = drawn["color"], drawn["marker"]
    rates = [point.rate_per_s for point in points]
    axes.plot(rates, shown_ms, linewidth=2, color=color, linestyle=drawn["linestyle"])
    for point, value in zip(points, shown_ms, strict=True):
        size, inside = (HELD, color) if point.held else (NOT_HELD, "none")
        axes.plot(point.rate_per_s, value, marker, color=color, markersize=size, markerfacecolor=inside)


def _scale(axes: Axes) -> None:
    """Scale rates from 0, and latencies logarithmically, as a saturated broker is slower by orders of magnitude."""
    axes.set_xlim(left=0)
    axes.set_xlabel("due messages per second", fontsize=SMALL, color=MUTED)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))


def load_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    tables = results.tables
    ready = "it is due and no broker blocks its producer"
    if results.run.is_closed:
        ready = "its producer's last send is answered"
    return (
        chart_over_time(
            "rates",
            "Rates",
            f"Messages per second: {'' if results.run.is_closed else 'due, '}sent, confirmed by a broker, and received "
            "(every delivery).",
            rates(tables["rates"], backdrop, EVENTS[1:] if results.run.is_closed else EVENTS),
            "No message was sent." if results.run.is_closed else "No message was due.",
        ),
        chart_over_time(
            "lag",
            "Lag of the load generator",
            f"Sent − ready. Messages are ready once {ready}. If lag changes a latency figure by more than a tenth, "
            "this figure is doubtful. The same applies to late reads by the generator. Pauses below 5 ms may not be "
            "recorded.",
            lag(tables["latency"], backdrop),
            "No message was sent.",
        ),
    )


def steps_chart(results: Results) -> Chart:
    points = rate_points(results.summary["steps"])
    lead = (
        "Each mark is a step: the median and the 99th percentile of the messages due in it. Hollow: the step was not "
        "held, or it is unknown whether it was held; the table has the reasons."
    )
    draw = (lambda: draw_steps(points)) if points else None
    table = steps_table(results.summary["steps"])
    return chart("rate-latency", "Latency by rate", lead, table, draw, "Too few messages arrived in every step.")


def cost_sentence(summary: Summary) -> str:
    """Return the brokers' CPU time per message in a sentence; '' if CPU was not sampled."""
    used_ms = summary["throughput"]["cpu_ms_per_message_brokers"]
    return "" if used_ms is None else f"The brokers used {significant(used_ms)} ms of CPU for each message."


def rate_sentence(summary: Summary) -> str:
    """Return the received and the due rate in a sentence; '' if the length of the load is unknown."""
    received, due = summary["throughput"]["received_per_s"], summary["throughput"]["due_per_s"]
    if received is None or due is None:
        return ""
    return f"{significant(received)} messages per second were received, and {significant(due)} were due."


def connections_sentence(connections: Connections) -> str:
    """Return the number of connections up to which every step was held, and the limit; '' without steps."""
    if not connections["steps"]:
        return ""
    held, not_held = connections["held"] or 0, connections["not_held"]
    if unknown := next((step for step in connections["steps"] if step["held"] is None), None):
        known = f"{counted(held, 'connection')} are known to have been held"
        return f"{known}. Whether {unknown['clients']:,} were is unknown: {unknown['why']}."
    if not_held is None:
        return f"All {held:,} requested connections were held."
    return f"{counted(held, 'connection')} were held, and not {not_held:,}: {connections['why']}."


def connections_table(connections: Connections) -> Table:
    """Return a table with a row per step."""
    columns = columns_of(
        ConnectionStep,
        *("clients", "from_s", "until_s", "connected", "refused"),
        ("Refused by", None, lambda step: ", ".join(step["refused_by"])),
        *("connect_ms.p50", "connect_ms.max", "due_to_received_ms.p50", "due_to_received_ms.p99"),
        ("Held", None, lambda step: HELD_WORDS[step["held"]]),
    )
    steps, empty = connections["steps"], "The load ended before its first step did."
    return table_of("Connections in steps", steps, columns, empty)
