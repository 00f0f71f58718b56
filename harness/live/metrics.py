"""Formats the current run's figures as Prometheus text, for scrapes of the web UI."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from harness.live.history import Moment
from harness.run.snapshot import UP, Snapshot

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
READ = {  # metric of the samples -> (name, help)
    ("broker", "connections"): ("broker_connections", "Connections as the broker counts them."),
    ("broker", "heap_used_bytes"): ("broker_heap_used_bytes", "Heap that the broker's JVM uses."),
    ("queue", "depth"): ("queue_messages", "Messages on a queue, unacknowledged ones included."),
    ("bridge", "dequeue_count"): ("bridge_forwarded_total", "Messages that a bridge has forwarded."),
}


Values = Iterable[tuple[Mapping[str, str], float]]
"""(labels, value)"""


def metrics(snapshot: Snapshot | None, last: Moment | None) -> str:
    """Return the text of a scrape. Without a run there is only ``brokerbench_running``. ``last``: its last second."""
    return generate_latest(_Scrape(snapshot, last)).decode()


class _Scrape(CollectorRegistry):
    """A registry with one snapshot of a run."""

    def __init__(self, snapshot: Snapshot | None, last: Moment | None) -> None:
        super().__init__()
        self._snapshot, self._last = snapshot, last

    def collect(self) -> Iterator[Metric]:
        running = self._snapshot is not None and not self._snapshot.over
        yield from _metric("running", "1 while a run is active.", [({}, int(running))])
        if self._snapshot is not None:
            yield from _of_run(self._snapshot, self._last if running else None)


def _metric(name: str, help_text: str, values: Values) -> Iterator[Metric]:
    """Yield the metric, or nothing if it has no values."""
    if not (values := list(values)):
        return
    name, labels = f"brokerbench_{name}", list(values[0][0])
    if name.endswith("_total"):
        family: CounterMetricFamily | GaugeMetricFamily = CounterMetricFamily(name, help_text, labels=labels)
    else:
        family = GaugeMetricFamily(name, help_text, labels=labels)
    for label_values, value in values:
        family.add_metric([label_values[label] for label in labels], value)
    yield family


def _of_run(snapshot: Snapshot, last: Moment | None) -> Iterator[Metric]:
    run = {"run_id": snapshot.run_id, "topology": snapshot.topology, "runtime": snapshot.runtime}
    tally = snapshot.tally
    yield from _metric("run_info", "The current run, or the last one.", ((run, 1),))
    yield from _metric("messages_sent_total", "Messages sent, attempts not counted.", (({}, tally.sent),))
    yield from _metric("messages_settled_total", "Messages whose outcome is known.", (({}, tally.settled),))
    yield from _metric("messages_received_total", "Deliveries.", (({}, tally.received),))
    yield from _metric(
        "broker_up",
        "1 while the broker serves: it runs, is not frozen, and logs clients in again after a fault.",
        tuple(({"broker": broker}, int(state == UP)) for broker, state in snapshot.brokers.items()),
    )
    connected = sorted(snapshot.connected.items())
    clients = tuple(({"group": group, "broker": broker}, count) for (group, broker), count in connected)
    yield from _metric("clients_connected", "Clients that are connected, by themselves.", clients)
    yield from _metric("fault_active", "1 while a fault goes on.", tuple(_faults(snapshot)))
    if last is not None and last.p50_ms is not None and last.p99_ms is not None:
        shares = (({"quantile": "0.5"}, last.p50_ms), ({"quantile": "0.99"}, last.p99_ms))
        yield from _metric("latency_due_to_received_ms", "Of the last whole second.", shares)
    yield from _readings(snapshot)


def _faults(snapshot: Snapshot) -> Iterable[tuple[Mapping[str, str], float]]:
    """Yield whether each fault is active. Repetitions of a fault are one series."""
    active: dict[tuple[str, str], bool] = {}
    for fault in snapshot.faults:
        active[fault.kind, fault.target] = active.get((fault.kind, fault.target), False) or fault.state == "going on"
    return (({"kind": kind, "target": target}, int(is_on)) for (kind, target), is_on in active.items())


def _readings(snapshot: Snapshot) -> Iterator[Metric]:
    current = sorted(snapshot.current_readings().items())
    for (kind, metric), (name, help_text) in READ.items():
        values = tuple(
            ({"broker": broker, **({kind: subject} if subject else {})}, reading.now.value)
            for (broker, of_kind, subject, name_of_metric), reading in current
            if (of_kind, name_of_metric) == (kind, metric)
        )
        yield from _metric(name, help_text, values)
