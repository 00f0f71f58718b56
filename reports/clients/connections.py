"""Says how many connections were held by a load whose clients become more: a sentence, and a table of its steps."""

from records.clients import Connections, ConnectionStep
from reports.parts.numbers import counted
from reports.parts.values import Table, columns_of, table_of


def connections_sentence(connections: Connections) -> str:
    """Up to how many every step was held, and what the limit was; '' without steps."""
    if not connections["steps"]:
        return ""
    held, not_held = connections["held"] or 0, connections["not_held"]
    if not_held is None:
        return f"{counted(held, 'connection')} were held, which is as many as were asked for."
    return f"{counted(held, 'connection')} were held, and not {not_held:,}: {connections['why']}."


def connections_table(connections: Connections) -> Table:
    """A row a step."""
    columns = columns_of(
        ConnectionStep,
        *("clients", "from_s", "until_s", "connected", "refused"),
        ("Refused by", None, lambda step: ", ".join(step["refused_by"])),
        *("connect_ms.p50", "connect_ms.max", "due_to_received_ms.p50", "due_to_received_ms.p99"),
        ("Held", None, lambda step: "yes" if step["held"] else "no"),
    )
    steps, empty = connections["steps"], "The load ended before its first step did."
    return table_of("Connections in steps", steps, columns, empty)
