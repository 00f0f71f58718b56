"""Formats a snapshot of a run as lines and tables of text. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.run.snapshot import STALE_AFTER_S, UP, Snapshot
from records.figures.buckets import upper_ns
from records.units import NS_PER_MS, NS_PER_S
from topologies.management.sampling import CounterReadings, Series

MIB = 1 << 20
UNKNOWN = "–"

STEPS = {  # the phase after the step of that name
    "": "brokers come up",
    "up": "links and paths are proven",
    "prove": "clients connect",
    "clients": "load",
    "load": "consumers drain",
    "drain": "queues are browsed",
    "browse": "brokers go down",
    "down": "analysis",
    "analysis": "report",
    "report": "the end",
}


@dataclass(frozen=True)
class TextTable:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str  # text instead of a table without rows


@dataclass(frozen=True)
class RunView:
    """``lines``: (name, current value); the first line is the phase. All values are text, ready for display."""

    run_id: str
    running: bool
    lines: tuple[tuple[str, str], ...]
    tables: tuple[TextTable, ...]
    trouble: tuple[str, ...]


def view(snapshot: Snapshot | None, refusal: str = "") -> RunView:
    """Return the view of a snapshot. ``refusal``: why the last start led to no run; '' if it did."""
    refused = (refusal,) if refusal else ()
    if snapshot is None:
        return RunView("", False, (("Phase", "no run yet: start one in Locust's form"),), (), refused)
    lines = (
        ("Phase", phase(snapshot)),
        ("Run", snapshot.run_id),
        ("Topology", f"{snapshot.topology} on {snapshot.runtime}"),
        ("Messages", f"{snapshot.tally.sent:,} sent, {snapshot.tally.received:,} received"),
        ("Generator's lag so far", lag(snapshot.tally.lag)),
    )
    tables = [_brokers(snapshot), _bridges(snapshot), _connections(snapshot), _faults(snapshot)]
    if snapshot.abort_conditions:
        tables.append(_abort_conditions(snapshot))
    trouble = (*map(str, snapshot.aborts), *snapshot.problems, *refused)
    return RunView(snapshot.run_id, not snapshot.over, lines, tuple(tables), trouble)


def phase(snapshot: Snapshot) -> str:
    """Return the current phase, with its duration so far or its remaining time."""
    if snapshot.over:
        return {"failed": "failed before the load", "interrupted": "interrupted"}.get(snapshot.state, "ended")
    last = snapshot.steps[-1] if snapshot.steps else ""
    doing = STEPS.get(last, f"after {last}")
    window = snapshot.window
    if doing != "load" or window is None:
        return f"{doing}, {snapshot.step_s:.0f} s"
    load_s = (snapshot.now_ns - window.load_began_ns) / NS_PER_S
    if load_s < 0:
        return f"warm-up, {'at most ' if window.is_open else ''}{-load_s:.0f} s to go"
    length = "" if snapshot.load_s is None else f" of {snapshot.load_bound}{snapshot.load_s:g} s"
    return f"load, {load_s:.0f} s{length}"


def lag(counts: Mapping[int, int]) -> str:
    """Return the p99 and maximum of the messages' lag, from counts by bucket."""
    total = sum(counts.values())
    if not total:
        return UNKNOWN
    passed, ordered = 0, sorted(counts)
    for bucket in ordered:
        passed += counts[bucket]
        if passed * 100 >= total * 99:
            break
    return f"p99 {upper_ns(bucket) / NS_PER_MS:.1f} ms, worst {upper_ns(ordered[-1]) / NS_PER_MS:.1f} ms"


def summary_rows(shown: RunView) -> list[dict[str, str]]:
    """Return the lines for the table in Locust's tab."""
    rows = [{"what": line_name, "now": now} for line_name, now in shown.lines]
    return rows + [{"what": "Trouble", "now": text} for text in shown.trouble]


# -- the tables --------------------------------------------------------------------------------------------------------


def _brokers(snapshot: Snapshot) -> TextTable:
    current = snapshot.current_readings()
    rows = tuple(_broker(snapshot, current, name, state) for name, state in snapshot.brokers.items())
    head = ("Broker", "State", "Heap", "CPU", "Connections", "Messages on queues")
    return TextTable("Brokers", head, rows, "")


