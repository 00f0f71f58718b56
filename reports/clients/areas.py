"""Draws the clients' brokers over the load: the number of clients at each broker, and the broker of each client."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator

from records.figures.clients import BrokerAway, GroupBalance
from records.run import RunInfo
from records.units import NS_PER_S
from reports.clients.moves import distribution_table, stays_table
from reports.inputs import Results
from reports.parts.numbers import counted
from reports.parts.over_time import Backdrop, second_ticks
from reports.parts.style import (
    CHARACTER_WIDTH,
    FAULT,
    INK,
    INVISIBLE,
    MUTED,
    SMALL,
    WIDE,
    chart,
    look,
    plain_axes,
    shortened,
)
from reports.parts.values import Chart, NamedColor


@dataclass(frozen=True)
class ClientRows:
    """The clients of one group. ``cells[row][column]``: the position of a broker in the picture, or NOWHERE.

    ``clients``: the client number of each row. ``never``: the number of further clients that never connected.
    """

    group: str
    clients: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]
    never: int = 0


@dataclass(frozen=True)
class ClientTimeline:
    """All clients over the load, in columns of the same length."""

    brokers: tuple[NamedColor, ...]
    groups: tuple[ClientRows, ...]
    backdrop: Backdrop


@dataclass(frozen=True)
class ClientAreas:
    """How many clients of one group each broker had. ``at_s``: when any number changed, and the end of the load.

    ``counts[broker]`` and ``fair[broker]`` have a value for each time: clients, and what would be fair.
    ``labeled_counts``: at some moments, in seconds, the clients of each broker.
    """

    group: str
    total: int
    at_s: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    fair: tuple[tuple[float, ...], ...]
    labeled_counts: tuple[tuple[float, tuple[int, ...]], ...] = ()


NOWHERE = -1
"""The cell of a client that is connected to no broker."""
COLUMNS, AREA_COLUMNS = 900, 300
MOST_COLORS, STYLES_OF_MANY = 8, (0, 1, 2, 3, 4, 5, 7)
"""With many brokers, the styles of the most active ones. The others are gray, as is style 6."""
Ints = npt.NDArray[np.int64]


def timeline(results: Results, backdrop: Backdrop) -> ClientTimeline:
    """Return the clients of each group, sorted by their brokers at the beginning, after faults and at the end."""
    stays, brokers = results.tables["stays"], named_brokers(results)
    position = {broker.name: at for at, broker in enumerate(brokers)}
    groups = tuple(
        _rows(group, stays.filter(pc.equal(stays["group"], group["group"])), position, backdrop.load_s)
        for group in results.summary["rebalance"]["groups"]
    )
    return ClientTimeline(brokers, tuple(rows for rows in groups if rows.clients), backdrop)


def named_brokers(results: Results) -> tuple[NamedColor, ...]:
    """Return the brokers in the run's order, with their colors.

    With more than eight brokers, only seven have a color: first brokers with faults, then those with the most clients.
    """
    stays = results.tables["stays"]
    names_in_order = dict.fromkeys(
        (*(broker.name for broker in results.run.brokers), *stays["broker"].unique().to_pylist())
    )
    places = {name for group in results.summary["rebalance"]["groups"] for name in brokers_of(group)}
    names = [name for name in names_in_order if name in places]
    if len(names) <= MOST_COLORS:
        return tuple(NamedColor(name, list(names_in_order).index(name)) for name in names)
    targets = {fault["target"] for fault in results.summary["recovery"]["faults"]}
    spent = {name: pc.sum(_length(stays, name)).as_py() or 0 for name in names}
    liveliest = sorted(names, key=lambda name: (name not in targets, -spent[name]))[: len(STYLES_OF_MANY)]
    colored = sorted(liveliest, key=names.index)
    styles = dict(zip(colored, STYLES_OF_MANY, strict=True))
    return tuple(NamedColor(name, styles.get(name, 0), name not in styles) for name in names)


def _length(stays: pa.Table, broker: str) -> pa.ChunkedArray:
    its = stays.filter(pc.equal(stays["broker"], broker))
    return pc.subtract(its["to_ns"], its["from_ns"])


def brokers_of(group: GroupBalance) -> list[str]:
    return list(group["moments"][0]["connected"])


def _rows(group: GroupBalance, stays: pa.Table, position: Mapping[str, int], load_s: float) -> ClientRows:
    cells = {client: _cells(rows, position, load_s) for client, rows in _by_client(stays).items()}
    looked_at = [min(COLUMNS - 1, int(moment["at_s"] / load_s * COLUMNS)) for moment in group["moments"]]

    def key(client: int) -> tuple[Any, ...]:
        its = cells[client]
        places = [int(its[column]) if its[column] != NOWHERE else len(position) for column in looked_at]
        changes = np.flatnonzero(np.diff(its))
        return (*places, changes[0] if len(changes) else COLUMNS, client)

    ordered = sorted(cells, key=key)
    rows = tuple(tuple(cells[client].tolist()) for client in ordered)
    return ClientRows(group["group"], tuple(ordered), rows, group["clients"] - len(ordered))


def _by_client(stays: pa.Table) -> dict[int, list[dict[str, Any]]]:
    rows_by_client: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(stays.to_pylist(), key=lambda row: row["from_ns"]):
        rows_by_client.setdefault(row["user"], []).append(row)
    return rows_by_client


def _cells(stays: Sequence[Mapping[str, Any]], position: Mapping[str, int], load_s: float) -> Ints:
    """Return the broker of each column. Even a short time without a connection makes a column NOWHERE."""
    column_ns = load_s * NS_PER_S / COLUMNS
    cells = np.full(COLUMNS, NOWHERE, dtype="int64")
    for stay in stays:
        cells[int(stay["from_ns"] / column_ns) : -int(-stay["to_ns"] // column_ns)] = position[stay["broker"]]
    for before, after in pairwise(stays):
        if after["from_ns"] > before["to_ns"]:
            cells[int(before["to_ns"] / column_ns) : -int(-after["from_ns"] // column_ns)] = NOWHERE
    return cells


def areas_of_groups(results: Results, backdrop: Backdrop) -> tuple[tuple[NamedColor, ...], tuple[ClientAreas, ...]]:
    """Return the brokers of the areas, with all gray brokers combined as the last one, and the areas of each group."""
    brokers, stays, gone = named_brokers(results), results.tables["stays"], results.summary["rebalance"]["away"]
    muted = [broker.name for broker in brokers if broker.muted]
    shown = tuple(broker for broker in brokers if not broker.muted)
    together = [*([broker.name] for broker in shown), *([muted] if muted else [])]
    muted_together = (NamedColor(f"{len(muted)} more", 0, muted=True),) if muted else ()
    areas = (
        _areas(group, stays.filter(pc.equal(stays["group"], group["group"])), together, gone, results.run, backdrop)
        for group in results.summary["rebalance"]["groups"]
    )
    return (*shown, *muted_together), tuple(areas)


def _areas(
    group: GroupBalance,
    stays: pa.Table,
    together: Sequence[Sequence[str]],
    gone: Sequence[BrokerAway],
    run: RunInfo,
    backdrop: Backdrop,
) -> ClientAreas:
    """Return a value for each column with a changed count. ``together``: the brokers of each area."""
    starts = np.arange(AREA_COLUMNS) * backdrop.load_s / AREA_COLUMNS
    middles_ns = (starts + backdrop.load_s / AREA_COLUMNS / 2) * NS_PER_S
    names = [name for names in together for name in names]
    counts = np.array([_count(stays.filter(pc.equal(stays["broker"], name)), middles_ns) for name in names])
    there = np.array([_is_there(name, group, gone, run, starts) for name in names]) | (counts > 0)
    fair = there * (group["clients"] / np.maximum(1, there.sum(axis=0)))
    firsts = np.cumsum([0, *(len(names) for names in together)])[:-1]
    counts, fair = np.add.reduceat(counts, firsts, axis=0), np.add.reduceat(fair, firsts, axis=0)
    counts_and_fair = np.vstack([counts, fair])
    changed = np.append(True, (counts_and_fair[:, 1:] != counts_and_fair[:, :-1]).any(axis=0))
    return ClientAreas(
        group["group"],
        group["clients"],
        (*starts[changed].tolist(), backdrop.load_s),
        tuple((*row[changed].tolist(), int(row[-1])) for row in counts),
        tuple((*row[changed].tolist(), float(row[-1])) for row in fair),
        _labeled_counts(group, together),
    )


def _labeled_counts(
    group: GroupBalance, together: Sequence[Sequence[str]]
) -> tuple[tuple[float, tuple[int, ...]], ...]:
    """Return the counts at the beginning, and after each fault when clients had settled, or could have settled."""
    moments = [
        moment for moment in group["moments"] if moment["moment"] == "begin" or moment["moment"].startswith("after")
    ]
    return tuple(
        (moment["at_s"], tuple(sum(moment["connected"].get(name, 0) for name in names) for names in together))
        for moment in moments
    )


def _count(stays: pa.Table, at_ns: npt.NDArray[np.float64]) -> Ints:
    begun = np.searchsorted(np.sort(stays["from_ns"].to_numpy()), at_ns, side="right")
    ended = np.searchsorted(np.sort(stays["to_ns"].to_numpy()), at_ns, side="right")
    connected: Ints = begun - ended
    return connected


def _is_there(
    broker: str, group: GroupBalance, gone: Sequence[BrokerAway], run: RunInfo, at_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Return when a group's clients may go to a broker: a standby accepts none, and a fault may keep it away."""
    standby = any(listed.name == broker and listed.standby_of for listed in run.brokers)
    there = np.full(len(at_s), broker in brokers_of(group) and not standby)
    for absence in gone:
        if absence["broker"] == broker:
            until_s = float("inf") if absence["until_s"] is None else absence["until_s"]
            there &= (at_s < absence["from_s"]) | (at_s >= until_s)
    return there


