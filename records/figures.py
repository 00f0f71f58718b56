"""Names every figure of summary.json that a check can demand something of, by its dotted path."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from records.summary import Summary

KINDS = tuple(
    f"{kind}_{mode}" for kind in ("queue", "topic", "durable_topic") for mode in ("persistent", "non_persistent")
)
"""The kinds of messages: of a queue, a topic or durable subscriptions, by JMS's delivery mode."""
NAMED = {
    "kinds": KINDS,
    "latency_ms": ("due_to_received", "sent_to_received", "sent_to_settled", "round_trip"),
    "clocks": ("error_bound_ms",),
    "timing.less_own_time_ms": ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max"),
    "phases": ("up", "prove", "clients", "warm_up", "load", "drain", "browse", "down"),
}
"""The keys of the parts of the summary that are dictionaries."""
RENAMED = {f"kinds.{kind}.stranded": f"kinds.{kind}.pending" for kind in KINDS}
"""Figures that once had another name, by that name."""


def known_figures() -> list[str]:
    """``messages.lost``, ``latency_ms.due_to_received.p99`` … in the summary's order."""
    return list(_figures(Summary, ""))


def _figures(kind: Any, path: str) -> Iterator[str]:
    prefix = f"{path}." if path else ""
    if is_typeddict(kind):
        for key, value in get_type_hints(kind).items():
            yield from _figures(value, prefix + key)
    elif get_origin(kind) is dict:
        for key in NAMED.get(path, ()):
            yield from _figures(get_args(kind)[1], prefix + key)
    elif path != "summary_version" and {int, float} & {kind, *get_args(kind)} and get_origin(kind) is not list:
        yield path
