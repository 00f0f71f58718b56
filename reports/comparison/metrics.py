"""Lists the figures of a run that a comparison can test or show, by their paths in summary.json."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from records.summary import Summary
from reports.numbers import joined

PERCENTILES = {
    "min": "smallest",
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "p99_9": "p99.9",
    "p99_99": "p99.99",
    "max": "largest",
}
MEASURES = {
    "due_to_received": "latency",
    "sent_to_received": "sent to received",
    "sent_to_settled": "sent to confirmed",
}
MOST_PRIMARY = 3
PRIMARY, PRIMARY_OF_FAULTS = "latency_ms.due_to_received.p99", "recovery.outage_ms.max"
"""What is judged if nothing is named; the second in a scenario whose faults cut clients off."""


class ComparisonImpossible(ValueError):
    """The requested runs cannot be compared: names the run or the figure, the rule and the next step."""


NO_STEPS = "no load had steps, or none was held"


@dataclass(frozen=True)
class Metric:
    """A figure with a ratio. ``path``: where it stands in summary.json.

    ``of_faults``: runs without a fault have no such figure. ``if_absent``: why no run may have it, in words.
    """

    path: str
    title: str
    unit: str
    higher_is_better: bool = False
    of_faults: bool = False
    if_absent: str = "no run measured it"

    @property
    def timing(self) -> bool:
        """Whether it may be doubtful because the generator was late or clocks disagree."""
        return self.path.startswith("latency_ms.")

    @property
    def share_beyond(self) -> float | None:
        """The share of messages beyond a percentile: 0.01 for p99. None for other figures."""
        percentile = self.path.rpartition(".")[2]
        if not self.timing or not percentile.startswith("p"):
            return None
        return round(1 - float(percentile[1:].replace("_", ".")) / 100, 6)

    def value(self, summary: Summary) -> float | None:
        """The figure of one run; None where it was not measured."""
        if self.of_faults and not summary.get("recovery", {}).get("faults"):
            return None
        found: object = summary
        for key in self.path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _latencies() -> Iterable[Metric]:
    for measure, name in MEASURES.items():
        for percentile, title in PERCENTILES.items():
            yield Metric(f"latency_ms.{measure}.{percentile}", f"{name} {title}", "ms")


METRICS: dict[str, Metric] = {
    metric.path: metric
    for metric in (
        *_latencies(),
        Metric("throughput.held_per_s", "highest rate held", "messages/s", higher_is_better=True, if_absent=NO_STEPS),
        Metric("throughput.received_per_s", "rate received", "messages/s", higher_is_better=True),
        Metric("throughput.sent_per_s", "rate sent", "messages/s", higher_is_better=True),
        Metric("throughput.acked_per_s", "rate confirmed", "messages/s", higher_is_better=True),
        Metric("throughput.cpu_ms_per_message_brokers", "CPU per message, brokers", "ms"),
        Metric("throughput.cpu_ms_per_message_generator", "CPU per message, generator", "ms"),
        Metric("throughput.core_wait_ms_per_message_brokers", "wait for a core per message, brokers", "ms"),
        Metric("recovery.outage_ms.p50", "a client's outage p50", "ms", of_faults=True),
        Metric("recovery.outage_ms.max", "longest outage of a client", "ms", of_faults=True),
        Metric("recovery.producers_outage_ms.max", "longest outage of a producer", "ms", of_faults=True),
        Metric("recovery.consumers_outage_ms.max", "longest outage of a consumer", "ms", of_faults=True),
        Metric("recovery.reconnect_ms.p50", "time to reconnect p50", "ms", of_faults=True),
        Metric("recovery.reconnect_ms.max", "longest time to reconnect", "ms", of_faults=True),
        Metric("recovery.ready_ms.max", "longest time until ready again", "ms", of_faults=True),
        Metric("recovery.throughput_back_s", "time until throughput is back", "s", of_faults=True),
        Metric("recovery.p99_back_s", "time until p99 is back", "s", of_faults=True),
        Metric("recovery.backlog_highest", "highest backlog", "messages", of_faults=True),
        Metric("recovery.backlog_drained_s", "time until the backlog is drained", "s", of_faults=True),
        Metric("rebalance.settled_s", "time until clients settled", "s", of_faults=True),
        Metric("rebalance.at_end.max_to_mean", "fullest broker / mean at the end", "times", of_faults=True),
    )
}
SHOWN = (
    "throughput.received_per_s",
    "throughput.held_per_s",
    "throughput.cpu_ms_per_message_brokers",
    "latency_ms.due_to_received.p50",
    "latency_ms.due_to_received.p99",
    "latency_ms.due_to_received.p99_9",
    "recovery.outage_ms.p50",
    "recovery.outage_ms.max",
    "recovery.throughput_back_s",
    "rebalance.settled_s",
    "rebalance.at_end.max_to_mean",
)
"""The columns of the page's table that have a ratio; other primary figures are added."""


def primary_metrics(paths: Iterable[str]) -> tuple[Metric, ...]:
    """The primary figures that were named, or the default. ComparisonImpossible for one unknown, or too many."""
    wanted = tuple(dict.fromkeys(paths)) or (PRIMARY,)
    found = tuple(_metric(path) for path in wanted)
    if len(found) > MOST_PRIMARY:
        raise ComparisonImpossible(
            f"--primary: {len(found)} figures were named, and at most {MOST_PRIMARY} can be primary, as each one "
            "more makes every verdict harder: leave some out (the page shows others without a verdict)"
        )
    return found


def _metric(path: str) -> Metric:
    if path in METRICS:
        return METRICS[path]
    if path.startswith("messages."):
        raise ComparisonImpossible(
            f"--primary {path}: a count that may be 0 has no ratio: the page shows it without a verdict; "
            f"name a latency or a rate, such as {PRIMARY}"
        )
    near = difflib.get_close_matches(path, METRICS, n=3, cutoff=0.0)
    raise ComparisonImpossible(f"--primary {path}: no figure has this name: did you mean {joined(near[:1])}?")
