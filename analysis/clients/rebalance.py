"""Builds the summary's ``rebalance`` section from clients' moves and counts, after Spark has merged them.

Runs on the driver. The reported moments depend on when the clients had settled. So the moves come first, then the
number of clients at those moments.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.clients.balance import ConnectedClients, evenness, spread
from analysis.events.timeline import FOREVER_NS, FaultSpan
from records.figures.clients import BrokerAway, Distribution, Evenness, FaultMoves, GroupBalance, MoveSpread, Rebalance
from records.figures.faults import OutageSpread
from records.run import BrokerInfo, GroupInfo
from records.units import NS_PER_MS, NS_PER_S

SETTLED_AFTER_NS = 5 * NS_PER_S
"""Clients have settled once no client has moved or been disconnected for this time."""
APPLIED, MENDED = "applied", "mended"
Interval = tuple[int, int]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Moves:
    """Moves of clients between brokers, one array element per move.

    ``at_ns``: time of arrival at the new broker. ``client``: client number. ``off_ns``: time without a connection.
    ``unrest``: sorted (from, until) intervals without a connection of a client; FOREVER_NS: until the end.
    """

    at_ns: Ints
    client: Ints
    off_ns: Ints
    unrest: tuple[Interval, ...]

    @classmethod
    def of(cls, moves: pl.DataFrame, unsettled: pl.DataFrame) -> "Moves":
        """Make the moves from the merged tables moves and unsettled."""
        rows = moves.sort("user", "at_ns")
        at_ns, client, off_ns = (rows[name].to_numpy() for name in ("at_ns", "user", "off_ns"))
        return cls(at_ns, client, off_ns, tuple(sorted(unsettled.select("from_ns", "until_ns").iter_rows())))


NO_MOVES = Moves(*(np.zeros(0, "int64"),) * 3, ())


@dataclass(frozen=True)
class Effect:
    """The start or the end of a fault. Times count from the start of the load.

    ``complete_ns``: the time of its full effect. Clients move from ``at_ns`` on, and settling counts from
    ``complete_ns``: a joining broker accepts clients before its links are up. ``until_ns``: the time of the next
    effect, or the end of the load.
    """

    fault: FaultSpan
    name: str
    at_ns: int
    complete_ns: int
    until_ns: int = 0


@dataclass(frozen=True)
class Away:
    """A period when a fault kept a broker away. Times count from the start of the load."""

    broker: str
    from_ns: int
    until_ns: int = FOREVER_NS


@dataclass(frozen=True)
class DistributionMoment:
    """A moment at which the distribution is reported. ``away``: the brokers that a fault keeps away at that time."""

    name: str
    at_ns: int
    away: frozenset[str]


@dataclass(frozen=True)
class GroupClients:
    """The size of a client group, connected or not, and all brokers that its clients were connected to.

    ``away``: (from, until) of each time in which one of the clients is away by schedule, in ns of the load.
    """

    clients: int
    brokers: Sequence[str]
    away: Sequence[Interval] = ()

    def present(self, at_ns: int) -> int:
        """Return the clients that are not away by schedule."""
        return self.clients - sum(from_ns <= at_ns < until_ns for from_ns, until_ns in self.away)


@dataclass(frozen=True)
class EntryBrokers:
    """The brokers of the run, and where each group enters."""

    brokers: Sequence[BrokerInfo]
    groups: Sequence[GroupInfo]

    def pair_of(self, broker: str) -> str:
        """Return the active broker of a pair, or the broker itself."""
        return next((info.standby_of for info in self.brokers if info.name == broker and info.standby_of), broker)

    def entry_brokers(self, group: str) -> tuple[str, ...]:
        return next((group_info.enter_at for group_info in self.groups if group_info.name == group), ())


@dataclass(frozen=True)
class Rebalancing:
    """The moves of a run's clients, and the moments at which their distribution is reported."""

    moves: Moves
    of_faults: Sequence[FaultMoves]
    absences: Sequence[Away]
    moments: Sequence[DistributionMoment]

    @classmethod
    def of(
        cls, moves: Moves, faults: Sequence[FaultSpan], places: EntryBrokers, load_began_ns: int, load_ns: int
    ) -> "Rebalancing":
        """Derive the moments from the moves and faults. ``load_ns``: the length of the load."""
        effects = effects_of(faults, load_began_ns, load_ns)
        of_faults = [_fault_moves(effect, moves) for effect in effects]
        names = {broker.name for broker in places.brokers}
        absences = [absence for absence in away(effects) if absence.broker in names]
        return cls(moves, of_faults, absences, moments(effects, of_faults, absences, load_ns))


