"""Draws the clients over the load: a row for each, and the clients of each broker as stacked areas.

Both pictures have the same width and margins, so that their seconds stand below each other.
"""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator

from reports.figures.style import CHARACTER_WIDTH, FAULT, INK, INVISIBLE, MUTED, SMALL, look, plain_axes, shortened
from reports.figures.time_axis import second_ticks
from reports.numbers import counted
from reports.values import NOWHERE, Backdrop, ClientAreas, ClientRows, ClientTimeline, NamedColour

WIDTH, LEFT, RIGHT = 1_100, 64, 170
TOP, BOTTOM, BETWEEN = 46, 42, 34
ROW, LEAST_ROWS, MOST_ROWS = 18, 60, 460
"""Heights: of a row of few clients, and the least and the most of all rows of a group."""
AREA = 170
MOST_VECTORS = 60
"""Up to so many clients are drawn as shapes; more are pixels."""
MOST_NAMED = 24
BAR = 0.78
STRIP = 5
OPACITY = 0.75
COUNT_ROOM, LEAST_LABELLED = 0.04, 0.09
"""Shares of the load that a count takes, and of the clients that an area must have to be labelled."""
PIXELS = ("4686e8", "db7833", "26a792", "9f70e0", "da559b", "9f9d2f", "7a889a", "be6255")
"""The colours of the styles between those for a light and a dark page: pixels cannot follow the page."""
MUTED_PIXEL = "8a8f98"


def draw_timeline(timeline: ClientTimeline) -> Figure:
    """A row for each client, a set of axes for each group; nothing is drawn where a client has no connection."""
    heights = [_height(len(rows.clients)) for rows in timeline.groups]
    figure = _figure(heights)
    as_pixels = sum(len(rows.clients) for rows in timeline.groups) > MOST_VECTORS
    every = list(zip(_axes(figure, heights), timeline.groups, strict=True))
    for at, (axes, rows) in enumerate(every):
        never = f", {rows.never:,} more never connected" if rows.never else ""
        title = f"{rows.group}: {counted(len(rows.clients), 'client')}{never}"
        _frame(axes, title, timeline.backdrop, first=at == 0, last=at == len(every) - 1)
        (_draw_pixels if as_pixels else _draw_bars)(axes, rows, timeline)
        _name_rows(axes, rows)
    _legend(figure, every[0][0], timeline.brokers, as_pixels)
    return figure


def draw_areas(brokers: tuple[NamedColour, ...], groups: tuple[ClientAreas, ...], backdrop: Backdrop) -> Figure:
    """A set of axes for each group. Dashed lines: where the borders would be if all brokers had their fair share."""
    heights = [AREA] * len(groups)
    figure = _figure(heights)
    for at, (axes, group) in enumerate(zip(_axes(figure, heights), groups, strict=True)):
        _frame(axes, f"{group.group}: clients", backdrop, first=at == 0, last=at == len(groups) - 1)
        _draw_areas(axes, brokers, group)
        axes.set_ylim(0, max(1, group.total))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, min_n_ticks=2))
    return figure


def _height(clients: int) -> int:
    return min(MOST_ROWS, max(LEAST_ROWS, round(ROW * min(clients, 20) + 6 * max(0, clients - 20))))


def _figure(heights: list[int]) -> Figure:
    height = TOP + sum(heights) + BETWEEN * (len(heights) - 1) + BOTTOM
    return Figure(figsize=(WIDTH / 72, height / 72), facecolor="none")


def _axes(figure: Figure, heights: list[int]) -> Iterator[Axes]:
    total, top = float(figure.get_figheight()) * 72, TOP
    for height in heights:
        bottom = 1 - (top + height) / total
        yield figure.add_axes((LEFT / WIDTH, bottom, 1 - (LEFT + RIGHT) / WIDTH, height / total))
        top += height + BETWEEN


def _frame(axes: Axes, title: str, backdrop: Backdrop, *, first: bool, last: bool) -> None:
    plain_axes(axes, shortened(title), 24 if first else 6)
    axes.grid(False)
    axes.set_xlim(0, backdrop.load_s)
    second_ticks(axes, backdrop)
    if not last:
        axes.set_xlabel("")
        axes.tick_params(axis="x", labelbottom=False)
    bands = [band for band in backdrop.faults if 0 <= band.began_s < backdrop.load_s]
    for band, later in zip_longest(bands, bands[1:]):
        until_s = later.began_s if later else backdrop.load_s
        whole = shortened(f"{band.label} {band.what}")
        fits = len(whole) * CHARACTER_WIDTH <= (until_s - band.began_s) / backdrop.load_s * (WIDTH - LEFT - RIGHT)
        stop = backdrop.load_s if band.ended_s is None else min(band.ended_s, backdrop.load_s)
        _draw_fault(axes, band.began_s, stop, (whole if fits else band.label) if first else "")


def _draw_fault(axes: Axes, start: float, stop: float, label: str) -> None:
    """A bar above the plot, and a line through it at either end: the rows themselves stay as they are."""
    height = STRIP / (axes.get_window_extent().height * 72 / axes.figure.dpi)
    axes.axvspan(start, stop, ymin=1.0, ymax=1.0 + height, facecolor=FAULT, edgecolor="none", clip_on=False)
    for at_s in (start, stop):
        axes.axvline(at_s, color=INK, linewidth=1, linestyle=(0, (2, 2)), zorder=4)
    above = axes.get_xaxis_transform()
    axes.text(start, 1.0 + 1.6 * height, label, transform=above, fontsize=SMALL, color=FAULT, va="bottom")


