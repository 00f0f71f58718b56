"""Declares the metrics of the current run once, and formats them as Prometheus text.

`harness.live.otlp` pushes the same metrics to a collector.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from harness.live.history import Moment
from harness.run.snapshot import UP, Snapshot

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
COUNTER = "_total"
"""Ending of the name of a metric that only increases."""

Values = Iterable[tuple[Mapping[str, str], float]]
"""(labels, value)"""


@dataclass(frozen=True)
class LiveMetric:
    """A metric of the current run. ``values``: from its snapshot and its last second; None after the load."""

    name: str
    help: str
    values: Callable[[Snapshot, Moment | None], Values]

    @property
    def is_counter(self) -> bool:
        return self.name.endswith(COUNTER)


def _run(snapshot: Snapshot, last: Moment | None) -> Values:
    labels = ("run_id", "scenario", "topology", "runtime")
    return [({label: getattr(snapshot, label) for label in labels}, 1)]


def _brokers_up(snapshot: Snapshot, last: Moment | None) -> Values:
    return [({"broker": broker}, int(state == UP)) for broker, state in snapshot.brokers.items()]


def _clients(snapshot: Snapshot, last: Moment | None) -> Values:
    connected = sorted(snapshot.connected.items())
    return [({"group": group, "broker": broker}, clients) for (group, broker), clients in connected]


def _faults(snapshot: Snapshot, last: Moment | None) -> Values:
    """Return whether each fault is active. Repetitions of a fault are one series."""
    active: dict[tuple[str, str], bool] = {}
    for fault in snapshot.faults:
        active[fault.kind, fault.target] = active.get((fault.kind, fault.target), False) or fault.state == "going on"
    return [({"kind": kind, "target": target}, int(is_on)) for (kind, target), is_on in active.items()]


def _latency(snapshot: Snapshot, last: Moment | None) -> Values:
    if last is None or last.p50_ms is None or last.p99_ms is None:
        return []
    return [({"quantile": "0.5"}, last.p50_ms), ({"quantile": "0.99"}, last.p99_ms)]


def _readings(kind: str, metric: str, snapshot: Snapshot, last: Moment | None) -> Values:
    """Return a metric of the samples, by broker and by subject, such as a queue."""
    return [
        ({"broker": broker, **({kind: subject} if subject else {})}, reading.now.value)
        for (broker, of_kind, subject, name), reading in sorted(snapshot.current_readings().items())
        if (of_kind, name) == (kind, metric)
    ]


RUNNING = LiveMetric(
    "brokerbench_running", "1 while a run is active.", lambda snapshot, _: [({}, int(not snapshot.over))]
)
METRICS = (
    RUNNING,
    LiveMetric("brokerbench_run_info", "The current run, or the last one.", _run),
    LiveMetric(
        "brokerbench_messages_sent_total",
        "Messages sent, each counted once.",
        lambda snapshot, _: [({}, snapshot.tally.sent)],
    ),
    LiveMetric(
        "brokerbench_messages_settled_total",
        "Messages whose outcome is known.",
        lambda snapshot, _: [({}, snapshot.tally.settled)],
    ),
    LiveMetric(
        "brokerbench_messages_received_total", "Deliveries.", lambda snapshot, _: [({}, snapshot.tally.received)]
    ),
    LiveMetric(
        "brokerbench_broker_up",
        "1 while the broker serves clients: it is running, not frozen, and accepts logins again after a fault.",
        _brokers_up,
    ),
    LiveMetric("brokerbench_clients_connected", "Connected clients, according to the clients.", _clients),
    LiveMetric("brokerbench_fault_active", "1 while a fault is active.", _faults),
    LiveMetric("brokerbench_latency_due_to_received_ms", "Latency in the last whole second.", _latency),
    LiveMetric(
        "brokerbench_broker_connections",
        "Connections, according to the broker.",
        partial(_readings, "broker", "connections"),
    ),
    LiveMetric(
        "brokerbench_broker_heap_used_bytes",
        "Heap that the broker's JVM uses.",
        partial(_readings, "broker", "heap_used_bytes"),
    ),
    LiveMetric(
        "brokerbench_queue_messages",
        "Messages on a queue, including unacknowledged messages.",
        partial(_readings, "queue", "depth"),
    ),
    LiveMetric(
        "brokerbench_bridge_forwarded_total",
        "Messages that a bridge has forwarded.",
        partial(_readings, "bridge", "dequeue_count"),
    ),
)


def metrics(snapshot: Snapshot | None, last: Moment | None) -> str:
    """Return the text of a scrape. Without a run there is only ``brokerbench_running``. ``last``: its last second."""
    return generate_latest(_Scrape(snapshot, last)).decode()


class _Scrape(CollectorRegistry):
    """A registry with one snapshot of a run."""

    def __init__(self, snapshot: Snapshot | None, last: Moment | None) -> None:
        super().__init__()
        self._snapshot, self._last = snapshot, last

    def collect(self) -> Iterator[Metric]:
        if self._snapshot is None:
            yield from _family(RUNNING, [({}, 0)])
            return
        last = None if self._snapshot.over else self._last
        for metric in METRICS:
            yield from _family(metric, metric.values(self._snapshot, last))


def _family(metric: LiveMetric, values: Values) -> Iterator[Metric]:
    """Yield the metric for Prometheus, or nothing if it has no values."""
    if not (values := list(values)):
        return
    labels = list(values[0][0])
    family_of = CounterMetricFamily if metric.is_counter else GaugeMetricFamily
    family = family_of(metric.name, metric.help, labels=labels)
    for label_values, value in values:
        family.add_metric([label_values[label] for label in labels], value)
    yield family
