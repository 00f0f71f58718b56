"""Charts of the brokers over time: client connections, queue depths, CPU and heap."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from records.tables.schemas import CANARY_PREFIX
from records.units import NS_PER_S
from reports.inputs import Results
from reports.parts.over_time import (
    Backdrop,
    Line,
    Panel,
    TimeSeries,
    chart_over_time,
    highest_of_steps,
    last_of_steps,
    mean_of_steps,
)
from reports.parts.values import Chart

MOST_LINES = 8
MIB = 1024 * 1024
GENERATOR = "load generator"


def connections_over_time(table: pa.Table, brokers: Sequence[str], backdrop: Backdrop) -> TimeSeries:
    """Return the open client connections at the end of each step: a panel per client group, a line per broker."""
    groups = sorted(set(table["group"].to_pylist()))
    panels = []
    for group in groups:
        rows = table.filter(pc.equal(table["group"], group))
        series = by_second(rows, "broker", "count")
        lines = tuple(
            Line(broker, last_of_steps(series.get(broker, {}), backdrop), style_of(broker, brokers))
            for broker in _named(brokers, series)
        )
        panels.append(Panel(group, lines))
    shown = mute_quiet_lines(tuple(panels))
    return TimeSeries(tuple(backdrop.starts), shown, "connections", backdrop)


def queue_depths(resources: pa.Table, brokers: Sequence[str], backdrop: Backdrop) -> TimeSeries:
    """Return the highest depth in each step, with a line per queue, or durable subscription, and broker.

    Those that stayed empty are left out, and also the canaries' queues.
    """
    rows = pa.concat_tables(of_kind(resources, kind, "depth") for kind in ("queue", "subscription"))
    rows = rows.filter(pc.invert(pc.starts_with(rows["object"], pattern=CANARY_PREFIX)))
    filled = set(rows.filter(pc.greater(rows["value"], 0))["object"].to_pylist())
    queues = sorted(filled or rows["object"].to_pylist()[:1])
    lines: list[Line] = []
    for queue in queues:
        series = by_second(rows.filter(pc.equal(rows["object"], queue)), "broker", "value")
        for broker in _named(brokers, series):
            if broker in series:
                style = style_of(broker, brokers) if len(queues) == 1 else len(lines)
                lines.append(Line(f"{queue} at {broker}", highest_of_steps(series[broker], backdrop), style))
    panels = mute_quiet_lines((Panel("", tuple(lines)),))
    return TimeSeries(tuple(backdrop.starts), panels, "messages", backdrop)


def cpu(resources: pa.Table, brokers: Sequence[str], backdrop: Backdrop) -> TimeSeries:
    """Return percent of one core: a line per broker, one for the load generator, and one for steal by the host.

    A separate panel shows threads that waited for a core: 100 % is one thread that waited all the time. Another one
    shows how long CPU quotas held brokers back: 100 % is one core for the whole time.
    """
    lines = _process_lines(of_kind(resources, "process", "cpu_ns"), brokers, backdrop)
    steal = by_second(of_kind(resources, "machine", "steal_ns"), "broker", "value").get("", {})
    if any(steal.values()):
        lines.append(Line("stolen by the host", _per_cent(steal, backdrop), len(brokers) + 1))
    waits = _process_lines(of_kind(resources, "process", "core_wait_ns"), brokers, backdrop)
    throttled = _process_lines(of_kind(resources, "process", "throttled_ns"), brokers, backdrop)
    others = {"waited for a core": waits, "held back by its quota": throttled}
    more = tuple(Panel(name, tuple(its_lines)) for name, its_lines in others.items() if its_lines)
    named = (Panel("used" if more else "", tuple(lines)), *more)
    return TimeSeries(tuple(backdrop.starts), mute_quiet_lines(named), "% of one core", backdrop, decimals=1)


def _process_lines(rows: pa.Table, brokers: Sequence[str], backdrop: Backdrop) -> list[Line]:
    series = by_second(rows, "broker", "value")
    return [
        Line(broker or GENERATOR, _per_cent(series[broker], backdrop), style_of(broker, brokers))
        for broker in (*_named(brokers, series), "")
        if broker in series
    ]


def heap(resources: pa.Table, brokers: Sequence[str], backdrop: Backdrop) -> TimeSeries:
    """Return the used heap in MiB: the last value of each step."""
    series = by_second(of_kind(resources, "broker", "heap_used_bytes"), "broker", "value")
    lines = tuple(
        Line(broker, _mib(last_of_steps(series[broker], backdrop)), style_of(broker, brokers))
        for broker in _named(brokers, series)
        if broker in series
    )
    panels = mute_quiet_lines((Panel("", lines),))
    return TimeSeries(tuple(backdrop.starts), panels, "MiB", backdrop, decimals=0)


def of_kind(resources: pa.Table, kind: str, metric: str) -> pa.Table:
    return resources.filter(pc.and_(pc.equal(resources["kind"], kind), pc.equal(resources["metric"], metric)))


def by_second(rows: pa.Table, key: str, value: str) -> dict[str, dict[int, int]]:
    """Return the sums of the values, by key and second."""
    totals = rows.group_by([key, "second"]).aggregate([(value, "sum")])
    series: dict[str, dict[int, int]] = {}
    for name, second, total in zip(*(totals[c].to_pylist() for c in (key, "second", f"{value}_sum")), strict=True):
        series.setdefault(name, {})[second] = total
    return series


def style_of(broker: str, brokers: Sequence[str]) -> int:
    """Return the style number, which is the same for a broker in every chart. Other lines share the next one."""
    return list(brokers).index(broker) if broker in brokers else len(brokers)


def mute_quiet_lines(panels: tuple[Panel, ...]) -> tuple[Panel, ...]:
    """Mute the calmest lines beyond eight names. Colors are the same in all panels; the table has all lines."""
    moves: dict[str, float] = {}
    for line in (line for panel in panels for line in panel.lines):
        moves[line.name] = max(_range(line), moves.get(line.name, 0))
    if len(moves) <= MOST_LINES:
        return panels
    liveliest = sorted(sorted(moves, key=lambda name: -moves[name])[: MOST_LINES - 1], key=list(moves).index)
    return tuple(Panel(panel.name, tuple(_mute_unless(line, liveliest) for line in panel.lines)) for panel in panels)


def _mute_unless(line: Line, liveliest: list[str]) -> Line:
    if line.name not in liveliest:
        return replace(line, muted=True)
    return replace(line, style=liveliest.index(line.name))


def _range(line: Line) -> float:
    values = [value for value in line.values if value is not None]
    return max(values) - min(values) if values else 0


def _named(brokers: Sequence[str], series: Mapping[str, object]) -> tuple[str, ...]:
    return (*brokers, *sorted(name for name in series if name and name not in brokers))


def _per_cent(by_second_ns: dict[int, int], backdrop: Backdrop) -> tuple[float | None, ...]:
    means = mean_of_steps(by_second_ns, backdrop)
    return tuple(None if ns is None else 100 * ns / NS_PER_S for ns in means)


def _mib(values: tuple[int | None, ...]) -> tuple[float | None, ...]:
    return tuple(None if value is None else value / MIB for value in values)


def broker_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    names = [broker.name for broker in results.run.brokers]
    resources = results.tables["resources"]
    unsampled = "The brokers were not sampled, or none of them reported this figure."
    return (
        chart_over_time(
            "connections",
            "Client connections",
            "Open connections by client group and broker, as the clients saw them.",
            connections_over_time(results.tables["connections"], names, backdrop),
            "No client connected.",
        ),
        chart_over_time(
            "queues",
            "Queue depths",
            "The highest depth of each queue and of each durable subscription; those that stayed empty are left out.",
            queue_depths(resources, names, backdrop),
            unsampled,
        ),
        chart_over_time(
            "cpu",
            "CPU",
            "Each process; 100 % is one core.",
            cpu(resources, names, backdrop),
            unsampled,
        ),
        chart_over_time("heap", "Heap", "Used heap of each broker's JVM.", heap(resources, names, backdrop), unsampled),
    )
