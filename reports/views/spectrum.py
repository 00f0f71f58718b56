"""Computes percentile curves, from the fastest to the slowest message, for a 1/(1−p) axis."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log10

import pyarrow as pa
import pyarrow.compute as pc

from records.summary import Summary
from records.timing import differs
from reports.numbers import significant
from reports.values import Cell, Column, Curve, Table
from reports.views.histogram import Histogram, select

MEASURES = {
    "due_to_received": "due → received",
    "sent_to_received": "sent → received",
    "sent_to_settled": "sent → confirmed",
    "round_trip": "round trip of requests",
}
DUE = "due_to_received"
KEYS = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")
LESS_OWN = "due → received, less the generator's own delay"
OUTSIDE_FAULTS = "due → received, outside faults"
FRACTIONS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)
POINTS_PER_DECADE = 30
FEW = 10
"""Fewer samples than this beyond a percentile make it an accident of this run."""


@dataclass(frozen=True)
class Reliance:
    """Marks points of curves as doubtful; curves by name.

    ``less_own``: the same messages without the generator's own delay: a point that differs from it is doubtful.
    ``wholly``: names of curves without a reliable figure, because the clocks disagree.
    """

    less_own: Mapping[str, Histogram] = field(default_factory=dict)
    wholly: frozenset[str] = frozenset()


def curve(name: str, histogram: Histogram, style: int = 0, reliance: Reliance = Reliance()) -> Curve:
    """Points evenly spread on the 1/(1−p) axis; the last is the largest sample, one in ``count``."""
    if not histogram.count:
        return Curve(name, 0, (), style)
    points = _points(histogram)
    if name in reliance.wholly:
        return Curve(name, histogram.count, points, style, (True,) * len(points))
    return Curve(name, histogram.count, points, style, _doubtful(points, reliance.less_own.get(name)))


def _doubtful(points: tuple[tuple[float, float], ...], less_own: Histogram | None) -> tuple[bool, ...]:
    if less_own is None or not less_own.count:
        return ()
    others = [*(less_own.percentile(fraction) for fraction, _ in points[:-1]), less_own.maximum]
    return tuple(other is not None and differs(ms, other) for (_, ms), other in zip(points, others, strict=True))


def _points(histogram: Histogram) -> tuple[tuple[float, float], ...]:
    decades = log10(histogram.count)
    steps = max(1, round(decades * POINTS_PER_DECADE))
    fractions = [1 - 10 ** (-decades * step / steps) for step in range(steps)]
    points = [(fraction, histogram.percentile(fraction)) for fraction in fractions]
    last = (1 - 1 / histogram.count, histogram.maximum)
    return tuple((fraction, ms) for fraction, ms in (*points, last) if ms is not None)


def trusted_fraction(count: int) -> float:
    """Beyond this fraction lie fewer than ten samples."""
    return max(0.0, 1 - FEW / count) if count else 0.0


def by_measure(latency: pa.Table) -> tuple[tuple[str, Histogram], ...]:
    """One histogram a measure over the load phase; with faults, due → received once more without their windows."""
    load = select(latency, phase="load")
    found = [(name, Histogram.of(select(load, measure=measure))) for measure, name in MEASURES.items()]
    due = select(load, measure="due_to_received")
    found.insert(1, (LESS_OWN, Histogram.of(due, "count_less_own")))
    outside = select(due, in_fault=False)
    if 0 < outside.num_rows < due.num_rows:
        found.append((OUTSIDE_FAULTS, Histogram.of(outside)))
    return tuple((name, histogram) for name, histogram in found if histogram.count)


def reliance(latency: pa.Table, summary: Summary) -> Reliance:
    """Of the curves of ``by_measure``."""
    doubtful, wholly = summary["timing"]["doubtful"], set[str]()
    for measure, figures in summary["latency_ms"].items():
        known = [figure for figure, value in figures.items() if figure in KEYS and value is not None]
        if known and all(f"latency_ms.{measure}.{figure}" in doubtful for figure in known):
            wholly |= {MEASURES[measure], OUTSIDE_FAULTS, LESS_OWN} if measure == DUE else {MEASURES[measure]}
    return Reliance(_without_own_delay(latency), frozenset(wholly))


def _without_own_delay(latency: pa.Table) -> dict[str, Histogram]:
    due = select(latency, phase="load", measure="due_to_received")
    outside = select(due, in_fault=False)
    return {
        MEASURES[DUE]: Histogram.of(due, "count_less_own"),
        OUTSIDE_FAULTS: Histogram.of(outside, "count_less_own"),
    }


def by_distance(latency: pa.Table) -> tuple[tuple[str, Histogram], ...]:
    """Due → received by brokers crossed. If hops are unknown: by whether the message left its broker."""
    due = select(latency, phase="load", measure="due_to_received")
    distances = sorted(
        set(zip(*(due[c].to_pylist() for c in ("hops", "from_broker", "to_broker")), strict=True)), key=str
    )
    groups: dict[str, list[pa.Table]] = {}
    for hops, sender, receiver in distances:
        rows = due.filter(_same(due, hops, sender, receiver))
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


def table(caption: str, histograms: tuple[tuple[str, Histogram], ...]) -> Table:
    """A row a percentile, a column a curve; percentiles that rest on fewer than ten samples are left out."""
    columns = (Column("Percentile"), *(Column(f"{name} (ms)", 2) for name, _ in histograms))
    rows = [_row(fraction, histograms) for fraction in FRACTIONS]
    kept = [row for row in rows if any(value is not None for value in row[1:])]
    largest: tuple[Cell, ...] = ("largest", *(histogram.maximum for _, histogram in histograms))
    counts: tuple[Cell, ...] = ("samples", *(f"{histogram.count:,}" for _, histogram in histograms))
    return Table(
        f"{caption} (by buckets, exact to 0.8 %)",
        columns,
        (*kept, largest, counts) if histograms else (),
        "No latency was measured.",
    )


def _row(fraction: float, histograms: tuple[tuple[str, Histogram], ...]) -> tuple[Cell, ...]:
    def shown(histogram: Histogram) -> float | None:
        return histogram.percentile(fraction) if fraction <= trusted_fraction(histogram.count) else None

    name = "smallest" if fraction == 0 else f"{significant(100 * fraction, 5).rstrip('0').rstrip('.')} %"
    return (name, *(shown(histogram) for _, histogram in histograms))