LEFT, RIGHT = 64, 170
TOP, BOTTOM, BETWEEN = 46, 42, 34
ROW, LEAST_ROWS, MOST_ROWS = 18, 60, 460
"""Heights: one row if there are few clients, and the minimum and maximum of all rows of a group."""
AREA = 170
MOST_VECTORS = 60
"""Up to this number of clients is drawn as shapes; more are drawn as pixels."""
MOST_NAMED = 24
BAR = 0.78
STRIP = 5
OPACITY = 0.75
COUNT_ROOM, LEAST_LABELED = 0.04, 0.09
"""Shares of the load that a count takes, and of the clients that an area must have to be labeled."""
PIXELS = ("4686e8", "db7833", "26a792", "9f70e0", "da559b", "9f9d2f", "7a889a", "be6255")
"""The colors of the styles between those for a light and a dark page: pixels cannot follow the page."""
MUTED_PIXEL = "8a8f98"


def draw_timeline(timeline: ClientTimeline) -> Figure:
    """Draw a row per client, with one set of axes per group. Times without a connection are blank."""
    heights = [_height(len(rows.clients)) for rows in timeline.groups]
    figure = _figure(heights)
    as_pixels = sum(len(rows.clients) for rows in timeline.groups) > MOST_VECTORS
    every = list(zip(_axes(figure, heights), timeline.groups, strict=True))
    for at, (axes, rows) in enumerate(every):
        never = f", {rows.never:,} more never connected" if rows.never else ""
        title = f"{rows.group}: {counted(len(rows.clients), 'client')}{never}"
        _frame(axes, title, timeline.backdrop, topmost=at == 0, lowest=at == len(every) - 1)
        (_draw_pixels if as_pixels else _draw_bars)(axes, rows, timeline)
        _name_rows(axes, rows)
    _legend(figure, every[0][0], timeline.brokers, as_pixels)
    return figure


