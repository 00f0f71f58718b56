"""The plain values between the result tables and the page.

Views compute these, figures draw them, the template prints them; none of the three knows where the others' work ends.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, get_type_hints

from records.figures import declared

Cell = str | int | float | None
ANY = -1
Columns = Iterable[tuple[str, int | None, str | Callable[[Any], Cell]]]
"""Title, decimals as `Column` has them, and the value in a row's item: its key (``outage_ms.p50``), or a function."""


@dataclass(frozen=True)
class Column:
    """``decimals``: digits after the point; ANY: as many as it needs; None: text (left-aligned)."""

    title: str
    decimals: int | None = None

    @property
    def numeric(self) -> bool:
        return self.decimals is not None


@dataclass(frozen=True)
class Table:
    """``empty`` says in words why there are no rows; ``sortable``: where the reader may look for an extreme."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "Nothing was recorded."
    sortable: bool = False

    @property
    def alignment(self) -> str:
        """A style class that stands for one on every cell: long tables of numbers are most of a report's bytes."""
        first, *others = (column.numeric for column in self.columns)
        if not others or not all(others):
            return "mixed"
        return "numbers" if first else "numbers named"


def table_of(
    caption: str, items: Iterable[Any], columns: Columns, empty: str = Table.empty, *, sortable: bool = False
) -> Table:
    """A table with a row for each of ``items``."""
    titles, decimals, values = zip(*columns, strict=True)
    rows = tuple(tuple(_value(item, value) for value in values) for item in items)
    return Table(caption, tuple(map(Column, titles, decimals)), rows, empty, sortable)


def columns_of(kind: Any, *columns: str | tuple[str, int | None, str | Callable[[Any], Cell]]) -> Columns:
    """The columns of a table whose rows are of a type of summary.json. A key, or a part of one (``outage_ms.p50``), has
    its heading, unit and decimals as they are declared; other columns are taken as they are."""
    return [_declared_column(kind, column) if isinstance(column, str) else column for column in columns]


def _declared_column(kind: Any, column: str) -> tuple[str, int | None, str]:
    name, _, part = column.partition(".")
    hint, figure = get_type_hints(kind)[name], declared(kind)[name]
    if not part:
        return figure.heading(), None if hint is str else figure.decimals, column
    of_part = declared(hint)[part]
    return figure.heading(of_part.column), figure.decimals or of_part.decimals, column


def _value(item: Any, value: str | Callable[[Any], Cell]) -> Cell:
    found: Cell = value(item) if callable(value) else reduce(getitem, value.split("."), item)
    return found


@dataclass(frozen=True)
class Line:
    """One series. ``style`` picks colour, dash and marker together, so that one broker looks the same everywhere."""

    name: str
    values: tuple[float | None, ...]
    style: int = 0
    muted: bool = False


@dataclass(frozen=True)
class Panel:
    """One set of axes; the panels of a timeline share its seconds."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Band:
    """A fault on the time axis, in seconds from the start of the load; ``ended_s`` None: never mended."""

    label: str
    what: str
    began_s: float
    ended_s: float | None
    error: str = ""


@dataclass(frozen=True)
class Backdrop:
    """The background of every plot over time. All in seconds from the start of the load."""

    first_s: int
    last_s: int
    load_s: float
    faults: tuple[Band, ...] = ()
    step_s: int = 1

    @property
    def starts(self) -> range:
        """The first second of every step; steps are aligned to the start of the load."""
        return range(self.first_s // self.step_s * self.step_s, self.last_s + 1, self.step_s)

    def width_s(self, start: int) -> int:
        """How many seconds of a step lie inside the run: the first and the last step may be cut short."""
        return min(start + self.step_s, self.last_s + 1) - max(start, self.first_s)


@dataclass(frozen=True)
class TimeSeries:
    """Series over time, one value for each step (null if there is none)."""

    starts: tuple[int, ...]
    panels: tuple[Panel, ...]
    unit: str
    backdrop: Backdrop
    log_y: bool = False
    layered: bool = False  # series that lie on each other are drawn from broad to narrow
    decimals: int = 0

    @property
    def empty(self) -> bool:
        return not any(value is not None for panel in self.panels for line in panel.lines for value in line.values)


@dataclass(frozen=True)
class Curve:
    """A percentile curve: (fraction, ms) in ascending order. ``count``: samples behind it.

    ``doubtful``: for each point, whether its value is not to be relied on; empty if all are.
    """

    name: str
    count: int
    points: tuple[tuple[float, float], ...]
    style: int = 0
    doubtful: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Heatmap:
    """``counts[row][column]``: messages of a latency bin (rows, ascending, ``edges_ms`` one longer) in a time step."""

    starts: tuple[int, ...]
    edges_ms: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    backdrop: Backdrop


@dataclass(frozen=True)
class Chart:
    """A figure on the page. Without ``svg``, ``missing`` says why there is none."""

    anchor: str
    title: str
    lead: str
    table: Table
    svg: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Figure:
    """One key figure: ``value`` is text already, ``note`` one short explanation.

    ``tone``: '' | good | bad | doubtful.
    """

    label: str
    value: str
    unit: str
    note: str
    tone: str = ""


@dataclass(frozen=True)
class BandCurve:
    """Percentile curves of the runs of one arm: the middle one, and the least and the most, at the same fractions."""

    name: str
    fractions: tuple[float, ...]
    low_ms: tuple[float, ...]
    middle_ms: tuple[float, ...]
    high_ms: tuple[float, ...]
    style: int = 0


@dataclass(frozen=True)
class DotRow:
    """The ratios of one arm to the first, one a block, with their estimate and its interval."""

    name: str
    ratios: tuple[float, ...]
    centre: float
    low: float
    high: float
    style: int = 0


@dataclass(frozen=True)
class OutageRow:
    """The outages of the clients of one role by one fault. ``never``: how many never came back."""

    name: str
    outages_ms: tuple[float, ...]
    never: int
    style: int = 0


@dataclass(frozen=True)
class NamedColour:
    """A broker's name and style in a picture of clients. ``muted``: one of many, drawn in grey."""

    name: str
    style: int
    muted: bool = False


@dataclass(frozen=True)
class ClientRows:
    """The clients of one group. ``cells[row][column]``: the position of a broker in the picture, or NOWHERE.

    ``clients``: the client number of each row. ``never``: how many more were never connected.
    """

    group: str
    clients: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]
    never: int = 0


@dataclass(frozen=True)
class ClientTimeline:
    """All clients over the load, in columns of the same length."""

    brokers: tuple[NamedColour, ...]
    groups: tuple[ClientRows, ...]
    backdrop: Backdrop


@dataclass(frozen=True)
class ClientAreas:
    """How many clients of one group each broker had. ``at_s``: when any number changed, and the end of the load.

    ``counts[broker]`` and ``fair[broker]`` have a value for each time: clients, and what would be fair. ``told``: at
    some moments, in seconds, the clients of each broker.
    """

    group: str
    total: int
    at_s: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    fair: tuple[tuple[float, ...], ...]
    told: tuple[tuple[float, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class ConsumerBars:
    """The messages of each consumer of one subscription, by broker. ``even``: what each had of an even split.

    ``brokers``: for each consumer the position of its broker in the picture.
    """

    subscription: str
    consumers: tuple[int, ...]
    brokers: tuple[int, ...]
    messages: tuple[int, ...]
    even: float


NOWHERE = -1
"""The cell of a client that is connected to no broker."""
