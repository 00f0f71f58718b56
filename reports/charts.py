"""Which charts does a report have, in which order, with what to read from each and which table says the same?"""

from collections.abc import Callable

from matplotlib.figure import Figure

from reports.figures import heatmap as heatmap_figure
from reports.figures import spectrum as spectrum_figure
from reports.figures import timeline as timeline_figure
from reports.figures import topology as topology_figure
from reports.figures.style import to_svg
from reports.inputs import Results
from reports.numbers import counted, significant
from reports.values import Backdrop, Chart, Curve, Table, Timeline
from reports.views import brokers, heatmap, latency, network, rates, spectrum, timeline
from reports.views.histogram import Histogram

NO_LATENCY = "No message was received, so there is no latency to show."


def chart(anchor: str, title: str, lead: str, table: Table, draw: Callable[[], Figure] | None, missing: str) -> Chart:
    """A chart, or the words that say why there is none."""
    if draw is None:
        return Chart(anchor, title, lead, table, missing=missing)
    return Chart(anchor, title, lead, table, svg=to_svg(draw, anchor, title, lead))


def over_time(anchor: str, title: str, lead: str, series: Timeline, missing: str) -> Chart:
    draw = None if series.empty else lambda: timeline_figure.draw(series)
    return chart(anchor, title, lead, timeline.table(title, series, missing), draw, missing)


def network_chart(net: network.Network) -> Chart:
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
    return (
        spectrum_chart("spectrum", "Latency from the fastest to the slowest message", spectrum.by_measure(table)),
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


def spectrum_chart(anchor: str, title: str, histograms: tuple[tuple[str, Histogram], ...]) -> Chart:
    curves = tuple(spectrum.curve(name, found, style) for style, (name, found) in enumerate(histograms))
    lead = "Further right are rarer, slower messages; grey dots mark where too few samples remain to say anything."
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
    tables, limit_ms = results.tables, results.summary["lag_ms"]["limit_p99"]
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
            f"Sent − due. Above {significant(limit_ms)} ms (p99, outside faults) the run is invalid.",
            latency.lag(tables["latency"], backdrop, limit_ms),
            "No message was sent.",
        ),
    )


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