def draw_areas(brokers: tuple[NamedColor, ...], groups: tuple[ClientAreas, ...], backdrop: Backdrop) -> Figure:
    """Draw one set of axes per group. Dashed lines mark the borders if all brokers had their fair share."""
    heights = [AREA] * len(groups)
    figure = _figure(heights)
    for at, (axes, group) in enumerate(zip(_axes(figure, heights), groups, strict=True)):
        _frame(axes, f"{group.group}: clients", backdrop, topmost=at == 0, lowest=at == len(groups) - 1)
        _draw_areas(axes, brokers, group)
        axes.set_ylim(0, max(1, group.total))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, min_n_ticks=2))
    return figure


def _height(clients: int) -> int:
    return min(MOST_ROWS, max(LEAST_ROWS, round(ROW * min(clients, 20) + 6 * max(0, clients - 20))))


def _figure(heights: list[int]) -> Figure:
    height = TOP + sum(heights) + BETWEEN * (len(heights) - 1) + BOTTOM
    return Figure(figsize=(WIDE / 72, height / 72), facecolor="none")


def _axes(figure: Figure, heights: list[int]) -> Iterator[Axes]:
    total, top = float(figure.get_figheight()) * 72, TOP
    for height in heights:
        bottom = 1 - (top + height) / total
        yield figure.add_axes((LEFT / WIDE, bottom, 1 - (LEFT + RIGHT) / WIDE, height / total))
        top += height + BETWEEN


