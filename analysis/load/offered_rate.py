"""Judges whether a load held its offered rate: whether its deliveries kept up with what was due, faults aside.

A rate was not held if messages waited longer and longer without a fault, or if many were never sent. A message waits
from when it was due until it is received. Those that never were do not count, except the last ones of a load whose
drain did not end: `analysis.messages.accounting` says what became of them. Plain values and Arrow in and out; no Spark.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.timeline import FaultSpan
from analysis.latency.timing import FROM_DUE, WORDS
from analysis.load.limits import Overload, what_limited
from analysis.load.rates import BEFORE_S, LEAST_MORE, LEAST_MORE_S, by_second
from records.buckets import value_ns
from records.load import OfferedRate
from records.rate_steps import LEAST_SHARE
from records.run import RunInfo
from records.step_judgement import MOST_BACKLOG_S
from records.units import NS_PER_S

LEAST_S = 8
"""So many seconds in a row at least say whether a backlog grows: two in each quarter."""
FEWEST = 10
"""A backlog that grows by fewer messages says nothing."""
STEADILY, DRAINING = 0.25, 0.9
"""A backlog grows steadily if so much of it was there in the third quarter. It drains if the last one has less."""
ARRIVED = 0.1
"""So much of what was due in a second was received sooner or later, or hardly any of it was."""
NOT_SETTLED = "not_settled"
UNKNOWN = "unknown"
OURS = ("generator", "host")
"""What limits a load through no fault of brokers, links or consumers."""
LIMITS = {
    "generator": "the load generator",
    "host": "the machine",
    "brokers": "the brokers",
    "link": "a link between brokers",
    "consumers": "the consumers",
}


@dataclass(frozen=True)
class Tables:
    """The tables that tell. ``latency``: `analysis.events.run.Results.latency_by_second`.

    ``consumers``: as in `analysis.load.limits`.
    """

    rates: pa.Table
    latency: pa.Table
    resources: pa.Table
    consumers: pa.Table


@dataclass(frozen=True)
class Disturbance:
    """A fault, in whole seconds of the load. ``mended_s``: None if it never was."""

    from_s: int
    mended_s: int | None


@dataclass(frozen=True)
class Growth:
    """A backlog that grew steadily within ``seconds``, by so many messages; ``least``: fewer would not count."""

    seconds: range
    grown: float
    least: float


@dataclass(frozen=True)
class Flow:
    """By second of the load: messages due, deliveries of these that came sooner or later, and those that still waited.

    ``copies``: how many deliveries a message should have.
    """

    due: Mapping[int, int]
    arrived: Mapping[int, int]
    waiting: Mapping[int, float]
    copies: float = 1.0

    @classmethod
    def from_tables(cls, rates: pa.Table, latency: pa.Table, copies: float) -> "Flow":
        timed = _rows_of_measure(latency, FROM_DUE)
        return cls(by_second(rates, "due"), arrived_of(timed), waiting_by_second(timed), copies)

    def owed(self, seconds: range) -> float:
        """Deliveries that were due."""
        return sum(self.due.get(at_s, 0) for at_s in seconds) * self.copies

    def received(self, seconds: range) -> float:
        """Deliveries that came within these seconds, whenever they were due."""
        of_these = sum(self.arrived.get(at_s, 0) for at_s in seconds)
        return of_these + self.waiting_after(seconds.start - 1) - self.waiting_after(seconds.stop - 1)

    def waiting_after(self, at_s: int) -> float:
        return self.waiting.get(at_s, 0.0)

    def seconds_due(self, load: range) -> range:
        """Up to the last second in which anything was due: from then on what waits drains."""
        return range(load.start, max((at for at in load if self.due.get(at)), default=load.start - 1) + 1)

    def until_the_end(self, load: range) -> "Flow | None":
        """With the messages that were due last and of which hardly any came: they wait longer than anybody looked.

        None: hardly any came at all, so what waits is not known.
        """
        answered = [at for at in load if self.arrived.get(at, 0) > ARRIVED * self.owed(range(at, at + 1))]
        if not answered:
            return None
        arrived, waiting, unanswered = dict(self.arrived), dict(self.waiting), 0.0
        for at_s in range(max(answered) + 1, load.stop):
            owed = self.owed(range(at_s, at_s + 1))
            unanswered += max(owed - arrived.get(at_s, 0), 0.0)
            arrived[at_s], waiting[at_s] = round(owed), self.waiting_after(at_s) + unanswered
        return replace(self, arrived=arrived, waiting=waiting)


@dataclass(frozen=True)
class Shortfall:
    """What was owed and received within seconds in which the rate was not held, in deliveries.

    ``backlog``: how many waited at their end; ``grown``: how many more than at their beginning.
    """

    seconds: range
    owed: float
    received: float
    backlog: float
    grown: float


@dataclass(frozen=True)
class Judged:
    """``doubts``: why figures of a measure are not to be relied on, as a backlog of ours made them; by measure."""

    rate: OfferedRate
    doubts: Mapping[str, str] = field(default_factory=dict)

    @property
    def cause(self) -> str:
        """Why figures are doubtful; '' if none is."""
        return next(iter(self.doubts.values()), "")


def offered_rate(
    info: RunInfo, faults: Sequence[FaultSpan], load_s: float | None, copies: float, tables: Tables
) -> Judged:
    """``load_s``: how long the load lasted; None if unknown. ``copies``: deliveries that a message should have."""
    began_ns = info.phases.load_began_ns
    if info.limited_on_purpose:
        return Judged(_not_judged(info.limited_on_purpose))
    if load_s is None or began_ns is None:
        return Judged(_not_judged("how long the load lasted is not known"))
    recorded = Flow.from_tables(tables.rates, tables.latency, copies)
    load = recorded.seconds_due(range(_first_second(info), math.floor(load_s)))
    flow = recorded.until_the_end(load)
    if flow is None:
        return Judged(_not_judged("hardly any message was received"))
    spans = undisturbed(load, [_disturbance(fault, began_ns) for fault in faults], flow)
    grown = [growth_of_span for seconds in spans if (growth_of_span := growth(seconds, flow.waiting, flow.arrived))]
    shortfall = _of_growth(grown, flow, info)
    if shortfall is None and spans[-1]:  # no fault, nor its backlog, lasted until the end
        shortfall = _of_unsent(info.withheld + info.missed, range(math.floor(load_s)), flow)
    if shortfall is not None:
        return _not_held(info, shortfall, copies, tables)
    longest = max((growth_of_span.seconds for growth_of_span in grown), key=len, default=None)
    if longest is None:
        return Judged(_not_judged(f"there are no {LEAST_S} seconds in a row without a fault or its backlog"))
    backlog = flow.waiting_after(longest.stop - 1)
    return Judged(_rate(Shortfall(longest, flow.owed(longest), flow.received(longest), backlog, 0.0), held=True))


def _of_growth(grown: Sequence[Growth], flow: Flow, info: RunInfo) -> Shortfall | None:
    """Of the backlog that grew most, if one grew enough. Messages that were never sent were owed, and wait too."""
    worst = max(grown, key=lambda growth_of_span: growth_of_span.grown / growth_of_span.least, default=None)
    if worst is None or worst.grown < worst.least:
        return None
    seconds = worst.seconds
    unsent = _unsent_within(seconds, flow, info)
    backlog = flow.waiting_after(seconds.stop - 1) + unsent
    return Shortfall(seconds, flow.owed(seconds) + unsent, flow.received(seconds), backlog, worst.grown)


def _unsent_within(seconds: range, flow: Flow, info: RunInfo) -> float:
    """Deliveries of messages that were due within these seconds and never sent: as many as the offered rate lacks."""
    producers = [user for user in info.users if user.role == "producer"]
    offered_per_s = sum(float(user.settings.get("sends_per_second", 0)) * user.count for user in producers)
    lacking = offered_per_s * len(seconds) * flow.copies - flow.owed(seconds)
    return min(max(lacking, 0.0), (info.withheld + info.missed) * flow.copies)


def _of_unsent(unsent: int, load: range, flow: Flow) -> Shortfall | None:
    """``unsent``: messages that were due and never sent. Their times are not recorded: they were due last."""
    owed, unsent_copies = flow.owed(load), unsent * flow.copies
    if not load or unsent_copies < least_growth(owed + unsent_copies, len(load)):
        return None
    backlog = flow.waiting_after(load.stop - 1) + unsent_copies
    return Shortfall(load, owed + unsent_copies, flow.received(load), backlog, unsent_copies)


def arrived_of(timed: pa.Table) -> dict[int, int]:
    """How many messages that were due in each second were received, sooner or later. ``timed``: rows of a measure."""
    summed = timed.group_by("second").aggregate([("count", "sum")])
    return dict(zip(summed["second"].to_pylist(), summed["count_sum"].to_pylist(), strict=True))


def waiting_by_second(timed: pa.Table) -> dict[int, float]:
    """How many messages waited at the end of each second, of those that were received sooner or later.

    ``timed``: rows of a measure. The messages of a second are taken as due evenly within it.
    """
    changes: dict[int, float] = defaultdict(float)
    summed = timed.group_by(["second", "bucket"]).aggregate([("count", "sum")])
    for row in summed.sort_by([("second", "ascending"), ("bucket", "ascending")]).to_pylist():  # sums are of floats
        at_s, count = row["second"], row["count_sum"]
        whole, part = divmod(max(value_ns(row["bucket"]), 0) / NS_PER_S, 1)
        changes[at_s] += count if whole else count * part
        if whole:  # all of them wait for so many ends of seconds, and a part for one more
            changes[at_s + int(whole)] -= count * (1 - part)
        changes[at_s + int(whole) + 1] -= count * part
    waiting, waits = {}, 0.0
    for at_s in range(min(changes, default=0), max(changes, default=0)):
        waits += changes.get(at_s, 0.0)
        waiting[at_s] = max(waits, 0.0)
    return waiting


def undisturbed(load: range, faults: Sequence[Disturbance], flow: Flow) -> list[range]:
    """The seconds before each fault, and those after one was mended and its backlog had drained."""
    per_s = flow.owed(load) / max(len(load), 1)
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


def growth(seconds: range, waiting: Mapping[int, float], arrived: Mapping[int, int]) -> Growth | None:
    """By how much more waited in the last quarter of these seconds than in the first; None of too few seconds.

    What rises in one quarter alone, as when a machine stood still, or drains in the last one, does not grow steadily.
    """
    if len(seconds) < LEAST_S:
        return None
    depth = [waiting.get(at_s, 0.0) for at_s in seconds]
    ends = [round(quarter * len(depth) / 4) for quarter in range(5)]
    first_quarter, _, third_quarter, last_quarter = (median(depth[ends[at] : ends[at + 1]]) for at in range(4))
    steadily = (
        third_quarter - first_quarter >= STEADILY * (last_quarter - first_quarter)
        and last_quarter >= DRAINING * third_quarter
    )
    owed = sum(arrived.get(at_s, 0) for at_s in seconds)
    return Growth(seconds, last_quarter - first_quarter if steadily else 0.0, least_growth(owed, len(seconds)))


def least_growth(owed: float, for_s: int) -> float:
    """The rate was held if a backlog grew by fewer deliveries. ``owed``: how many were due in so many seconds."""
    return max(MOST_BACKLOG_S * owed / max(for_s, 1), (1 - LEAST_SHARE) * owed, FEWEST)


def _first_second(info: RunInfo) -> int:
    """A warm-up that did not settle says how the load began, so its seconds count too."""
    began_ns, load_ns = info.phases.warm_up_began_ns, info.phases.load_began_ns
    if info.warm_up.end != NOT_SETTLED or began_ns is None or load_ns is None:
        return 0
    return math.ceil((began_ns - load_ns) / NS_PER_S)


def _disturbance(fault: FaultSpan, load_began_ns: int) -> Disturbance:
    mended = None if fault.mended_ns is None else math.ceil((fault.mended_ns - load_began_ns) / NS_PER_S)
    return Disturbance(math.floor((fault.began_ns - load_began_ns) / NS_PER_S), mended)


def _rows_of_measure(latency: pa.Table, measure: str) -> pa.Table:
    return latency.filter(pc.equal(latency["measure"], measure))


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


def _rate(shortfall: Shortfall, *, held: bool) -> OfferedRate:
    return OfferedRate(
        held=held,
        from_s=float(shortfall.seconds.start),
        until_s=float(shortfall.seconds.stop),
        owed_per_s=shortfall.owed / len(shortfall.seconds),
        received_per_s=shortfall.received / len(shortfall.seconds),
        backlog=round(shortfall.backlog),
        limited_by=None,
        why="",
        note="",
    )


def _not_held(info: RunInfo, shortfall: Shortfall, copies: float, tables: Tables) -> Judged:
    seconds, sent = shortfall.seconds, by_second(tables.rates, "sent")
    due_per_s = shortfall.owed / copies / len(seconds)
    sent_per_s = sum(sent.get(at_s, 0) for at_s in seconds) / len(seconds)
    overload = Overload(seconds, due_per_s, sent_per_s, round(shortfall.grown))
    _, limited_by, why = what_limited(info, overload, tables.resources, tables.latency, tables.consumers)
    if limited_by == UNKNOWN and _grew(_rows_of_measure(tables.latency, "sent_to_settled"), seconds):
        limited_by, why = "brokers", "brokers confirmed what they were sent later and later"
    if limited_by not in OURS and info.missed > info.withheld:
        why = f"{info.missed:,} messages that were due were never sent, though the brokers would have taken them"
        limited_by = "generator"
    rate = _rate(shortfall, held=False)
    rate["limited_by"], rate["why"] = limited_by, why
    rate["note"] = note(rate, one_each=abs(copies - 1) < 1 - LEAST_SHARE)
    if limited_by not in OURS:
        return Judged(rate)
    cause = f"the offered rate was not held, and {LIMITS[limited_by]} was the limit"
    return Judged(rate, dict.fromkeys(_grown_measures(seconds, tables.latency), cause))


def _grown_measures(seconds: range, latency: pa.Table) -> list[str]:
    """The measures that have the time for which messages waited: from due to received always, others if they grew."""
    return [measure for measure in WORDS if measure == FROM_DUE or _grew(_rows_of_measure(latency, measure), seconds)]


def _grew(timed: pa.Table, seconds: range) -> bool:
    its_growth = growth(seconds, waiting_by_second(timed), arrived_of(timed))
    return its_growth is not None and its_growth.grown >= its_growth.least


def note(rate: OfferedRate, *, one_each: bool) -> str:
    """Sentences on a rate that was not held. ``one_each``: whether each message has one delivery."""
    deliveries = "messages a second were received" if one_each else "deliveries a second were made"
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
    """244 or 1,806; below ten with a decimal."""
    value = per_s or 0.0
    return f"{value:,.0f}" if value >= FEWEST else f"{value:.1f}"