def rebalance(
    course: Rebalancing,
    groups: Mapping[str, GroupClients],
    clients_at: ConnectedClients,
    flaps: int,
    places: EntryBrokers,
) -> Rebalance:
    """Return the summary's section. ``clients_at``: clients by moment. ``flaps``: number of stays of under a second."""
    moves, clients = course.moves, sum(group.clients for group in groups.values())
    balances = [_group(name, group, course.moments, clients_at, places) for name, group in sorted(groups.items())]
    settled = [fault_moves["settled_s"] for fault_moves in course.of_faults]
    slowest = [value for value in settled if value is not None]
    return Rebalance(
        clients=clients,
        moved=len(np.unique(moves.client)),
        moves=len(moves.at_ns),
        moves_per_client=_per_client(moves, clients),
        off_ms=_off_ms(moves.off_ns),
        flaps=flaps,
        off_at_end=sum(balance["moments"][-1]["off"] for balance in balances),
        not_settled=settled.count(None),
        settled_s=max(slowest) if slowest and None not in settled else None,
        at_end=_least_even([balance["moments"][-1] for balance in balances]),
        faults=list(course.of_faults),
        groups=balances,
        away=[_broker_away(absence) for absence in course.absences],
    )


def effects_of(faults: Sequence[FaultSpan], load_began_ns: int, load_ns: int) -> list[Effect]:
    """Return the effects within the load, in order."""
    effects = [
        Effect(fault, name, at_ns - load_began_ns, complete_ns - load_began_ns)
        for fault in faults
        for name, at_ns, complete_ns in _times(fault)
        if 0 <= at_ns - load_began_ns < load_ns
    ]
    effects.sort(key=lambda effect: effect.at_ns)
    times = [*(effect.at_ns for effect in effects), load_ns]
    return [replace(effect, until_ns=min(at_ns for at_ns in times if at_ns > effect.at_ns)) for effect in effects]


def _times(fault: FaultSpan) -> Iterator[tuple[str, int, int]]:
    """Yield (effect, start, time of full effect). The fault of a joining broker ends when the broker leaves."""
    joins = fault.traits.joins
    complete_ns = fault.effective_ns if joins else None
    yield APPLIED, fault.began_ns, fault.began_ns if complete_ns is None else complete_ns
    leaves_ns = fault.ended_ns if fault.restored_ns is not None else None
    if (mended_ns := leaves_ns if joins else fault.mended_ns) is not None:
        yield MENDED, mended_ns, mended_ns


def _fault_moves(effect: Effect, moves: Moves) -> FaultMoves:
    within = (moves.at_ns >= effect.at_ns) & (moves.at_ns < effect.until_ns)
    at_ns = moves.at_ns[within]
    settled = settled_ns(moves.unrest, effect.complete_ns, effect.until_ns)
    return FaultMoves(
        fault=f"F{effect.fault.number}",
        effect=effect.name,
        at_s=effect.at_ns / NS_PER_S,
        moves=len(at_ns),
        moved=len(np.unique(moves.client[within])),
        off_ms=_off_ms(moves.off_ns[within]),
        first_move_s=(int(at_ns.min()) - effect.at_ns) / NS_PER_S if len(at_ns) else None,
        state="did not settle" if settled is None else "settled",
        settled_s=None if settled is None else (settled - effect.complete_ns) / NS_PER_S,
        later_moves=0 if settled is None else int((at_ns > settled).sum()),
    )


def _off_ms(off_ns: Ints) -> OutageSpread:
    return spread((off_ns / NS_PER_MS).tolist())


def settled_ns(unrest: Sequence[Interval], at_ns: int, until_ns: int) -> int | None:
    """Return the first time from ``at_ns`` on that is followed by SETTLED_AFTER_NS without unrest, or None."""
    quiet_ns = at_ns
    for left_ns, arrived_ns in unrest:
        if left_ns >= until_ns or left_ns - quiet_ns >= SETTLED_AFTER_NS:
            break
        quiet_ns = max(quiet_ns, arrived_ns)
    return quiet_ns if until_ns - quiet_ns >= SETTLED_AFTER_NS else None


