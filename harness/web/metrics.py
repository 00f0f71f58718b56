"""Tells the present run's figures in the text format of Prometheus, for whoever scrapes the web UI."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from harness.run.snapshot import UP, Snapshot
from harness.web.history import Moment

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
READ = {  # metric of the samples -> (name, help)
    ("broker", "connections"): ("broker_connections", "Connections as the broker counts them."),
    ("broker", "heap_used_bytes"): ("broker_heap_used_bytes", "Heap that the broker's JVM uses."),
    ("queue", "depth"): ("queue_messages", "Messages on a queue, unacknowledged ones included."),
    ("bridge", "dequeue_count"): ("bridge_forwarded_total", "Messages that a bridge has forwarded."),
}


@dataclass(frozen=True)
class Metric:
    """``values``: (labels, value)."""

    name: str
    help: str
    values: tuple[tuple[Mapping[str, str], float], ...]

    def lines(self) -> Iterator[str]:
        name = f"brokerbench_{self.name}"
        yield f"# HELP {name} {self.help}"
        yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
        for labels, value in self.values:
            label_text = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            yield f"{name}{f'{{{label_text}}}' if label_text else ''} {value}"


def metrics(snapshot: Snapshot | None, last: Moment | None) -> str:
    """Without a run there is only brokerbench_running."""
    running = snapshot is not None and not snapshot.over
    reported = [Metric("running", "1 while a run is under way.", (({}, int(running)),))]
    if snapshot is not None:
        reported += _of_run(snapshot, last if running else None)
    return "".join(f"{line}\n" for metric in reported if metric.values for line in metric.lines())


def _of_run(snapshot: Snapshot, last: Moment | None) -> Iterator[Metric]:
    run = {"run_id": snapshot.run_id, "topology": snapshot.topology, "runtime": snapshot.runtime}
    tally = snapshot.tally
    yield Metric("run_info", "The present run, or the last one.", ((run, 1),))
    yield Metric("messages_sent_total", "Messages sent, attempts not counted.", (({}, tally.sent),))
    yield Metric("messages_settled_total", "Messages whose outcome is known.", (({}, tally.settled),))
    yield Metric("messages_received_total", "Deliveries.", (({}, tally.received),))
    yield Metric(
        "broker_up",
        "1 while the broker serves: it runs, is not frozen, and logs clients in again after a fault.",
        tuple(({"broker": broker}, int(state == UP)) for broker, state in snapshot.brokers.items()),
    )
    connected = sorted(snapshot.connected.items())
    clients = tuple(({"group": group, "broker": broker}, count) for (group, broker), count in connected)
    yield Metric("clients_connected", "Clients that are connected, by themselves.", clients)
    yield Metric("fault_active", "1 while a fault goes on.", tuple(_faults(snapshot)))
    if last is not None and last.p50_ms is not None and last.p99_ms is not None:
        shares = (({"quantile": "0.5"}, last.p50_ms), ({"quantile": "0.99"}, last.p99_ms))
        yield Metric("latency_due_to_received_ms", "Of the last whole second.", shares)
    yield from _readings(snapshot)


def _faults(snapshot: Snapshot) -> Iterable[tuple[Mapping[str, str], float]]:
    """A fault that is repeated is one series."""
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
        yield Metric(name, help_text, values)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
