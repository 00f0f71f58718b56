"""Keeps the last two minutes of a run for the page: one moment per second. All values are copies."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from drivers.users.live_latency import RECEIVED
from harness.run.snapshot import FaultState, Snapshot
from records.figures.percentiles import quantiles_ns
from records.units import NS_PER_MS, NS_PER_S

KEPT_S = 120
STALE_AFTER_S = 2.0
"""If no message arrived for this long, the last latency no longer holds: the line ends."""


@dataclass(frozen=True)
class Moment:
    """Rates since the previous moment. ``load_s``: seconds of the load, negative in the warm-up.

    ``p50_ms``, ``p99_ms``: from due to received, of the last whole second; None if not known, or if nothing was
    received lately, as after the load. ``connections``: clients by broker.
    """

    load_s: float
    sent_per_s: float
    received_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    connections: Mapping[str, int]


@dataclass(frozen=True)
class LiveFault:
    """A fault, in seconds of the load. ``until_s``: None while it is active."""

    label: str
    from_s: float
    until_s: float | None


@dataclass
class History:
    """The moments of one run; the first moment of another run clears them."""

    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=KEPT_S))
    _run_id: str = ""
    _before: tuple[int, int, int] | None = None  # (now_ns, sent, received)
    _newest: tuple[int | None, int] = (None, 0)  # newest second with a latency, and when it was first seen

    def note(self, snapshot: Snapshot | None) -> None:
        """Record a moment of the run. Times before its start signal and after its end are ignored."""
        if snapshot is not None and snapshot.run_id != self._run_id:
            self.moments.clear()
            self._run_id, self._before = snapshot.run_id, None
        if snapshot is None or snapshot.over or snapshot.window is None:
            self._before = None
            return
        newest = max(snapshot.tally.live.seconds(RECEIVED), default=None)
        if newest != self._newest[0]:
            self._newest = (newest, snapshot.now_ns)
        is_stale = snapshot.now_ns - self._newest[1] >= STALE_AFTER_S * NS_PER_S
        now = (snapshot.now_ns, snapshot.tally.sent, snapshot.tally.received)
        if self._before is not None and now[0] > self._before[0]:
            self.moments.append(_moment(snapshot, self._before, now, is_stale))
        self._before = now

    def as_json(self, faults: tuple[FaultState, ...]) -> dict[str, object]:
        """Return the moments and the faults for the page."""
        return {
            "moments": [asdict(moment) for moment in self.moments],
            "bands": [asdict(band) for band in bands(faults)],
        }


def _moment(
    snapshot: Snapshot, before: tuple[int, int, int], now: tuple[int, int, int], latency_is_stale: bool
) -> Moment:
    assert snapshot.window is not None
    passed_s = (now[0] - before[0]) / NS_PER_S
    seconds = {} if latency_is_stale else snapshot.tally.live.seconds(RECEIVED)
    last = sorted(seconds)[-2:-1]  # the newest second may still grow
    p50_ns, p99_ns = quantiles_ns(seconds[last[0]] if last else {}, [0.5, 0.99])
    connections = dict.fromkeys(snapshot.brokers, 0)
    for (_, broker), clients in snapshot.connected.items():
        connections[broker] = connections.get(broker, 0) + clients
    return Moment(
        load_s=(now[0] - snapshot.window.load_began_ns) / NS_PER_S,
        sent_per_s=(now[1] - before[1]) / passed_s,
        received_per_s=(now[2] - before[2]) / passed_s,
        p50_ms=None if p50_ns is None else p50_ns / NS_PER_MS,
        p99_ms=None if p99_ns is None else p99_ns / NS_PER_MS,
        connections=connections,
    )


def bands(faults: tuple[FaultState, ...]) -> list[LiveFault]:
    """Return the faults that have begun, with their planned begin and end."""
    begun = [fault for fault in faults if fault.state != "planned"]
    return [LiveFault(f"{fault.kind} {fault.target}", fault.at_s, _until_s(fault)) for fault in begun]


def _until_s(fault: FaultState) -> float | None:
    return None if fault.for_s in (None, math.inf) or fault.state == "going on" else fault.at_s + fault.for_s
