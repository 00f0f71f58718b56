"""Lists the charts of a report in order, each with what to read from it and its table."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from records.units import NS_PER_S
from reports.figures import clients as clients_figure
from reports.figures import consumers as consumers_figure
from reports.figures import heatmap as heatmap_figure
from reports.figures import outages as outages_figure
from reports.figures import spectrum as spectrum_figure
from reports.figures import steps as steps_figure
from reports.figures import timeline as timeline_figure
from reports.figures import topology as topology_figure
from reports.figures.style import to_svg
from reports.inputs import Results
from reports.numbers import counted
from reports.values import Backdrop, Chart, Curve, Table, TimeSeries
from reports.views import (
    brokers,
    clients,
    consumers,
    heatmap,
    latency,
    network,
    rates,
    rebalance,
    recovery,
    spectrum,
    steps,
    timeline,
)
from reports.views.histogram import Histogram

ALL_RELIABLE = spectrum.Reliance()
NO_LATENCY = "No message was received, so there is no latency to show."


def chart(anchor: str, title: str, lead: str, table: Table, draw: Callable[[], Figure] | None, missing: str) -> Chart:
    """A chart, or the reason why there is none."""
    if draw is None:
        return Chart(anchor, title, lead, table, missing=missing)
    return Chart(anchor, title, lead, table, svg=to_svg(draw, anchor, title, lead))


def over_time(anchor: str, title: str, lead: str, series: TimeSeries, missing: str) -> Chart:
    draw = None if series.empty else lambda: timeline_figure.draw(series)
    return chart(anchor, title, lead, timeline.table(title, series, missing), draw, missing)


def network_chart(net: network.NetworkDrawing) -> Chart:
    title = "The network and what flowed over it"
    lead = (
        f"{counted(len(net.nodes), 'broker')}, {counted(len(net.edges), 'link')}. "
        "An arrow is as wide as the messages a second it carried (mean over warm-up and load); two arrows are a "
        "duplex link, the dot is the end that opened it, dashes mean that nothing flowed. In each box: open client "
        "connections, at the start → the end of the load where they differ."
    )
    if not net.nodes:
        return Chart("network", title, lead, network.table(net), missing="run.json names no brokers.")
    return Chart("network", title, lead, network.table(net), svg=topology_figure.draw(net, "network", title, lead))


def latency_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    table = results.tables["latency"]
    reliance = spectrum.reliance(table, results.summary)
    return (
        spectrum_chart(
            "spectrum", "Latency from the fastest to the slowest message", spectrum.by_measure(table), reliance
        ),
        spectrum_chart("distance", "Latency by brokers crossed", spectrum.by_distance(table)),
        over_time(
            "latency-time",
            "Latency over time",
            "Due → received, by the second in which the message was due.",
            latency.latency(table, backdrop),
            NO_LATENCY,
        ),
        heatmap_chart(results, backdrop),
    )


def spectrum_chart(
    anchor: str,
    title: str,
    histograms: tuple[tuple[str, Histogram], ...],
    reliance: spectrum.Reliance = ALL_RELIABLE,
) -> Chart:
    curves = tuple(spectrum.curve(name, found, style, reliance) for style, (name, found) in enumerate(histograms))
    lead = "Further right are rarer, slower messages; grey dots mark where too few samples remain to say anything."
    if any(any(curve.doubtful) for curve in curves):
        lead += " Where a line is grey, do not rely on it: the load generator was late, or clocks disagree."
    drawable = tuple(curve for curve in curves if has_positive(curve))
    draw = (lambda: spectrum_figure.draw(drawable)) if drawable else None
    return chart(anchor, title, lead, spectrum.table(title, histograms), draw, NO_LATENCY)


def has_positive(curve: Curve) -> bool:
    return any(ms > 0 for _, ms in curve.points)


def heatmap_chart(results: Results, backdrop: Backdrop) -> Chart:
    table = results.tables["latency"]
    found = heatmap.heatmap(table, backdrop)
    most = max((count for row in found.counts for count in row), default=0)
    lead = f"Every message, due → received. Stronger colour is more messages: 1 to {most:,} in a cell, logarithmic."
    draw = (lambda: heatmap_figure.draw(found)) if most else None
    return chart("heatmap", "Where the messages lay", lead, heatmap.table(table, backdrop), draw, NO_LATENCY)


def load_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    tables = results.tables
    return (
        over_time(
            "rates",
            "Rates",
            "Messages due, sent, confirmed by a broker and received (every delivery), a second.",
            rates.rates(tables["rates"], backdrop),
            "No message was due.",
        ),
        over_time(
            "lag",
            "How late the generator was",
            "Sent − ready. A message is ready once it is due and the brokers let its producer go on. Where the lag "
            "changes a latency figure by more than a tenth, that figure is doubtful.",
            latency.lag(tables["latency"], backdrop),
            "No message was sent.",
        ),
    )


def steps_chart(results: Results) -> Chart:
    points = steps.rate_points(results.summary["steps"])
    lead = (
        "A mark is a step: the middle message and the slowest hundredth of those that were due in it. Hollow: the step "
        "was not held, as less than 99 % came through in its time, or more than a second's messages waited at its end."
    )
    draw = (lambda: steps_figure.draw(points)) if points else None
    table = steps.steps_table(results.summary["steps"])
    return chart("rate-latency", "Latency beside the rate", lead, table, draw, "Too few messages arrived in any step.")


def outage_chart(outages: pa.Table) -> Chart:
    rows = recovery.outage_rows(outages)
    lead = (
        "A dot is a client: from its last success before the loss to its first one after it. A success is a confirmed "
        "send or a receipt. The line is the middle client."
    )
    draw = (lambda: outages_figure.draw(rows)) if rows else None
    table = recovery.outages_table(outages)
    return chart("outages", "How long each client was cut off", lead, table, draw, "No client was cut off.")


def client_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    """Where the clients were over the load. Both charts have the same time axis."""
    stays = results.tables["stays"]
    latest_ns = pc.max(stays["to_ns"]).as_py() or 0
    behind = replace(backdrop, load_s=backdrop.load_s or latest_ns / NS_PER_S)
    draw = (
        lambda: clients_figure.draw_areas(*clients.areas(results, behind), behind),
        lambda: clients_figure.draw_timeline(clients.timeline(results, behind)),
    )
    nobody = "No client was connected within the load."
    return (
        chart(
            "client-areas",
            "Clients of each broker",
            "Dashed: the borders if every broker that was there had its fair share of all clients. Numbers: clients at "
            "the beginning, when they had settled after a fault, and at the end. The bar above is a fault.",
            rebalance.distribution_table(results.tables["distribution"]),
            draw[0] if latest_ns else None,
            nobody,
        ),
        chart(
            "client-timeline",
            "Where each client was",
            "A row is a client, in the colour of its broker; a gap is a time without a connection, widened if it was "
            "too short to be seen. Rows are sorted by where the clients were at the beginning, then after each fault.",
            rebalance.stays_table(stays),
            draw[1] if latest_ns else None,
            nobody,
        ),
    )


def consumers_chart(results: Results) -> Chart:
    named, table = clients.named(results), results.tables["consumers"]
    bars = consumers.bars(table, named)
    lead = (
        "A bar is a consumer, in the colour of the broker where it received most. Dashed: what each had if all "
        "consumers of the subscription had the same share."
    )
    draw = (lambda: consumers_figure.draw(bars, named)) if bars else None
    missing = "No subscription with several consumers received anything."
    return chart("consumers", "Messages of each consumer", lead, consumers.consumers_table(table), draw, missing)


def broker_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    names = [broker.name for broker in results.run.brokers]
    resources = results.tables["resources"]
    unsampled = "The brokers were not sampled, or none of them told this figure."
    return (
        over_time(
            "connections",
            "Client connections",
            "Open connections by client group and broker, as the clients saw them.",
            brokers.connections(results.tables["connections"], names, backdrop),
            "No client connected.",
        ),
        over_time(
            "queues",
            "Queue depths",
            "The highest depth of each queue; queues that stayed empty are left out.",
            brokers.queue_depths(resources, names, backdrop),
            unsampled,
        ),
        over_time(
            "cpu",
            "CPU",
            "Each process; 100 % is one core.",
            brokers.cpu(resources, names, backdrop),
            unsampled,
        ),
        over_time(
            "heap", "Heap", "Used heap of each broker's JVM.", brokers.heap(resources, names, backdrop), unsampled
        ),
    )
