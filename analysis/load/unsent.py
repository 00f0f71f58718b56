"""Finds the messages that were due but never sent, from the producers' schedules in run.json.

Unsent messages have no events. Message ``n`` of a producer is slot ``n`` of its schedule
(`records.loads.send_schedule`), so the recorded messages show how many slots of a schedule were used. Users whose class
declares no rate have no schedule, for example consumers that send replies. Runs on the driver, on few rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from records.loads.arrivals import FIXED
from records.loads.rate_steps import RateStep, parse_steps
from records.loads.send_schedule import Schedule, producer_schedule, share
from records.run import PRODUCER, RunInfo, UserInfo
from records.tables.schemas import CLIENTS_PER_PROCESS
from records.units import NS_PER_S

GRACE_NS = NS_PER_S // 4
"""A producer may have been about to send messages that were due this shortly before the end of the load."""
MOST_NAMED = 10
"""Maximum number of producers with a separate sentence each."""


@dataclass(frozen=True)
class EndedEarly:
    """A producer that ended before the load. ``never_sent``: its messages that were due from second ``from_s`` on."""

    number: int
    user_class: str
    from_s: float
    never_sent: int

    def __str__(self) -> str:
        return (
            f"producer {self.number} ({self.user_class}) ended early: it sent nothing from {self.from_s:.1f} s of the "
            f"load on, and {self.never_sent:,} messages that were due were never sent; find out what ended it, and run "
            "again"
        )


@dataclass(frozen=True)
class Unsent:
    """Messages that were due but never sent, by second, and the producers that ended early."""

    by_second: Mapping[int, int] = field(default_factory=dict)
    ended_early: Sequence[EndedEarly] = ()


@dataclass(frozen=True)
class _Kept:
    """A producer's schedule and number of recorded messages."""

    number: int
    user_class: str
    schedule: Schedule
    sent: int

    def unsent(self, by_ns: int) -> int:
        return max(self.schedule.slots_due(by_ns) - self.sent, 0)


def sent_by_producer(messages: pl.DataFrame) -> pl.DataFrame:
    """Return one row per producer: sent, its number of recorded messages; first_due_ns, the due time of message 0."""
    first_due_ns = pl.col("due_ns").filter(pl.col("seq") == 0).min()
    return messages.group_by("producer").agg(pl.len().cast(pl.Int64).alias("sent"), first_due_ns.alias("first_due_ns"))


def unsent(info: RunInfo, members: pl.DataFrame, sent: pl.DataFrame) -> Unsent:
    """Return unsent messages. ``sent``: rows of `sent_by_producer`.

    A killed run has none, because the end of its schedules is unknown. Producers that failed and were allowed to fail
    have none, because their schedules ended with the failure.
    """
    phases = info.phases
    if phases.warm_up_began_ns is None or phases.load_began_ns is None or phases.load_ended_ns is None:
        return Unsent()
    if phases.load_ended_ns == phases.load_began_ns:  # interrupted in the warm-up
        return Unsent()
    kept = _kept(info, members, sent)
    last_ns = phases.load_ended_ns - 1
    by_second: Counter[int] = Counter()
    for each in kept:
        by_second.update(dict(_unsent_by_second(each, phases.load_began_ns, last_ns)))
    early = () if info.state == "interrupted" else _ended_early(info, kept, phases.load_ended_ns - GRACE_NS)
    began_ns = phases.load_began_ns
    return Unsent(by_second, tuple(_early(each, began_ns, last_ns) for each in early))


def sentences(ended_early: Sequence[EndedEarly]) -> list[str]:
    """Return sentences on why producers that ended early make a run invalid."""
    told = [str(each) for each in ended_early[:MOST_NAMED]]
    if more := ended_early[MOST_NAMED:]:
        numbers = ", ".join(str(each.number) for each in more)
        never_sent = sum(each.never_sent for each in more)
        told.append(f"{len(more)} more producers ended early ({never_sent:,} messages were never sent): {numbers}")
    return told