def _frame(axes: Axes, title: str, backdrop: Backdrop, *, topmost: bool, lowest: bool) -> None:
    plain_axes(axes, shortened(title), 24 if topmost else 6)
    axes.grid(False)
    axes.set_xlim(0, backdrop.load_s)
    second_ticks(axes, backdrop)
    if not lowest:
        axes.set_xlabel("")
        axes.tick_params(axis="x", labelbottom=False)
    bands = [band for band in backdrop.faults if 0 <= band.began_s < backdrop.load_s]
    for band, later in zip_longest(bands, bands[1:]):
        until_s = later.began_s if later else backdrop.load_s
        whole = shortened(f"{band.label} {band.description}")
        fits = len(whole) * CHARACTER_WIDTH <= (until_s - band.began_s) / backdrop.load_s * (WIDE - LEFT - RIGHT)
        stop = backdrop.load_s if band.ended_s is None else min(band.ended_s, backdrop.load_s)
        _draw_fault(axes, band.began_s, stop, (whole if fits else band.label) if topmost else "")


def _draw_fault(axes: Axes, start: float, stop: float, label: str) -> None:
    """Draw a bar above the plot, and a line through the plot at each end of the fault. The rows keep their colors."""
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
        axes.barh([row for row, _ in spans], widths, BAR, lefts, color=_color(broker), linewidth=0, zorder=2)
    axes.set_ylim(len(rows.clients) - 0.5, -0.5)


def runs(cells: tuple[int, ...], value: int) -> list[tuple[int, int]]:
    """Return the first and last column of each stretch of cells with this value."""
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
    cells: tuple[tuple[int, ...], ...], brokers: tuple[NamedColor, ...]
) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """Return RGBA values, one pixel per cell; transparent for times without a connection."""
    palette = np.array([[*bytes.fromhex(_pixel(broker)), 255] for broker in brokers] + [[0, 0, 0, 0]], dtype=np.uint8)
    positions = np.asarray(cells)
    return palette[np.where(positions == NOWHERE, len(brokers), positions)]


