"""Turns a table with many figures and few rows, so that it is high instead of wide."""

from reports.parts.numbers import cell
from reports.parts.values import Column, Table

NAMED_BY = 2


def turned(table: Table) -> Table:
    """A row a figure, and a column for each row of ``table``, which is named by its first two cells."""
    names = (Column(", ".join(str(value) for value in row[:NAMED_BY])) for row in table.rows)
    rows = tuple(
        (column.title, *(cell(row[at], column.decimals) for row in table.rows))
        for at, column in enumerate(table.columns)
        if at >= NAMED_BY and table.rows
    )
    return Table(table.caption, (Column("Figure"), *names), rows, table.empty)
