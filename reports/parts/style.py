"""The look of all charts: colors, dashes, sizes, legends, and SVG that follows the page's theme."""

import html
import io
import re
from collections.abc import Callable
from math import ceil
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from reports.parts.values import Chart, Table

SERIES = 8
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 2, 2)),
    (0, (10, 3)),
    (0, (4, 1.5, 1, 1.5, 1, 1.5)),
    (0, (1, 1)),
    (0, (12, 2, 3, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, MUTED, GRID, BAND, FAULT = "#000101", "#000102", "#000103", "#000104", "#000105"
VARIABLES = {INK: "--ink", MUTED: "--ink-2", GRID: "--grid", BAND: "--band", FAULT: "--fault"}
WIDTH, WIDE = 540, 1_100
TEXT, SMALL = 13, 12
CHARACTER_WIDTH, HANDLE_WIDTH, LEGEND_ROW_HEIGHT = 7.6, 56, 19
LONGEST_NAME = 56
INVISIBLE = "\u200b"
LABEL_ROOM = 22
"""Space between a plot and its unit, for the names of the bands."""
RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "brokerbench",
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a name may hold dollar signs
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def look(style: int) -> dict[str, Any]:
    """Return color, dash and marker of a series as Matplotlib keywords. Series never differ by color alone."""
    at = style % SERIES
    return {"color": f"#0002{at:02x}", "linestyle": DASHES[at], "marker": MARKERS[at]}


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure, as wide as the page's charts or as the page (`WIDE`).

    1 unit is 1 CSS pixel at full width.
    """
    margins = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03)
    return Figure(figsize=(width / 72, height / 72), layout=margins, facecolor="none")


def plain_axes(axes: Axes, unit: str, room: float = 6) -> None:
    """Draw a base line, light grid lines, and the unit above the axis (``room``: points between them)."""
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(MUTED)
    axes.tick_params(colors=MUTED, labelsize=SMALL, length=3, which="major")
    axes.tick_params(length=0, which="minor", labelleft=False, labelbottom=False)
    axes.tick_params(axis="y", length=0, which="both")
    axes.grid(True, axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(unit, loc="left", fontsize=SMALL, color=MUTED, pad=room)


def shortened(name: str) -> str:
    """Cut the middle out of a name that is wider than the figure. The table has the whole name."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 2]}…{name[1 - LONGEST_NAME // 2 :]}"


def legend_columns(handles: list[Line2D]) -> int:
    longest = max((len(shortened(str(handle.get_label()))) for handle in handles), default=0)
    fitting = int(WIDTH / (longest * CHARACTER_WIDTH + HANDLE_WIDTH))
    return max(1, min(fitting, len(handles)))


def legend_height(handles: list[Line2D]) -> float:
    return LEGEND_ROW_HEIGHT * ceil(len(handles) / legend_columns(handles))


def legend(figure: Figure, handles: list[Line2D]) -> None:
    """Draw the legend above the plot, so that it hides nothing, in as many columns as fit."""
    columns = legend_columns(handles)
    for handle in handles:  # Matplotlib leaves out labels that begin with an underscore
        handle.set_label(INVISIBLE + shortened(str(handle.get_label())))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=TEXT,
        labelcolor=INK,
        handlelength=2.6,
        columnspacing=1.2,
        borderpad=0,
        borderaxespad=0.1,
    )


def to_svg(draw: Callable[[], Figure], anchor: str, title: str, description: str) -> str:
    """Return the drawn figure as an accessible inline <svg>. ``anchor`` makes its ids unique on the page."""
    buffer = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a matplotlibrc of the user's is for the user's own figures
        matplotlib.rcParams.update(RC)
        draw().savefig(buffer, format="svg", metadata=NO_METADATA, transparent=True)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    body = svg[svg.index(">") + 1 :]
    view_box = re.search(r'viewBox="([^"]+)"', svg)
    assert view_box is not None
    return opening(anchor, title, description, view_box[1]) + prefix_ids(apply_theme(minify_svg(body)), anchor).strip()


def opening(anchor: str, title: str, description: str, view_box: str, css: str = "chart") -> str:
    """Return the start tag of an image, with a description for screen readers."""
    return (
        f'<svg class="{css}" role="img" viewBox="{view_box}" aria-labelledby="{anchor}-title {anchor}-desc">'
        f'<title id="{anchor}-title">{html.escape(title)}</title>'
        f'<desc id="{anchor}-desc">{html.escape(description)}</desc>'
    )


def minify_svg(body: str) -> str:
    """Remove comments, unused ids, rotations by 0 degrees, and the font list that Matplotlib repeats on each text.

    Paths are shortened.
    """
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href=", "href=").replace('xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    body = re.sub(r"font: (?:(\w+) )?([\d.]+)px [^;\"]*", r"font-size: \2px", body)  # Matplotlib before 3.11
    body = re.sub(r"font-family: [^;\"]*(?:; )?", "", body)
    body = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", body)
    used = set(re.findall(r"#([\w-]+)[\")]", body))
    body = re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", body)
    body = re.sub(r"\n\s*", "\n", body)
    body = re.sub(r"(\d\.\d\d)\d+", r"\1", body)
    return re.sub(r' d="([^"]*)"', lambda match: f' d="{short_path(match[1])}"', body)


def short_path(data: str) -> str:
    """Return the same path in fewer characters: ``H`` and ``V`` for horizontal and vertical lines, one per run.

    ``data``: a path in Matplotlib's form, with absolute coordinates.
    """
    parts: list[str] = []
    last: tuple[float, float] | None = None
    run: tuple[str, bool] | None = None  # of the last line: its command, and whether it leads to higher values
    for command, *numbers in (part.split() for part in re.findall(r"[A-Za-z][^A-Za-z]*", data)):
        values = [float(number) for number in numbers]
        if command not in "ML" or len(values) != 2:
            parts.append(command + " ".join(map(_short, values)))
            last = (values[-2], values[-1]) if len(values) > 1 else None
            run = None
            continue
        x, y = values
        if command == "L" and last is not None and (y == last[1] or x == last[0]):
            line = ("H", x > last[0]) if y == last[1] else ("V", y > last[1])
            if line == run:
                parts.pop()
            run = line
            parts.append(line[0] + _short(x if line[0] == "H" else y))
        else:
            run = None
            parts.append(f"{command}{_short(x)} {_short(y)}")
        last = (x, y)
    return "".join(parts)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def apply_theme(body: str) -> str:
    for color, variable in VARIABLES.items():
        body = body.replace(color, f"var({variable})")
    return re.sub(r"#0002([0-9a-f]{2})\b", lambda match: f"var(--s{int(match[1], 16)})", body)


def prefix_ids(body: str, anchor: str) -> str:
    """Prefix the ids of a figure with its anchor, because ids must be unique across all inline SVGs of a page."""
    body = re.sub(r' id="', f' id="{anchor}-', body)
    body = re.sub(r'href="#', f'href="#{anchor}-', body)
    return body.replace("url(#", f"url(#{anchor}-")


def chart(anchor: str, title: str, lead: str, table: Table, draw: Callable[[], Figure] | None, missing: str) -> Chart:
    """Return a chart, or the reason why there is none."""
    if draw is None:
        return Chart(anchor, title, lead, table, missing=missing)
    return Chart(anchor, title, lead, table, svg=to_svg(draw, anchor, title, lead))
