"""Computes the messages a second that were due, sent, confirmed and received."""

import pyarrow as pa
import pyarrow.compute as pc

from reports.values import Backdrop, Line, Panel, TimeSeries
from reports.views.grid import summed

EVENTS = ("due", "sent", "acked", "received")


def rates(table: pa.Table, backdrop: Backdrop) -> TimeSeries:
    """Messages a second in each step; a second without messages is 0."""
    lines = []
    for style, event in enumerate(EVENTS):
        totals = summed(table.filter(pc.equal(table["event"], event)), "count", backdrop)
        values = tuple(totals.get(start, 0) / backdrop.width_s(start) for start in backdrop.starts)
        lines.append(Line(event, values if totals else (None,) * len(values), style))
    return TimeSeries(tuple(backdrop.starts), (Panel("", tuple(lines)),), "messages/s", backdrop, layered=True)
