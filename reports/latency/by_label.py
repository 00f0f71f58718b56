"""Latency by consumer class and by destination: a table, and a curve for each of a few labels."""

from collections.abc import Iterator, Mapping

from records.figures.checks import labeled
from records.figures.latency import PERCENTILES, Latency
from records.figures.percentiles import SHARES
from records.figures.summary import Summary
from reports.latency.spectrum import NOTHING_RECEIVED, Curve, draw_spectrum, has_positive
from reports.parts.style import chart
from reports.parts.values import Cell, Chart, Column, Table

MOST_ROWS = 20
"""Most destinations in the table, selected by the highest p99."""
MOST_CURVES = 6
FROM_DUE = "latency_ms.due_to_received"


def has_labels(summary: Summary) -> bool:
    """Return whether the run has several consumer classes or several destinations."""
    by_label = summary["latency_by"]
    return len(by_label["consumer_classes"]) > 1 or len(by_label["destinations"]) > 1


def by_label_chart(summary: Summary) -> Chart:
    """Draw the percentiles of each consumer class, or of each destination if there is one class."""
    by_label = summary["latency_by"]
    several = len(by_label["consumer_classes"]) > 1
    latencies = by_label["consumer_classes"] if several else by_label["destinations"]
    labels = sorted(latencies, key=lambda label: _slowness(latencies[label]), reverse=True)[:MOST_CURVES]
    curves = [_curve(label, latencies[label], style, summary) for style, label in enumerate(labels)]
    drawable = tuple(curve for curve in curves if has_positive(curve))
    kind = "consumer class" if several else "destination"
    left_out = len(latencies) - len(labels)
    lead = "Due → received, from the smallest value to the highest percentile that is known."
    if left_out:
        lead += f" {left_out} faster ones are left out."
    draw = (lambda: draw_spectrum(drawable)) if drawable else None
    return chart("by-label", f"Latency by {kind}", lead, by_label_table(summary), draw, NOTHING_RECEIVED)


def _curve(label: str, latency: Latency, style: int, summary: Summary) -> Curve:
    values: dict[str, float | None] = {"min": latency["min"], **{name: latency[name] for name in SHARES}}  # type: ignore[literal-required]
    fractions = {"min": 0.0, **SHARES}
    known = [(name, value) for name, value in values.items() if value is not None]
    doubtful = summary["timing"]["doubtful"]
    return Curve(
        name=label,
        points=tuple((fractions[name], value) for name, value in known),
        count=latency["count"],
        style=style,
        doubtful=tuple(labeled(f"{FROM_DUE}.{name}", label) in doubtful for name, _ in known),
    )


def _heading(title: str) -> str:
    """Return ``Smallest`` for smallest; p99 stays as it is."""
    return title if title.startswith("p") else title.capitalize()


def _slowness(latency: Latency) -> tuple[float, float]:
    return latency["p99"] or 0.0, latency["max"] or 0.0


def by_label_table(summary: Summary) -> Table:
    """Return a row per consumer class, and per destination of the slowest ones."""
    columns = (
        Column("By"),
        Column("Name"),
        Column("Messages", 0),
        *(Column(f"{_heading(title)} (ms)", 2) for title in PERCENTILES.values()),
        Column("Do not rely on"),
    )
    by_label, doubtful = summary["latency_by"], summary["timing"]["doubtful"]
    destinations = by_label["destinations"]
    slowest = sorted(destinations, key=lambda name: _slowness(destinations[name]), reverse=True)[:MOST_ROWS]
    listed = {name: destinations[name] for name in destinations if name in slowest}
    rows = (
        *_rows("consumer class", by_label["consumer_classes"], doubtful),
        *_rows("destination", listed, doubtful),
    )
    caption = "Latency by consumer class and destination, due → received"
    if more := len(destinations) - len(listed):
        caption += f" ({more} faster destinations are in summary.json)"
    return Table(caption, columns, rows, "No message was received.")


def _rows(kind: str, latencies: Mapping[str, Latency], doubtful: Mapping[str, str]) -> Iterator[tuple[Cell, ...]]:
    for label, latency in latencies.items():
        figures = tuple(latency[name] for name in PERCENTILES)  # type: ignore[literal-required]
        names = (title for name, title in PERCENTILES.items() if labeled(f"{FROM_DUE}.{name}", label) in doubtful)
        yield kind, label, latency["count"], *figures, ", ".join(names)