def _draw_bars(axes: Axes, rows: ClientRows, timeline: ClientTimeline) -> None:
    for at, broker in enumerate(timeline.brokers):
        spans = [(row, run) for row, cells in enumerate(rows.cells) for run in runs(cells, at)]
        step_s = timeline.backdrop.load_s / max(1, len(rows.cells[0]))
        lefts = [start * step_s for _, (start, _) in spans]
        widths = [(stop - start) * step_s for _, (start, stop) in spans]
        axes.barh([row for row, _ in spans], widths, BAR, lefts, color=_colour(broker), linewidth=0, zorder=2)
    axes.set_ylim(len(rows.clients) - 0.5, -0.5)


def runs(cells: tuple[int, ...], value: int) -> list[tuple[int, int]]:
    """From which column to which the cells have a value."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(cells) == value, [0]]).astype("int8")))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def _draw_pixels(axes: Axes, rows: ClientRows, timeline: ClientTimeline) -> None:
    limits = axes.get_xlim()
    count = len(rows.clients)
    axes.imshow(
        pixels(rows.cells, timeline.brokers),
        extent=(0, timeline.backdrop.load_s, count - 0.5, -0.5),
        aspect="auto",
        interpolation="none",
        zorder=2,
    )
    axes.set_xlim(limits)


def pixels(
    cells: tuple[tuple[int, ...], ...], brokers: tuple[NamedColour, ...]
) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """RGBA, a pixel a cell; transparent where a client has no connection."""
    palette = np.array([[*bytes.fromhex(_pixel(broker)), 255] for broker in brokers] + [[0, 0, 0, 0]], dtype=np.uint8)
    found = np.asarray(cells)
    return palette[np.where(found == NOWHERE, len(brokers), found)]


def _name_rows(axes: Axes, rows: ClientRows) -> None:
    """Client numbers where there is room, else how many."""
    axes.tick_params(axis="y", labelsize=SMALL)
    if len(rows.clients) <= MOST_NAMED:
        axes.yaxis.set_major_locator(FixedLocator(list(range(len(rows.clients)))))
        axes.set_yticklabels([str(client) for client in rows.clients])
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, steps=[1, 2, 5, 10]))


def _draw_areas(axes: Axes, brokers: tuple[NamedColour, ...], group: ClientAreas) -> None:
    base, fair = np.zeros(len(group.at_s)), np.zeros(len(group.at_s))
    for broker, counts, share in zip(brokers, group.counts, group.fair, strict=True):
        top = base + np.asarray(counts)
        axes.fill_between(
            group.at_s, base, top, step="post", color=_colour(broker), alpha=OPACITY, linewidth=0, zorder=2
        )
        fair = fair + np.asarray(share)
        inside = np.where(fair < group.total - 0.01, fair, np.nan)
        axes.step(group.at_s, inside, where="post", color=INK, linewidth=1.2, linestyle=(0, (5, 3)), zorder=3)
        _label_area(axes, f"{broker.name}  {counts[-1]:,}", float(base[-1] + top[-1]) / 2, counts[-1], group.total)
        base = top
    off = group.total - int(base[-1])
    _label_area(axes, f"off  {off:,}", group.total - off / 2, off, group.total)
    _write_counts(axes, group)


def _write_counts(axes: Axes, group: ClientAreas) -> None:
    """The numbers of some moments, just right of each; not where they would hide each other."""
    free_s, room_s = 0.0, group.at_s[-1] * COUNT_ROOM
    for at_s, counts in group.told:
        if at_s < free_s or at_s + room_s > group.at_s[-1]:
            continue
        free_s, base = at_s + room_s, 0
        for count in counts:
            if count >= LEAST_LABELLED * group.total:
                y = base + count / 2
                axes.text(at_s + room_s / 8, y, f"{count:,}", va="center", fontsize=SMALL, color=INK, zorder=5)
            base += count


def _label_area(axes: Axes, text: str, y: float, count: int, total: int) -> None:
    """At the right edge, beside the area; not of areas that are too thin for a line of text."""
    if count >= max(1, LEAST_LABELLED * total):
        where = axes.get_yaxis_transform()
        axes.text(1.012, y, shortened(text), transform=where, va="center", fontsize=SMALL, color=INK, clip_on=False)


def _legend(figure: Figure, axes: Axes, brokers: tuple[NamedColour, ...], as_pixels: bool) -> None:
    shown = [broker for broker in brokers if not broker.muted]
    handles = [
        Patch(color=f"#{_pixel(broker)}" if as_pixels else _colour(broker), label=INVISIBLE + shortened(broker.name))
        for broker in shown
    ]
    if len(shown) < len(brokers):
        colour = f"#{MUTED_PIXEL}" if as_pixels else MUTED
        handles.append(Patch(color=colour, label=f"{len(brokers) - len(shown)} more brokers"))
    handles.append(Patch(facecolor="none", edgecolor=MUTED, linewidth=0.8, label="no connection"))
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.02),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.2,
        borderpad=0,
    )


def _colour(broker: NamedColour) -> str:
    return MUTED if broker.muted else str(look(broker.style)["color"])


def _pixel(broker: NamedColour) -> str:
    return MUTED_PIXEL if broker.muted else PIXELS[broker.style % len(PIXELS)]