def _broker(snapshot: Snapshot, readings: Mapping[Series, CounterReadings], name: str, state: str) -> tuple[str, ...]:
    used, limit = (_value(readings, (name, "broker", "", f"heap_{part}_bytes")) for part in ("used", "max"))
    heap = UNKNOWN if used is None or limit is None else f"{used / MIB:.0f} of {limit / MIB:.0f} MiB"
    connections = _value(readings, (name, "broker", "", "connections"))
    depths = [
        reading.now.value for (broker, kind, _, metric), reading in readings.items()
        if (broker, kind, metric) == (name, "queue", "depth")
    ]  # fmt: skip
    waiting = f"{sum(depths):,}" if depths else UNKNOWN
    return (name, _answering(snapshot, name, state), heap, _cpu(readings, name), _text(connections), waiting)


def _answering(snapshot: Snapshot, name: str, state: str) -> str:
    answered_ns = [
        reading.now.at_ns
        for (broker, kind, _, _), reading in snapshot.readings.items()
        if broker == name and kind != "process"  # this machine reports processes, not the broker
    ]
    if not answered_ns or state not in (UP, "frozen"):
        return state
    silent_s = (snapshot.now_ns - max(answered_ns)) / NS_PER_S
    return f"{state}, silent for {silent_s:.0f} s" if silent_s > STALE_AFTER_S else state


def _cpu(readings: Mapping[Series, CounterReadings], broker: str) -> str:
    """Return the CPU use in cores (CPU seconds per second)."""
    reading = readings.get((broker, "process", "", "cpu_ns"))
    if reading is None or reading.before is None or reading.now.at_ns <= reading.before.at_ns:
        return UNKNOWN
    cores = (reading.now.value - reading.before.value) / (reading.now.at_ns - reading.before.at_ns)
    return f"{max(cores, 0):.2f} cores"  # a restarted broker begins at 0 again


def _bridges(snapshot: Snapshot) -> TextTable:
    rows = []
    for (broker, kind, bridge, metric), reading in sorted(snapshot.current_readings().items()):
        if (kind, metric) == ("bridge", "dequeue_count"):
            link, _, remote = bridge.rpartition("|")
            rows.append((link, broker, remote, f"{reading.now.value:,}", _rate(reading)))
    head = ("Link", "From", "To", "Messages carried", "Messages per second")
    return TextTable("Bridges", head, tuple(rows), "No bridge has been seen.")


def _rate(reading: CounterReadings) -> str:
    before, now = reading.before, reading.now
    if before is None or now.at_ns <= before.at_ns:
        return UNKNOWN
    return f"{max(now.value - before.value, 0) * NS_PER_S / (now.at_ns - before.at_ns):,.0f}"


def _connections(snapshot: Snapshot) -> TextTable:
    groups = sorted({group for group, _ in snapshot.connected})
    brokers = tuple(snapshot.brokers)
    rows = tuple((group, *(str(snapshot.connected.get((group, broker), 0)) for broker in brokers)) for group in groups)
    return TextTable("Clients connected", ("Group", *brokers), rows, "No client is connected.")


def _faults(snapshot: Snapshot) -> TextTable:
    rows = tuple(
        (fault.kind, fault.target, f"{fault.at_s:g} s", _lasting(fault.for_s), fault.state) for fault in snapshot.faults
    )
    return TextTable("Faults", ("Fault", "Target", "At", "For", "State"), rows, "This scenario has no faults.")


def _abort_conditions(snapshot: Snapshot) -> TextTable:
    rows = tuple(
        (
            str(state.condition),
            "unknown" if state.value is None else f"{state.value:,.6g}",
            "no" if state.held_s is None else f"for {state.held_s:.0f} s",
        )
        for state in snapshot.abort_conditions
    )
    return TextTable("Conditions that end the load", ("Condition", "Value now", "Holds"), rows, "")


def _lasting(for_s: float | None) -> str:
    if for_s == math.inf:
        return "the rest of the run"
    return "the rest of the load" if for_s is None else f"{for_s:g} s"


def _value(readings: Mapping[Series, CounterReadings], series: Series) -> int | None:
    reading = readings.get(series)
    return None if reading is None else reading.now.value


def _text(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"
