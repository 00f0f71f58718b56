"""Says how many connections were held by a load whose clients become more: a sentence, and a table of its steps."""

from records.summary import Connections, ConnectionStep
from reports.numbers import counted
from reports.values import Column, Table


def connections_sentence(connections: Connections | None) -> str:
    """Up to how many every step was held, and what the limit was; '' without steps. None: of a run of before."""
    if not connections or not connections["steps"]:
        return ""
    held, not_held = connections["held"] or 0, connections["not_held"]
    if not_held is None:
        return f"{counted(held, 'connection')} were held, which is as many as were asked for."
    return f"{counted(held, 'connection')} were held, and not {not_held:,}: {connections['why']}."


def connections_table(connections: Connections) -> Table:
    """A row a step."""
    columns = (
        Column("Clients", 0),
        Column("From (s)", 0),
        Column("To (s)", 0),
        Column("Connected at its end", 0),
        Column("Refused", 0),
        Column("Refused by"),
        Column("Connecting, p50 (ms)", 1),
        Column("Connecting, max (ms)", 1),
        Column("Latency, p50 (ms)", 2),
        Column("Latency, p99 (ms)", 2),
        Column("Held"),
    )
    rows = tuple(map(_row, connections["steps"]))
    return Table("Connections in steps", columns, rows, "The load ended before its first step did.")


def _row(step: ConnectionStep) -> tuple[str | float | int | None, ...]:
    return (
        step["clients"],
        step["from_s"],
        step["until_s"],
        step["connected"],
        step["refused"],
        ", ".join(step["refused_by"]),
        step["connect_ms"]["p50"],
        step["connect_ms"]["max"],
        step["due_to_received_ms"]["p50"],
        step["due_to_received_ms"]["p99"],
        "yes" if step["held"] else "no",
    )
