"""Compares messages that stayed in their region with those that crossed to another: a sentence and a table."""

from collections.abc import Collection

from records.latency import Latency, Regions
from reports.numbers import joined, significant
from reports.values import Table, columns_of, table_of

OF_ALL = "latency_ms.due_to_received"
"""The figures of all messages. One that is doubtful is doubtful for those of each region too."""


def regions_sentence(regions: Regions | None, doubtful: Collection[str]) -> str:
    """'' if no message crossed. ``doubtful``: figures as a check names them. ``regions``: None in runs of before."""
    if not regions or not regions["across"]["count"]:
        return ""
    crossed = f"those that crossed to another took {_took(regions['across'], doubtful)}"
    if not regions["within"]["count"]:
        return f"No message stayed in its region; {crossed}."
    return f"Messages that stayed in their region took {_took(regions['within'], doubtful)}; {crossed}."


def _took(latency: Latency, doubtful: Collection[str]) -> str:
    """``0.61 ms at least and 3.87 ms (doubtful) at the median``; of too few messages without a median."""
    figures = (("min", "at least", latency["min"]), ("p50", "at the median", latency["p50"]))
    told = [
        f"{significant(value)} ms{' (doubtful)' if f'{OF_ALL}.{name}' in doubtful else ''} {what}"
        for name, what, value in figures
        if value is not None
    ]
    return joined(told)


def regions_table(found: Regions) -> Table:
    """Latency of the load phase: of messages that stayed in a region, and of those that crossed."""
    columns = columns_of(Latency, ("Messages that", None, "what"), "count", "min", "p50", "p90", "p99", "max")
    rows = (
        {"what": "stayed in their region", **found["within"]},
        {"what": "crossed to another", **found["across"]},
    )
    return table_of("Latency by regions, due → received", rows, columns, "No message was delivered.")
