"""How many messages a second were due, sent, confirmed and received?"""

import pyarrow as pa
import pyarrow.compute as pc

from reports.values import Backdrop, Line, Panel, Timeline
from reports.views.grid import summed

EVENTS = ("due", "sent", "acked", "received")


def rates(table: pa.Table, backdrop: Backdrop) -> Timeline:
    """Messages a second in each step; a second without any is 0, as it was."""
    lines = []
    for style, event in enumerate(EVENTS):
        totals = summed(table.filter(pc.equal(table["event"], event)), "count", backdrop)
        values = tuple(totals.get(start, 0) / backdrop.width_s(start) for start in backdrop.starts)
        lines.append(Line(event, values if totals else (None,) * len(values), style))
    return Timeline(tuple(backdrop.starts), (Panel("", tuple(lines)),), "messages/s", backdrop, layered=True)
