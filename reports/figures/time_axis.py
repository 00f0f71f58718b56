"""Draws what all charts over time share: seconds, the shaded warm-up and drain, the fault bands."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from reports.figures.style import BAND, FAULT, MUTED, SMALL
from reports.values import Backdrop

MINUTES_FROM_S = 300
ROUND_S = (60, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200, 21_600)


def draw_backdrop(axes: Axes, backdrop: Backdrop, labelled: bool = True) -> None:
    """Shade the times outside the load, and each fault with its number. Faults are hatched, not only coloured."""
    first, last = float(backdrop.first_s), float(backdrop.last_s + 1)
    end = min(last, backdrop.load_s) if backdrop.load_s else last
    axes.set_xlim(min(first, 0.0), max(last, first + 1))
    for start, stop, name in ((first, 0.0, "warm-up"), (end, last, "drain")):
        if stop - start > 0:
            axes.axvspan(start, stop, facecolor=BAND, edgecolor="none", zorder=0)
            if labelled and stop - start > 0.1 * (last - first):
                _label(axes, (start + stop) / 2, name)
    for band in backdrop.faults:
        start, stop = max(first, band.began_s), min(last, last if band.ended_s is None else band.ended_s)
        if start <= stop:  # the part of it that the plot shows, if any
            _draw_fault(axes, start, stop)
            if labelled:
                _label(axes, (start + stop) / 2, band.label)


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
    """Seconds, or minutes and seconds on a long run."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))
    if backdrop.last_s >= MINUTES_FROM_S:
        span_s = backdrop.last_s - backdrop.first_s
        axes.xaxis.set_major_locator(MultipleLocator(next((s for s in ROUND_S if span_s <= 7 * s), ROUND_S[-1])))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at_s, _: clock(at_s)))
        axes.set_xlabel("minutes:seconds from the start of the load", fontsize=SMALL, color=MUTED)
    else:
        axes.set_xlabel("seconds from the start of the load", fontsize=SMALL, color=MUTED)


def clock(at_s: float) -> str:
    """90 -> 1:30; -5 -> −0:05."""
    minutes, seconds = divmod(abs(round(at_s)), 60)
    return f"{'−' if at_s < 0 else ''}{minutes}:{seconds:02d}"