def _kept(info: RunInfo, members: pl.DataFrame, sent: pl.DataFrame) -> list[_Kept]:
    """Return every producer with a schedule, sorted by number."""
    classes = {user.name: user for user in info.users if user.role == PRODUCER and "sends_per_second" in user.settings}
    on_record = {number: (count, first_due_ns) for number, count, first_due_ns in sent.iter_rows()}
    failed = {*info.failed_producers}
    of_producers = members.filter(pl.col("role") == PRODUCER).select("user", "user_class").unique().sort("user")
    kept = []
    for number, user_class in of_producers.iter_rows():
        count, first_due_ns = on_record.get(number, (0, None))
        user = classes.get(user_class)
        if user is None or number in failed:
            continue
        schedule = _schedule(info, user, number, first_due_ns)
        if schedule is not None:
            kept.append(_Kept(number, user_class, schedule, count))
    return _with_counts(info, kept)


def _schedule(info: RunInfo, user: UserInfo, number: int, first_due_ns: int | None) -> Schedule | None:
    """Return the schedule that the user computed. None: it connected during the load and sent nothing."""
    rate_per_s, arrivals = float(user.settings["sends_per_second"]), str(user.settings.get("arrivals", FIXED))
    start_ns = info.phases.warm_up_began_ns
    if "joins" in user.settings:  # each schedule begins when its user is connected
        from_start = producer_schedule(arrivals, rate_per_s, info.seed, number, start_ns=0)
        start_ns = None if first_due_ns is None else first_due_ns - from_start.planned_ns(0)
    if start_ns is None or info.phases.load_began_ns is None:
        return None
    steps = _steps(info, user)
    schedule = producer_schedule(arrivals, rate_per_s, info.seed, number, start_ns=start_ns, steps=steps)
    schedule.set_load_times(info.phases.load_began_ns, info.phases.load_ended_ns)
    return schedule


def _steps(info: RunInfo, user: UserInfo) -> tuple[RateStep, ...]:
    """Return one producer's share of the load's steps, or of its class's steps."""
    if info.rate_steps:
        return tuple(step.of_one_in(_producers(info)) for step in info.rate_steps)
    text = str(user.settings.get("rate_steps", ""))
    return parse_steps(text) if text else ()


def _producers(info: RunInfo) -> int:
    return sum(user.count for user in info.users if user.role == PRODUCER)


def _with_counts(info: RunInfo, kept: Sequence[_Kept]) -> list[_Kept]:
    """Set each producer's share in a load with a fixed number of messages.

    The recording does not show which producers have one message more. The producers that sent it are assumed to have
    it, but failed producers, which are not in the list, may also have had one more.
    """
    messages = info.options.get("messages")
    if not isinstance(messages, int):
        return [*kept]
    producers = _producers(info)
    failed = producers - len(kept)
    for place, each in enumerate(sorted(kept, key=lambda each: (-each.sent, each.number))):
        least = share(messages, producers, place + failed)
        each.schedule.count = min(max(each.sent, least), share(messages, producers, 0))
    return [*kept]


def _unsent_by_second(kept: _Kept, began_ns: int, last_ns: int) -> Iterator[tuple[int, int]]:
    """Yield (second of the load, number of unsent messages due in it) for the producer's last messages."""
    schedule, slot, slots = kept.schedule, kept.sent, kept.schedule.slots_due(last_ns)
    while slot < slots:
        at_s = (schedule.planned_ns(slot) - began_ns) // NS_PER_S
        until = min(schedule.slots_due(min(began_ns + (at_s + 1) * NS_PER_S - 1, last_ns)), slots)
        until = max(until, slot + 1)
        yield at_s, until - slot
        slot = until


def _ended_early(info: RunInfo, kept: Sequence[_Kept], by_ns: int) -> list[_Kept]:
    """Return producers whose unsent messages were not counted during the load.

    A process that ended properly counted the messages that its producers could not send before the load ended, because
    brokers blocked a producer or the producer was too slow. It also counted sends that it started but could not finish.
    A process that died counted nothing.
    """
    behind = [each for each in kept if each.unsent(by_ns)]
    counted_in = {process.index for process in info.processes if process.begun is not None}
    begun_only = sum((process.begun or 0) - (process.settled or 0) for process in info.processes)
    early = [each for each in behind if each.number // CLIENTS_PER_PROCESS not in counted_in]
    others = [each for each in behind if each.number // CLIENTS_PER_PROCESS in counted_in]
    if sum(each.unsent(by_ns) for each in others) > info.withheld + info.missed + begun_only:
        early += others
    return early


def _early(kept: _Kept, began_ns: int, last_ns: int) -> EndedEarly:
    from_s = (kept.schedule.planned_ns(kept.sent) - began_ns) / NS_PER_S
    return EndedEarly(kept.number, kept.user_class, from_s, kept.unsent(last_ns))