def _name_rows(axes: Axes, rows: ClientRows) -> None:
    """Label rows with client numbers if there is room, otherwise with the number of clients."""
    axes.tick_params(axis="y", labelsize=SMALL)
    if len(rows.clients) <= MOST_NAMED:
        axes.yaxis.set_major_locator(FixedLocator(list(range(len(rows.clients)))))
        axes.set_yticklabels([str(client) for client in rows.clients])
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, steps=[1, 2, 5, 10]))


def _draw_areas(axes: Axes, brokers: tuple[NamedColor, ...], group: ClientAreas) -> None:
    base, fair = np.zeros(len(group.at_s)), np.zeros(len(group.at_s))
    for broker, counts, share in zip(brokers, group.counts, group.fair, strict=True):
        top = base + np.asarray(counts)
        axes.fill_between(
            group.at_s, base, top, step="post", color=_color(broker), alpha=OPACITY, linewidth=0, zorder=2
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
    """Write counts to the right of some moments, unless they would overlap."""
    free_s, room_s = 0.0, group.at_s[-1] * COUNT_ROOM
    for at_s, counts in group.labeled_counts:
        if at_s < free_s or at_s + room_s > group.at_s[-1]:
            continue
        free_s, base = at_s + room_s, 0
        for count in counts:
            if count >= LEAST_LABELED * group.total:
                y = base + count / 2
                axes.text(at_s + room_s / 8, y, f"{count:,}", va="center", fontsize=SMALL, color=INK, zorder=5)
            base += count


def _label_area(axes: Axes, text: str, y: float, count: int, total: int) -> None:
    """Draw the label at the right edge, next to the area. Areas too thin for a line of text get none."""
    if count >= max(1, LEAST_LABELED * total):
        where = axes.get_yaxis_transform()
        axes.text(1.012, y, shortened(text), transform=where, va="center", fontsize=SMALL, color=INK, clip_on=False)


def _legend(figure: Figure, axes: Axes, brokers: tuple[NamedColor, ...], as_pixels: bool) -> None:
    shown = [broker for broker in brokers if not broker.muted]
    handles = [
        Patch(color=f"#{_pixel(broker)}" if as_pixels else _color(broker), label=INVISIBLE + shortened(broker.name))
        for broker in shown
    ]
    if len(shown) < len(brokers):
        color = f"#{MUTED_PIXEL}" if as_pixels else MUTED
        handles.append(Patch(color=color, label=f"{len(brokers) - len(shown)} more brokers"))
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


def _color(broker: NamedColor) -> str:
    return MUTED if broker.muted else str(look(broker.style)["color"])


def _pixel(broker: NamedColor) -> str:
    return MUTED_PIXEL if broker.muted else PIXELS[broker.style % len(PIXELS)]


def client_charts(results: Results, backdrop: Backdrop) -> tuple[Chart, ...]:
    """Return both charts of the clients' brokers during the load, which have the same time axis."""
    stays = results.tables["stays"]
    latest_ns = pc.max(stays["to_ns"]).as_py() or 0
    behind = replace(backdrop, load_s=backdrop.load_s or latest_ns / NS_PER_S)
    draw = (
        lambda: draw_areas(*areas_of_groups(results, behind), behind),
        lambda: draw_timeline(timeline(results, behind)),
    )
    nobody = "No client was connected within the load."
    return (
        chart(
            "client-areas",
            "Clients of each broker",
            "Dashed: the borders if all running brokers had equal shares of the clients. Numbers: clients at "
            "the beginning, after they had settled from a fault, and at the end. Bars above mark faults.",
            distribution_table(results.tables["distribution"]),
            draw[0] if latest_ns else None,
            nobody,
        ),
        chart(
            "client-timeline",
            "The broker of each client",
            "Each row shows a client in its broker's color. Gaps are times without a connection; very short gaps are "
            "widened. Rows are sorted by the clients' brokers at the beginning, then after each fault.",
            stays_table(stays),
            draw[1] if latest_ns else None,
            nobody,
        ),
    )
