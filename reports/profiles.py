"""Profiles of brokers: tables of hot methods, lock waits and pauses, and the hot methods of two arms compared."""

from collections import Counter
from collections.abc import Mapping, Sequence

from records.profiles import FEWEST_SAMPLES, BrokerProfile, MethodSamples, Pause, samples_by_method
from records.units import NS_PER_MS, NS_PER_S
from reports.parts.over_time import PauseMark
from reports.parts.values import Cell, Column, Table

MOST_METHODS, MOST_LOCKS, MOST_DIFFERENCES = 12, 8, 15
LEAST_MARKED_MS = 1.0
"""Shorter pauses are in the table only."""

PAUSES_DRAWN = "Marks at the bottom: pauses of the brokers by garbage collection, of 1 ms or more."


def profile_tables(profiles: Sequence[BrokerProfile], load_began_ns: int, load_ended_ns: int) -> tuple[Table, ...]:
    """Return a table of the recordings, and one of the hot methods and one of the lock waits."""
    return (
        _recordings_table(profiles, load_began_ns, load_ended_ns),
        _methods_table(profiles),
        _locks_table(profiles),
    )


def _recordings_table(profiles: Sequence[BrokerProfile], load_began_ns: int, load_ended_ns: int) -> Table:
    rows = [_recording_row(profile, load_began_ns, load_ended_ns) for profile in profiles]
    columns = (
        Column("Broker"),
        Column("GC pauses in the load", 0),
        Column("Total (ms)", 1),
        Column("Longest (ms)", 1),
        Column("Most frequent cause"),
        Column("Execution samples", 0),
        Column("Recording"),
    )
    return Table("Pauses of the garbage collector, and recordings", columns, tuple(rows))


def _recording_row(profile: BrokerProfile, load_began_ns: int, load_ended_ns: int) -> tuple[Cell, ...]:
    if profile.missing:
        return (profile.broker, None, None, None, profile.missing, None, profile.file or "none")
    pauses = [pause for pause in profile.pauses if load_began_ns <= pause.began_ns < load_ended_ns]
    lasted_ms = [pause.duration_ns / NS_PER_MS for pause in pauses]
    causes = Counter(pause.cause for pause in pauses).most_common(1)
    cause = causes[0][0] if causes else "none"
    longest_ms = max(lasted_ms, default=None)
    return (profile.broker, len(pauses), sum(lasted_ms), longest_ms, cause, profile.samples, profile.file)


def _methods_table(profiles: Sequence[BrokerProfile]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for profile in profiles:
        for method, samples in samples_by_method([profile]).most_common(MOST_METHODS):
            share = 100 * samples / profile.samples
            rows.append((profile.broker, method, _caller(profile.methods, method), samples, share))
    columns = (
        Column("Broker"),
        Column("Method"),
        Column("Called from (nearest method of the broker)"),
        Column("Samples", 0),
        Column("Share (%)", 1),
    )
    return Table("Hot methods of the load", columns, tuple(rows), "No execution samples were recorded.")


def _caller(methods: Sequence[MethodSamples], method: str) -> str:
    """Return the most frequent caller of a method, or a dash if the method is the broker's or no caller is."""
    caller = next((entry.caller for entry in methods if entry.method == method), "")
    return caller if caller and caller != method else "–"


def _locks_table(profiles: Sequence[BrokerProfile]) -> Table:
    rows = tuple(
        (profile.broker, entry.lock, entry.caller or "–", entry.waits, entry.waited_ns / NS_PER_MS)
        for profile in profiles
        for entry in profile.locks[:MOST_LOCKS]
    )
    columns = (
        Column("Broker"),
        Column("Class of the lock"),
        Column("Waiting method (nearest method of the broker)"),
        Column("Waits", 0),
        Column("Waited (ms)", 1),
    )
    return Table("Lock waits of the load, of 10 ms or more", columns, rows, "No thread waited 10 ms for a lock.")


def pause_marks(profiles: Sequence[BrokerProfile], load_began_ns: int | None) -> tuple[PauseMark, ...]:
    """Return the pauses to draw on the time axis of the load: those of a millisecond or more."""
    if load_began_ns is None:
        return ()
    return tuple(
        PauseMark(profile.broker, (pause.began_ns - load_began_ns) / NS_PER_S, pause.duration_ns / NS_PER_S)
        for profile in profiles
        for pause in profile.pauses
        if _is_marked(pause)
    )


def _is_marked(pause: Pause) -> bool:
    return pause.duration_ns >= LEAST_MARKED_MS * NS_PER_MS


def differences_table(profiles_by_arm: Mapping[str, Sequence[Sequence[BrokerProfile]]]) -> Table | None:
    """Return the hot methods whose shares differ most from the first arm; None if no run recorded a profile.

    ``profiles_by_arm``: the profiles of each run of an arm, the reference first. Samples of all runs of an arm are
    added up. An arm with too few samples is named and not compared. So is a difference that the shares of the runs do
    not separate: the table lists a method only if its share is higher in every run of one arm than in every run of the
    other.
    """
    if not any(profiles for runs in profiles_by_arm.values() for profiles in runs):
        return None
    reference, *others = profiles_by_arm
    columns = (
        Column("Arm"),
        Column("Method"),
        Column(f"Share in {reference} (%)", 1),
        Column("Share in the arm (%)", 1),
        Column("Difference (percentage points)", 1),
    )
    rows: list[tuple[Cell, ...]] = []
    sparse = [arm for arm, runs in profiles_by_arm.items() if not runs or min(map(_samples, runs)) < FEWEST_SAMPLES]
    for arm in others:
        if not {arm, reference} & set(sparse):
            rows += [(arm, *row) for row in _differences(profiles_by_arm[reference], profiles_by_arm[arm])]
    few = f"Too few samples in {', '.join(sparse)}: each run needs {FEWEST_SAMPLES} in the load. Use longer runs."
    caption = "Hot methods whose share of execution samples differs" + (f". {few}" if sparse and rows else "")
    empty = few if sparse else "No method's share is higher in every run of one arm than in every run of the other."
    return Table(caption, columns, tuple(rows), empty)


def _samples(profiles: Sequence[BrokerProfile]) -> int:
    return sum(profile.samples for profile in profiles)


def _differences(
    reference: Sequence[Sequence[BrokerProfile]], arm: Sequence[Sequence[BrokerProfile]]
) -> list[tuple[str, float, float, float]]:
    before, after = ([_shares(profiles) for profiles in runs] for runs in (reference, arm))
    rows = []
    for method in set().union(*before, *after):
        there, here = ([shares.get(method, 0.0) for shares in runs] for runs in (before, after))
        if min(here) > max(there) or max(here) < min(there):
            means = sum(there) / len(there), sum(here) / len(here)
            rows.append((method, *means, means[1] - means[0]))
    return sorted(rows, key=lambda row: (-abs(row[3]), row[0]))[:MOST_DIFFERENCES]


def _shares(profiles: Sequence[BrokerProfile]) -> dict[str, float]:
    """Return the percentage of a run's samples, by method."""
    total = _samples(profiles)
    return {method: 100 * samples / total for method, samples in samples_by_method(profiles).items()}
