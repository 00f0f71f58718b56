"""Profiles of brokers and Java clients: tables of hot methods, lock waits and pauses."""

from collections import Counter
from collections.abc import Sequence

from records.figures.profiles import JvmProfile, MethodSamples, Pause, samples_by_method
from records.units import NS_PER_MS, NS_PER_S
from reports.parts.over_time import PauseMark
from reports.parts.values import Cell, Column, Table

MOST_METHODS, MOST_LOCKS = 12, 8
LEAST_MARKED_MS = 1.0
"""Shorter pauses are in the table only."""

PAUSES_DRAWN = "Marks at the bottom: pauses of the recorded JVMs by garbage collection, of 1 ms or more."


def profile_tables(profiles: Sequence[JvmProfile], load_began_ns: int, load_ended_ns: int) -> tuple[Table, ...]:
    """Return a table of the recordings, and one of the hot methods and one of the lock waits."""
    return (
        _recordings_table(profiles, load_began_ns, load_ended_ns),
        _methods_table(profiles),
        _locks_table(profiles),
    )


def _recordings_table(profiles: Sequence[JvmProfile], load_began_ns: int, load_ended_ns: int) -> Table:
    rows = [_recording_row(profile, load_began_ns, load_ended_ns) for profile in profiles]
    columns = (
        Column("JVM"),
        Column("GC pauses in the load", 0),
        Column("Total (ms)", 1),
        Column("Longest (ms)", 1),
        Column("Most frequent cause"),
        Column("Execution samples", 0),
        Column("Recording"),
    )
    return Table("Pauses of the garbage collector, and recordings", columns, tuple(rows))


def _recording_row(profile: JvmProfile, load_began_ns: int, load_ended_ns: int) -> tuple[Cell, ...]:
    files = " and ".join(profile.files) or "none"
    if profile.missing:
        return (profile.label, None, None, None, profile.missing, None, files)
    pauses = [pause for pause in profile.pauses if load_began_ns <= pause.began_ns < load_ended_ns]
    lasted_ms = [pause.duration_ns / NS_PER_MS for pause in pauses]
    causes = Counter(pause.cause for pause in pauses).most_common(1)
    cause = causes[0][0] if causes else "none"
    longest_ms = max(lasted_ms, default=None)
    return (profile.label, len(pauses), sum(lasted_ms), longest_ms, cause, profile.samples, files)


def _methods_table(profiles: Sequence[JvmProfile]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for profile in profiles:
        for method, samples in samples_by_method([profile]).most_common(MOST_METHODS):
            share = 100 * samples / profile.samples
            rows.append((profile.label, method, most_frequent_caller(profile.methods, method), samples, share))
    columns = (
        Column("JVM"),
        Column("Method"),
        Column("Called from (nearest method of ActiveMQ)"),
        Column("Samples", 0),
        Column("Share (%)", 1),
    )
    return Table("Hot methods of the load", columns, tuple(rows), "No execution samples were recorded.")


def most_frequent_caller(methods: Sequence[MethodSamples], method: str) -> str:
    """Return the most frequent caller of a method, or a dash if the method is ActiveMQ's or no caller is."""
    caller = next((entry.caller for entry in methods if entry.method == method), "")
    return caller if caller and caller != method else "–"


def _locks_table(profiles: Sequence[JvmProfile]) -> Table:
    rows = tuple(
        (profile.label, entry.lock, entry.caller or "–", entry.waits, entry.waited_ns / NS_PER_MS)
        for profile in profiles
        for entry in profile.locks[:MOST_LOCKS]
    )
    columns = (
        Column("JVM"),
        Column("Class of the lock"),
        Column("Waiting method (nearest method of ActiveMQ)"),
        Column("Waits", 0),
        Column("Waited (ms)", 1),
    )
    return Table("Lock waits of the load, of 10 ms or more", columns, rows, "No thread waited 10 ms for a lock.")


def pause_marks(profiles: Sequence[JvmProfile], load_began_ns: int | None) -> tuple[PauseMark, ...]:
    """Return the pauses to draw on the time axis of the load: those of a millisecond or more."""
    if load_began_ns is None:
        return ()
    return tuple(
        PauseMark(profile.label, (pause.began_ns - load_began_ns) / NS_PER_S, pause.duration_ns / NS_PER_S)
        for profile in profiles
        for pause in profile.pauses
        if _is_marked(pause)
    )


def _is_marked(pause: Pause) -> bool:
    return pause.duration_ns >= LEAST_MARKED_MS * NS_PER_MS
