"""Says how long it took until messages flowed on every destination, if a run has several: a sentence and a table."""

from records.messages import Destinations
from reports.numbers import seconds_text, significant
from reports.values import Table, columns_of, table_of


def destinations_sentence(found: Destinations) -> str:
    """'' for a run with one destination."""
    if found["count"] < 2:
        return ""
    if found["all_flow_s"] is None:
        return f"Messages were received from {found['reached']:,} of {found['count']:,} destinations."
    flow = f"Messages flowed on all {found['count']:,} destinations {seconds_text(found['all_flow_s'])} after the first"
    return f"{flow} was due; the first of the slowest destination took {significant(found['first_ms']['max'])} ms."


def destinations_table(found: Destinations) -> Table:
    """One row."""
    columns = columns_of(Destinations, "count", "reached", "all_flow_s", "first_ms.p50", "first_ms.max")
    return table_of("Until messages flow on every destination", (found,), columns)