def moments(
    effects: Sequence[Effect], fault_moves: Sequence[FaultMoves], absences: Sequence[Away], load_ns: int
) -> list[DistributionMoment]:
    """Return the moments at which the distribution is reported."""

    def moment(name: str, at_ns: int) -> DistributionMoment:
        at_ns = min(max(at_ns, 0), max(load_ns - 1, 0))
        return DistributionMoment(
            name,
            at_ns,
            frozenset(absence.broker for absence in absences if absence.from_ns <= at_ns < absence.until_ns),
        )

    shown_moments = [moment("begin", 0)]
    for effect, moves in zip(effects, fault_moves, strict=True):
        name, settled_s = f"F{effect.fault.number}", moves["settled_s"]
        if effect.name == APPLIED:
            shown_moments.append(moment(f"before {name}", effect.at_ns - 1))
        end_ns = effect.until_ns - 1 if settled_s is None else effect.complete_ns + round(settled_s * NS_PER_S)
        shown_moments.append(moment(f"after {name}" + (" mended" if effect.name == MENDED else ""), end_ns))
    return [*shown_moments, moment("end", load_ns)]


def away(effects: Sequence[Effect]) -> Iterator[Away]:
    """Yield the periods when faults keep brokers away. A joining broker is away before and after its stay."""
    leaving = [effect for effect in effects if effect.fault.traits.keeps_clients_off]
    for target in dict.fromkeys(effect.fault.target for effect in leaving):
        its = [effect for effect in leaving if effect.fault.target == target]
        since_ns = 0 if its[0].fault.traits.joins else None
        for effect in its:
            is_away = (effect.name == APPLIED) != effect.fault.traits.joins
            if is_away and since_ns is None:
                since_ns = effect.at_ns
            elif not is_away and since_ns is not None:
                yield Away(target, since_ns, effect.at_ns)
                since_ns = None
        if since_ns is not None:
            yield Away(target, since_ns)


def _broker_away(absence: Away) -> BrokerAway:
    until_s = None if absence.until_ns == FOREVER_NS else absence.until_ns / NS_PER_S
    return BrokerAway(broker=absence.broker, from_s=absence.from_ns / NS_PER_S, until_s=until_s)


def _group(
    name: str,
    group: GroupClients,
    shown_moments: Sequence[DistributionMoment],
    clients_at: ConnectedClients,
    places: EntryBrokers,
) -> GroupBalance:
    brokers = list(dict.fromkeys((*places.entry_brokers(name), *group.brokers)))
    distributions = [
        _distribution(
            moment, clients_at.clients_by_broker(name, moment.at_ns), brokers, group.present(moment.at_ns), places
        )
        for moment in shown_moments
    ]
    return GroupBalance(group=name, clients=group.clients, moments=distributions)


def _distribution(
    moment: DistributionMoment, connected: Mapping[str, int], brokers: Sequence[str], total: int, places: EntryBrokers
) -> Distribution:
    """Return the distribution. The fair share is equal for all brokers that are present or have clients. A pair counts
    as one broker. ``total``: the clients that are not away by schedule.
    """
    counts: dict[str, int] = {}
    for broker in brokers:
        if broker not in moment.away or connected.get(broker):
            pair = places.pair_of(broker)
            counts[pair] = counts.get(pair, 0) + connected.get(broker, 0)
    there = sum(connected.values())
    return Distribution(
        **evenness(list(counts.values())),
        moment=moment.name,
        at_s=moment.at_ns / NS_PER_S,
        connected={broker: connected.get(broker, 0) for broker in brokers},
        off=total - there,
        fair_share=there / len(counts) if counts else 0.0,
    )


def _per_client(moves: Moves, clients: int) -> MoveSpread:
    """Return the spread. p50 is the lower of the two middle values."""
    if not clients:
        return MoveSpread(p50=None, max=None)
    counts = np.sort(np.unique(moves.client, return_counts=True)[1])
    ordered = [0] * (clients - len(counts)) + counts.tolist()
    return MoveSpread(p50=ordered[(clients - 1) // 2], max=ordered[-1])


def _least_even(distributions: Sequence[Evenness]) -> Evenness:
    with_clients = [distribution for distribution in distributions if distribution["jain"] is not None]
    if not with_clients:
        return evenness([])
    least = min(with_clients, key=lambda distribution: distribution["jain"] or 0.0)
    return Evenness(max_to_mean=least["max_to_mean"], cv=least["cv"], jain=least["jain"])
