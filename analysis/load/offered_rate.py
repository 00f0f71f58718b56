"""Decides whether a load held its offered rate: whether deliveries kept up with due messages outside of faults.

A rate was not held if more deliveries waited at the end of the load, or when a fault began, than at the beginning
(`analysis.load.flow`). It does not matter when the backlog grew. `analysis.messages.accounting` reports the outcomes of
messages that never arrived. Runs on the driver, on few rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import pyarrow as pa

from analysis.events.timeline import FaultSpan
from analysis.latency.seconds import LatencyBySecond
from analysis.latency.timing import FROM_DUE, WORDS
from analysis.load.flow import (
    FEWEST,
    LEAST_S,
    Deliveries,
    Flow,
    Growth,
    growth,
)
from analysis.load.limits import Overload, what_limited
from analysis.load.rates import BEFORE_S, LEAST_MORE, LEAST_MORE_S, by_second
from analysis.load.unsent import Unsent
from records.figures.load import OfferedRate
from records.loads.rate_steps import LEAST_SHARE
from records.run import PRODUCER, RunInfo
from records.units import NS_PER_S

NOT_SETTLED = "not_settled"
UNKNOWN = "unknown"
OURS = ("generator", "host")
"""Limits of the test setup, which do not depend on brokers, links or consumers."""
LIMITS = {
    "generator": "the load generator",
    "host": "the machine",
    "brokers": "the brokers",
    "link": "a link between brokers",
    "consumers": "the consumers",
}


@dataclass(frozen=True)
class Tables:
    """Input tables. ``consumers``: as in `analysis.load.limits`."""

    rates: pa.Table
    latency: LatencyBySecond
    resources: pa.Table
    consumers: pa.Table
    deliveries: Deliveries = field(default_factory=Deliveries)
    unsent: Unsent = field(default_factory=Unsent)


@dataclass(frozen=True)
class Disturbance:
    """A fault, in whole seconds of the load. ``mended_s``: None if it was never mended."""

    from_s: int
    mended_s: int | None


@dataclass(frozen=True)
class Judged:
    """The decision. ``doubts``: by measure, why its figures are unreliable because of a backlog that we caused."""

    rate: OfferedRate
    doubts: Mapping[str, str] = field(default_factory=dict)

    @property
    def cause(self) -> str:
        """Why figures are doubtful; empty if none is."""
        return next(iter(self.doubts.values()), "")


def offered_rate(
    info: RunInfo, faults: Sequence[FaultSpan], load_s: float | None, copies: float, tables: Tables
) -> Judged:
    """Decide. ``load_s``: length of the load; None if unknown. ``copies``: expected deliveries per message."""
    began_ns = info.phases.load_began_ns
    if info.limited_on_purpose:
        return Judged(_not_judged(info.limited_on_purpose))
    if info.is_closed:
        return Judged(_not_judged("the load was closed: it had no rate of its own"))
    if load_s is None or began_ns is None:
        return Judged(_not_judged("the length of the load is not known"))
    whole_load = range(_first_second(info), math.floor(load_s))
    unsent = {at_s: count * copies for at_s, count in tables.unsent.by_second.items()}
    flow = Flow.of(tables.latency, tables.deliveries, unsent, whole_load.stop)
    load = flow.seconds_due(whole_load)
    spans = undisturbed(load, [_disturbance(fault, began_ns) for fault in faults], flow)
    together = _in_transactions(info) * copies
    judged = [
        growth_of_span
        for seconds in spans
        if (growth_of_span := growth(seconds, flow.waiting, flow.due_deliveries(seconds), together=together))
    ]
    worst = max(judged, key=lambda growth_of_span: growth_of_span.grown / growth_of_span.least, default=None)
    if worst is not None and worst.counts:
        return _not_held(info, worst, flow, copies, tables)
    if not flow.any_arrived(load):
        return Judged(_not_judged("hardly any messages were received"))
    if not judged:
        return Judged(_not_judged(f"there are no {LEAST_S} seconds in a row without a fault or its backlog"))
    if not all(flow.most_arrived(growth_of_span.seconds) for growth_of_span in judged):
        return Judged(_not_judged("most messages that were due were refused, lost or expired"))
    longest = max(judged, key=lambda growth_of_span: len(growth_of_span.seconds))
    return Judged(_rate(longest.seconds, flow, held=True))


def _in_transactions(info: RunInfo) -> float:
    """Return the maximum number of messages that wait for the commits of their transactions."""
    producers = [user for user in info.users if user.role == PRODUCER]
    return sum(float(user.settings.get("transaction_size", 0)) * user.count for user in producers)


def undisturbed(load: range, faults: Sequence[Disturbance], flow: Flow) -> list[range]:
    """Return the seconds before each fault, and the seconds after a fault was mended and its backlog had drained."""
    per_s = flow.due_deliveries(load) / max(len(load), 1)
    spans, start, usual = [], load.start, 0.0
    for fault in sorted(faults, key=lambda fault: fault.from_s):
        before = range(start, max(start, min(fault.from_s, load.stop)))
        spans.append(before)
        if before:
            usual = median(flow.waiting_after(at_s) for at_s in before[-BEFORE_S:])
        most = usual + max(LEAST_MORE, LEAST_MORE_S * per_s)
        after = range(load.stop if fault.mended_s is None else fault.mended_s, load.stop)
        drained = next((at_s for at_s in after if flow.waiting_after(at_s) <= most), load.stop - 1)
        start = max(start, drained + 1)
    return [*spans, range(start, max(start, load.stop))]


def _first_second(info: RunInfo) -> int:
    """Return the first second. If the warm-up did not settle, it counts too, as it shows how the load began."""
    began_ns, load_ns = info.phases.warm_up_began_ns, info.phases.load_began_ns
    if info.warm_up.end != NOT_SETTLED or began_ns is None or load_ns is None:
        return 0
    return math.ceil((began_ns - load_ns) / NS_PER_S)


def _disturbance(fault: FaultSpan, load_began_ns: int) -> Disturbance:
    mended = None if fault.mended_ns is None else math.ceil((fault.mended_ns - load_began_ns) / NS_PER_S)
    return Disturbance(math.floor((fault.began_ns - load_began_ns) / NS_PER_S), mended)


def _not_judged(why: str) -> OfferedRate:
    return OfferedRate(
        held=None,
        from_s=None,
        until_s=None,
        owed_per_s=None,
        received_per_s=None,
        backlog=None,
        limited_by=None,
        why=why,
        note="",
    )


def _rate(seconds: range, flow: Flow, *, held: bool) -> OfferedRate:
    return OfferedRate(
        held=held,
        from_s=float(seconds.start),
        until_s=float(seconds.stop),
        owed_per_s=flow.due_deliveries(seconds) / len(seconds),
        received_per_s=flow.received(seconds) / len(seconds),
        backlog=round(flow.waiting_after(seconds.stop - 1)),
        limited_by=None,
        why="",
        note="",
    )


def _not_held(info: RunInfo, grown: Growth, flow: Flow, copies: float, tables: Tables) -> Judged:
    """Look for the limit in the seconds when the backlog grew."""
    seconds, sent = grown.grew_in, by_second(tables.rates, "sent")
    due_per_s = flow.due_deliveries(seconds) / copies / len(seconds)
    sent_per_s = sum(sent.get(at_s, 0) for at_s in seconds) / len(seconds)
    overload = Overload(seconds, due_per_s, sent_per_s, round(grown.grown))
    _, limited_by, why = what_limited(info, overload, tables.resources, tables.latency, tables.consumers)
    if limited_by == UNKNOWN and _grew(tables.latency, "sent_to_settled", grown.seconds):
        limited_by, why = "brokers", "brokers took more and more time to confirm messages"
    if limited_by not in OURS and (never_sent := _never_sent(info, tables.unsent)):
        limited_by, why = "generator", never_sent
    rate = _rate(grown.seconds, flow, held=False)
    rate["limited_by"], rate["why"] = limited_by, why
    rate["note"] = describe_rate(rate, one_each=abs(copies - 1) < 1 - LEAST_SHARE)
    if limited_by not in OURS:
        return Judged(rate)
    cause = f"the offered rate was not held, and {LIMITS[limited_by]} was the limit"
    return Judged(rate, dict.fromkeys(_grown_measures(grown.seconds, tables.latency), cause))


def _never_sent(info: RunInfo, unsent: Unsent) -> str:
    """Return why the generator itself failed to send messages; empty if it is not responsible for most of them."""
    of_ended = sum(producer.never_sent for producer in unsent.ended_early)
    if of_ended > info.withheld + info.missed:
        return f"{of_ended:,} messages that were due were never sent, as their producers ended early"
    if info.missed > info.withheld:
        return f"{info.missed:,} messages that were due were never sent, though the brokers would have taken them"
    return ""


def _grown_measures(seconds: range, latency: LatencyBySecond) -> list[str]:
    """Return the measures that include the waiting time: always from due to received, others if they grew."""
    return [measure for measure in WORDS if measure == FROM_DUE or _grew(latency, measure, seconds)]


def _grew(latency: LatencyBySecond, measure: str, seconds: range) -> bool:
    arrived = latency.arrived(measure)
    owed = sum(arrived.get(at_s, 0) for at_s in seconds)
    its_growth = growth(seconds, latency.waiting(measure), owed)
    return its_growth is not None and its_growth.counts


def describe_rate(rate: OfferedRate, *, one_each: bool) -> str:
    """Return sentences about a rate that was not held. ``one_each``: whether each message has one delivery."""
    deliveries = "messages per second were received" if one_each else "deliveries per second were made"
    received, owed = _number(rate["received_per_s"]), _number(rate["owed_per_s"])
    opening = (
        f"The offered rate was not held: {received} of {owed} {deliveries}; latency is the age "
        "of a backlog, and grows with the length of the run."
    )
    limited_by = rate["limited_by"] or ""
    if limited_by not in LIMITS:
        return f"{opening} What limited it is not known: {rate['why']}."
    sentences = f"{opening} The limit was {LIMITS[limited_by]}: {rate['why']}."
    if limited_by in OURS:
        return f"{sentences} Latencies, outages and times of recovery are not the brokers' own: lower the rate."
    return sentences


def _number(per_s: float | None) -> str:
    """Format a rate, such as 244 or 1,806; below ten with one decimal."""
    value = per_s or 0.0
    return f"{value:,.0f}" if value >= FEWEST else f"{value:.1f}"
