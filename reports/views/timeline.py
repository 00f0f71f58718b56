"""Makes the table that says the same as a chart over time."""

from reports.values import Cell, Column, Table, TimeSeries


def table(caption: str, timeline: TimeSeries, empty: str) -> Table:
    """A row a step, a column a line; steps in which nothing was recorded are left out."""
    lines = [(panel.name, line) for panel in timeline.panels for line in panel.lines]
    titles = [f"{panel}: {line.name}" if panel else line.name for panel, line in lines]
    columns = (Column("Second", 0), *(Column(f"{title} ({timeline.unit})", timeline.decimals) for title in titles))
    rows: list[tuple[Cell, ...]] = []
    for at, start in enumerate(timeline.starts):
        values = tuple(line.values[at] for _, line in lines)
        if any(value is not None for value in values):
            rows.append((start, *values))
    step_s = timeline.backdrop.step_s
    counted = f"{caption}; seconds from the start of the load" + (f", in steps of {step_s} s" if step_s > 1 else "")
    return Table(counted, columns, tuple(rows), empty)
