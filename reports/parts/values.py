"""The plain values of a page: tables with their columns and cells, charts and key figures."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, get_type_hints

from records.figures.declaration import declared
from reports.parts.numbers import ABSENT

Cell = str | int | float | None
ANY = -1
SENTENCE = 40  # characters; names are shorter
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
    """A table. ``empty``: a sentence shown if the table has no rows; ``sortable``: whether the reader can sort it."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "Nothing was recorded."
    sortable: bool = False

    @property
    def alignment(self) -> str:
        """One style class for all cells, as long tables of numbers are most of a report's bytes."""
        first_is_numeric, *others_numeric = (column.numeric for column in self.columns)
        if not others_numeric or not all(others_numeric):
            return "mixed"
        return "numbers" if first_is_numeric else "numbers named"

    @property
    def prose(self) -> tuple[bool, ...]:
        """Which columns have sentences. Without a minimum width, a wide table would show one word of them per line."""
        columns = enumerate(self.columns)
        texts = ([] if column.numeric else [str(row[at]) for row in self.rows] for at, column in columns)
        return tuple(max(map(len, cells), default=0) > SENTENCE for cells in texts)


def table_of(
    caption: str, items: Iterable[Any], columns: Columns, empty: str = Table.empty, *, sortable: bool = False
) -> Table:
    """Return a table with a row for each of ``items``."""
    titles, decimals, values = zip(*columns, strict=True)
    rows = tuple(tuple(_value(item, value) for value in values) for item in items)
    return Table(caption, tuple(map(Column, titles, decimals)), rows, empty, sortable)


def columns_of(kind: Any, *columns: str | tuple[str, int | None, str | Callable[[Any], Cell]]) -> Columns:
    """Return the columns of a table whose rows are of a type of summary.json.

    A key, or a part of one (``outage_ms.p50``), has the declared heading, unit and decimals. Other columns are used as
    they are.
    """
    return [_declared_column(kind, column) if isinstance(column, str) else column for column in columns]


def _declared_column(kind: Any, column: str) -> tuple[str, int | None, str]:
    name, _, part = column.partition(".")
    hint, figure = get_type_hints(kind)[name], declared(kind)[name]
    if not part:
        return figure.heading(), None if hint is str else figure.decimals, column
    of_part = declared(hint)[part]
    return figure.heading(of_part.column), figure.decimals or of_part.decimals, column


def _value(item: Any, value: str | Callable[[Any], Cell]) -> Cell:
    cell_value: Cell = value(item) if callable(value) else reduce(getitem, value.split("."), item)
    return cell_value


@dataclass(frozen=True)
class Chart:
    """A figure on the page. Without ``svg``, ``missing`` is the reason."""

    anchor: str
    title: str
    lead: str
    table: Table
    svg: str = ""
    missing: str = ""


@dataclass(frozen=True)
class KeyFigure:
    """One key figure: ``value`` is text already, ``note`` one short explanation.

    ``tone``: '' | good | bad | doubtful.
    """

    label: str
    value: str
    unit: str
    note: str
    tone: str = ""


@dataclass(frozen=True)
class NamedColor:
    """A broker's name and style in a picture of clients. ``muted``: one of many, drawn in gray."""

    name: str
    style: int
    muted: bool = False


NAMED_BY = 2


def cell(value: Cell, decimals: int | None) -> str:
    """Return the text of a cell. A column of numbers has a fixed number of decimals, so that the points align."""
    if value is None:
        return ABSENT
    if isinstance(value, str) or decimals is None:
        return str(value)
    return f"{value:,.6g}" if decimals == ANY else f"{value:,.{decimals}f}"


def transpose(table: Table) -> Table:
    """Return a table with a row per figure, and a column per row of ``table``, named by its first two cells."""
    names = (Column(", ".join(str(value) for value in row[:NAMED_BY])) for row in table.rows)
    rows = tuple(
        (column.title, *(cell(row[at], column.decimals) for row in table.rows))
        for at, column in enumerate(table.columns)
        if at >= NAMED_BY and table.rows
    )
    return Table(table.caption, (Column("Figure"), *names), rows, table.empty)
