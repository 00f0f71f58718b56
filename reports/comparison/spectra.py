"""Turns the latency histograms of an arm's runs into one curve with a band.

A point of the line is the median of the runs' percentiles, the band reaches from the fastest to the slowest run.
"""

from math import log10
from statistics import median

from reports.comparison.arms import Arm
from reports.values import BandCurve, Column, Table
from reports.views.spectrum import trusted_fraction

POINTS_PER_DECADE = 16
ROWS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


def band_curve(arm: Arm, style: int) -> BandCurve | None:
    """None without a run that received anything. It ends where fewer than ten samples of the smallest run remain."""
    measured = [run.latency for run in arm.runs if run.latency.count]
    if not measured:
        return None
    last = trusted_fraction(min(histogram.count for histogram in measured))
    decades = -log10(1 - last) if last else 0.0
    steps = max(1, round(decades * POINTS_PER_DECADE))
    fractions = [1 - 10 ** (-decades * step / steps) for step in range(steps + 1)]
    found = [[histogram.percentile(fraction) or 0.0 for histogram in measured] for fraction in fractions]
    kept = [(fraction, values) for fraction, values in zip(fractions, found, strict=True) if min(values) > 0]
    if not kept:
        return None
    return BandCurve(
        arm.name,
        tuple(fraction for fraction, _ in kept),
        tuple(min(values) for _, values in kept),
        tuple(median(values) for _, values in kept),
        tuple(max(values) for _, values in kept),
        style,
    )


def band_table(caption: str, arms: tuple[Arm, ...]) -> Table:
    """Three columns an arm: the fastest run, the median and the slowest, at each percentile of `ROWS`."""
    columns = [Column("Percentile")]
    for arm in arms:
        columns += [Column(f"{arm.name}, {what} (ms)", 3) for what in ("fastest run", "median", "slowest run")]
    rows: list[tuple[str | float | None, ...]] = []
    for fraction in ROWS:
        cells = [value for arm in arms for value in _three(arm, fraction)]
        if any(value is not None for value in cells):
            rows.append((f"{100 * fraction:.6g} %" if fraction else "smallest", *cells))
    return Table(caption, tuple(columns), tuple(rows), "No latency was measured.")


def _three(arm: Arm, fraction: float) -> tuple[float | None, float | None, float | None]:
    counted = [run.latency for run in arm.runs if run.latency.count]
    if not counted or any(fraction > trusted_fraction(histogram.count) for histogram in counted):
        return None, None, None
    values = [histogram.percentile(fraction) or 0.0 for histogram in counted]
    return min(values), median(values), max(values)
