"""Selects the ten figures that a reader needs first, and shows the scenario's checks."""

from dataclasses import replace

from records.figures import declared
from records.latency import Latency
from records.messages import Messages
from records.summary import Summary
from reports.parts.numbers import ABSENT, significant, whole
from reports.parts.values import ANY, Columns, Figure, Table, table_of

MEANS = declared(Messages)
NO_LATENCY: Latency = {
    "count": 0,
    "negative": 0,
    "min": None,
    "p50": None,
    "p90": None,
    "p99": None,
    "p99_9": None,
    "p99_99": None,
    "max": None,
}


def key_figures(summary: Summary) -> tuple[Figure, ...]:
    """What is not known has no unit."""
    figures = (*_messages(summary), *_latency(summary), *_cost(summary))
    return tuple(replace(figure, unit="") if figure.value == ABSENT else figure for figure in figures)


def _messages(summary: Summary) -> tuple[Figure, ...]:
    messages, throughput = summary["messages"], summary["throughput"]
    per_s = significant(throughput["received_per_s"])
    return (
        Figure("Sent", whole(messages["sent"]), "messages", MEANS["sent"].means),
        Figure("Received", whole(messages["received"]), "messages", MEANS["received"].means),
        _odd(summary, "Lost", "lost", messages["lost"]),
        _odd(summary, "Duplicated", "duplicated", messages["duplicated"]),
        Figure("Throughput", per_s, "msg/s", "First deliveries, mean over the load phase."),
    )


def _odd(summary: Summary, label: str, name: str, count: int) -> Figure:
    """Good or bad is for the checks to say; without a check, none is good and any is bad."""
    outcomes = {check["outcome"] for check in summary["checks"] if check["metric"] == f"messages.{name}"}
    bad = "fail" in outcomes or (count > 0 and "pass" not in outcomes)
    return Figure(label, whole(count), "messages", MEANS[name].means, "bad" if bad else "" if count else "good")


def _latency(summary: Summary) -> tuple[Figure, ...]:
    latency = summary["latency_ms"].get("due_to_received", NO_LATENCY)
    note = "From the time it was due to its first receipt."
    return (
        _timed(summary, "Latency, median", "p50", latency["p50"], note),
        _timed(summary, "Latency, p99", "p99", latency["p99"], _one_in(latency, 100)),
        _timed(summary, "Latency, p99.9", "p99_9", latency["p99_9"], _one_in(latency, 1_000)),
    )


def _timed(summary: Summary, label: str, name: str, value_ms: float | None, note: str) -> Figure:
    """A doubtful figure is marked. It also has its value without the generator's own delay, if that is known."""
    reason = summary["timing"]["doubtful"].get(f"latency_ms.due_to_received.{name}")
    told = f"{note} Doubtful: {reason}." if reason else note
    return Figure(label, significant(value_ms), "ms", told, "doubtful" if reason else "")


def _one_in(latency: Latency, of: int) -> str:
    if latency["count"] < 10 * of:
        return f"One message in {of:,} took longer. Fewer than ten did, so there is no figure."
    return f"One message in {of:,} took longer."


def _cost(summary: Summary) -> tuple[Figure, ...]:
    lag, throughput = summary["lag_ms"], summary["throughput"]
    brokers, generator = throughput["cpu_ms_per_message_brokers"], throughput["cpu_ms_per_message_generator"]
    waited = throughput["core_wait_ms_per_message_brokers"]
    cpu = "All brokers together."
    if generator is not None:
        cpu = f"All brokers together; the load generator took {significant(generator)} ms."
    if waited is not None:
        cpu += f" The brokers' threads also waited {significant(waited)} ms for a core."
    return (
        Figure("Generator lag, p99", significant(lag["p99"]), "ms", "How late the generator sent, by its own fault."),
        Figure("CPU per message", significant(brokers), "ms", cpu),
    )


OUTCOME_WORDS = {"pass": "✓ held", "fail": "✗ failed", "unknown": "? undecided"}


def checks_table(summary: Summary) -> Table:
    columns: Columns = (
        ("Check", None, "name"),
        ("Outcome", None, lambda check: OUTCOME_WORDS.get(check["outcome"], check["outcome"])),
        ("Value", ANY, "value"),
        ("Rule", None, lambda check: f"{check['metric']} {_rule(check['rule'])}"),
    )
    return table_of("Checks", summary["checks"], columns, "This scenario has no checks.")


def _rule(rule: str) -> str:
    """``<= 20`` as ≤ 20, never broken in two."""
    return rule.replace("<=", "≤").replace(">=", "≥").replace(" ", "\u00a0")
