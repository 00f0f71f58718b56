"""Reports how many connections a growing load held, and what limited it.

Runs on the driver, on few rows. A client counts as connected at a given time if it has opened more connections than it
has lost by then.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

import pyarrow as pa

from analysis.latency.seconds import LatencyBySecond
from analysis.latency.timing import FROM_DUE
from analysis.load.limits import ResourceUse, check_cores_exhausted, check_send_lag, own_lag_ms, resource_use
from records.figures.clients import Connections, ConnectionStep, ConnectSpread
from records.figures.step_judgement import StepJudgement, p99_violation, reconcile
from records.loads.client_steps import ClientSteps, parse_client_steps
from records.run import RunInfo
from records.units import NS_PER_MS, NS_PER_S

ATTEMPT, CONNECTED, ENDED = "attempt", "connected", ("lost", "closed")
EVENTS = (ATTEMPT, CONNECTED, *ENDED)
COLUMNS = ("client", "broker", "event", "at_ns", "ended_ns", "cause")
NO_STEPS = Connections(held=None, not_held=None, limited_by=None, brokers=[], why="", steps=[])

Event = Mapping[str, Any]
"""A row of `records.tables.schemas.CONNECTIONS`."""


@dataclass
class ConnectingClient:
    """A client's connection events, in nanoseconds of the load.

    ``changes``: times at which it gained (1) or lost (-1) a connection. ``failed``: time and broker of each failed
    attempt.
    """

    tried_ns: int | None = None
    connected_ns: int | None = None
    changes: list[tuple[int, int]] = field(default_factory=list)
    failed: list[tuple[int, str]] = field(default_factory=list)

    def note(self, event: Event, at_ns: int) -> None:
        if event["event"] == ATTEMPT:
            self.tried_ns = at_ns if self.tried_ns is None else min(self.tried_ns, at_ns)
            if event["cause"] is not None:
                self.failed.append((at_ns, event["broker"]))
        elif event["event"] == CONNECTED:
            self.connected_ns = at_ns if self.connected_ns is None else min(self.connected_ns, at_ns)
            self.changes.append((at_ns, 1))
        else:
            self.changes.append((at_ns, -1))

    def is_connected(self, at_ns: int) -> bool:
        return sum(change for changed_ns, change in self.changes if changed_ns < at_ns) > 0

    def tried_by(self, at_ns: float) -> bool:
        return self.tried_ns is not None and self.tried_ns < at_ns


def client_steps(
    info: RunInfo, events: Iterable[Event], load_s: float | None, latency: LatencyBySecond, resources: pa.Table
) -> Connections:
    """Return results for the steps that the load completed; `NO_STEPS` if the number of clients was constant."""
    began_ns = info.phases.load_began_ns
    if not info.client_steps or began_ns is None:
        return NO_STEPS
    planned = parse_client_steps(info.client_steps)
    clients = list(clients_of(events, began_ns).values())
    whole = [
        place for place, (_, until_s) in enumerate(planned.spans_s) if load_s is not None and until_s <= load_s + 0.5
    ]
    found = {step.from_s: StepJudgement(step.held, step.why) for step in info.searched}
    steps = [_result(planned, place, clients, latency, found) for place in whole]
    return _with_limit(planned, steps, latency, resources, int(info.machine.get("cores", 0)))


def clients_of(events: Iterable[Event], load_began_ns: int) -> dict[int, ConnectingClient]:
    """Group connection events by client number."""
    clients: dict[int, ConnectingClient] = defaultdict(ConnectingClient)
    for event in events:
        clients[event["client"]].note(event, event["at_ns"] - load_began_ns)
    return clients


def _result(
    planned: ClientSteps,
    place: int,
    clients: Sequence[ConnectingClient],
    latency: LatencyBySecond,
    found: Mapping[int, StepJudgement],
) -> ConnectionStep:
    """Return the result of one step. ``found``: judgments made while the load ran, by start of the step."""
    from_s, until_s = planned.spans_s[place]
    from_ns, until_ns = from_s * NS_PER_S if place else -float("inf"), until_s * NS_PER_S
    begun = [client for client in clients if client.tried_by(until_ns)]
    beginners = [client for client in begun if not client.tried_by(from_ns)]
    connected = sum(client.is_connected(until_ns) for client in clients)
    refused = [{broker for at_ns, broker in client.failed if from_ns <= at_ns < until_ns} for client in clients]
    connect_ms = _spread(beginners)
    latency_figures = latency.figures(FROM_DUE, range(from_s, until_s))
    slow = _p99_violation(planned, latency, range(from_s, until_s))
    why = _why_not_held(planned, place, connected, connect_ms["max"] or 0.0, slow)
    judgement = reconcile(StepJudgement(not why, why or "all clients and messages were in time"), found.get(from_s))
    return ConnectionStep(
        clients=planned.steps[place].clients,
        from_s=float(from_s),
        until_s=float(until_s),
        begun=len(begun),
        connected=connected,
        refused=sum(map(bool, refused)),
        refused_by=dict(sorted(Counter(broker for brokers in refused for broker in brokers).items())),
        connect_ms=connect_ms,
        due_to_received_ms=latency_figures,
        held=judgement.held,
        why="" if judgement.held else judgement.why,
    )


def _why_not_held(planned: ClientSteps, place: int, connected: int, slowest_ms: float, slow: str) -> str:
    """Return why a step was not held; empty if it was held.

    ``slowest_ms``: the longest time to connect. ``slow``: the result of `p99_violation`.
    """
    if connected < planned.steps[place].clients:
        return f"{connected:,} of {planned.steps[place].clients:,} clients were connected at its end"
    if slowest_ms > planned.connect_ms:
        return f"a client took {slowest_ms:,.0f} ms to connect; the limit is {planned.connect_ms:g} ms"
    return slow


def _spread(clients: Iterable[ConnectingClient]) -> ConnectSpread:
    took_ms = [
        (client.connected_ns - client.tried_ns) / NS_PER_MS
        for client in clients
        if client.connected_ns is not None and client.tried_ns is not None
    ]
    return ConnectSpread(p50=median_low(took_ms) if took_ms else None, max=max(took_ms, default=None))


def _with_limit(
    planned: ClientSteps, steps: list[ConnectionStep], latency: LatencyBySecond, resources: pa.Table, cores: int
) -> Connections:
    lost = next((place for place, step in enumerate(steps) if step["held"] is False), None)
    held = [step["connected"] for step in steps[:lost] if step["held"]]
    if lost is None:
        return Connections(
            held=max(held, default=None), not_held=None, limited_by=None, brokers=[], why="", steps=steps
        )
    step = steps[lost]
    seconds = range(round(step["from_s"]), round(step["until_s"]))
    use, own_ms = resource_use(resources, seconds, cores), own_lag_ms(latency, seconds)
    limited_by, why = _named(planned, step, use, own_ms)
    if limited_by == "refused" and not _p99_violation(planned, latency, seconds):
        # A client that was refused first and connected later took long to connect. The others are not affected.
        held.append(step["connected"])
    return Connections(
        held=max(held, default=0),
        not_held=step["clients"],
        limited_by=limited_by,
        brokers=list(step["refused_by"]) if limited_by == "refused" else [],
        why=why,
        steps=steps,
    )


def _named(planned: ClientSteps, step: ConnectionStep, use: ResourceUse, own_ms: float | None) -> tuple[str, str]:
    """Return the limit, and the reason as a sentence."""
    missing = step["clients"] - step["connected"]
    if missing > 0 and step["refused_by"]:
        by = " and ".join(f"{broker} {count:,}" for broker, count in step["refused_by"].items())
        return "refused", f"clients refused or not answered: {by}"
    if limit := check_cores_exhausted(use):
        return limit
    if step["begun"] < step["clients"]:
        return "generator", f"the load generator began only {step['begun']:,} connections in time"
    if limit := check_send_lag(own_ms):
        return limit
    if missing > 0:
        return "connecting", f"clients not refused, and not connected at the end of the step: {missing:,}"
    slowest_ms = step["connect_ms"]["max"] or 0.0
    return "connecting" if slowest_ms > planned.connect_ms else "latency", step["why"]


def _p99_violation(planned: ClientSteps, latency: LatencyBySecond, seconds: range) -> str:
    """Return why p99 from due to received of messages due in these seconds was above its limit."""
    return p99_violation(latency.counts(FROM_DUE, seconds), planned.p99_ms)
