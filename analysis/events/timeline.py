"""Maps times to a run's timeline: second, phase, and whether a fault was in effect.

Seconds count from the start of the load, so the warm-up has negative seconds, and runs can be compared. A `FaultSpan`
is the time in which effects are attributed to that fault.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import polars as pl

from records.figures.faults import FaultTraits, traits_of
from records.run import Phases
from records.units import NS_PER_S

FOREVER_NS = 2**63 - 1
FAULT_GRACE_NS = 5 * NS_PER_S
"""Effects within this time after mending are still attributed to the fault: clients reconnect, queues drain."""


@dataclass(frozen=True)
class FaultSpan:
    """A fault that was applied. ``number``: counted from 1 in the order of the run, as in the report.

    ``until_ns``: the end of its effects, including a grace period; FOREVER_NS if it was never mended. ``mended_ns``:
    when the broker accepted logins again, or else when mending began; None if it was never mended. ``ended_ns``: when
    mending began.
    """

    number: int
    kind: str
    target: str
    began_ns: int
    until_ns: int
    effective_ns: int | None = None
    restored_ns: int | None = None
    mended_ns: int | None = None
    ended_ns: int | None = None

    @property
    def traits(self) -> FaultTraits:
        return traits_of(self.kind)


def fault_spans(rows: Sequence[Mapping[str, Any]]) -> tuple[FaultSpan, ...]:
    """Return the faults that had an effect, ordered by their start.

    The effects of a fault end no later than the start of the next fault on the same broker.
    """
    ordered = sorted(rows, key=lambda row: int(row["began_ns"]))
    spans = [_span(number, row) for number, row in enumerate(ordered, start=1) if _had_effect(row)]
    return tuple(_cut_by_the_next(span, spans) for span in spans)


def _had_effect(row: Mapping[str, Any]) -> bool:
    return row["error"] is None or row["effective_ns"] is not None


def _span(number: int, row: Mapping[str, Any]) -> FaultSpan:
    mended_ns = row["restored_ns"] if row["restored_ns"] is not None else row["ended_ns"]
    until_ns = FOREVER_NS if mended_ns is None else mended_ns + FAULT_GRACE_NS
    moments = (row["effective_ns"], row["restored_ns"], mended_ns, row["ended_ns"])
    return FaultSpan(number, str(row["kind"]), str(row["target"]), int(row["began_ns"]), until_ns, *moments)


def _cut_by_the_next(span: FaultSpan, spans: Sequence[FaultSpan]) -> FaultSpan:
    later = [
        later_span.began_ns
        for later_span in spans
        if later_span.target == span.target and later_span.number > span.number
    ]
    return replace(span, until_ns=min([span.until_ns, *(began_ns - 1 for began_ns in later)]))


PHASE = pl.Enum(["warm-up", "load", "drain"])


@dataclass(frozen=True)
class FaultWindow:
    """The time of a fault in monotonic nanoseconds, both ends included. ``ended_ns`` None: until the run's end."""

    began_ns: int
    ended_ns: int | None = None


@dataclass(frozen=True)
class Timeline:
    """The phases and faults of a run. ``load_ended_ns`` None: the run was killed under load and has no drain."""

    load_began_ns: int
    load_ended_ns: int | None = None
    faults: tuple[FaultWindow, ...] = ()

    @classmethod
    def from_phases(cls, phases: Phases, first_event_ns: int, faults: Iterable[FaultWindow] = ()) -> "Timeline":
        """Build a timeline. A run that was killed before its load counts as load from its first phase or event on."""
        began = next((at for at in (phases.load_began_ns, phases.warm_up_began_ns) if at is not None), first_event_ns)
        return cls(began, phases.load_ended_ns, tuple(faults))

    @property
    def load_s(self) -> float | None:
        """Length of the load; None if its start or end is unknown, or if it is empty."""
        if self.load_ended_ns is None or self.load_ended_ns <= self.load_began_ns:
            return None
        return (self.load_ended_ns - self.load_began_ns) / NS_PER_S

    def second_of(self, at_ns: pl.Expr) -> pl.Expr:
        """Return whole seconds (Int32) since the load began, rounded down: -1 is the last second of the warm-up."""
        return ((at_ns - self.load_began_ns) // NS_PER_S).cast(pl.Int32)

    def in_load(self, at_ns: pl.Expr) -> pl.Expr:
        begun = at_ns >= self.load_began_ns
        return begun if self.load_ended_ns is None else begun & (at_ns < self.load_ended_ns)

    def phase(self, at_ns: pl.Expr) -> pl.Expr:
        """Return ``warm-up``, ``load`` or ``drain``. The load includes its start and excludes its end."""
        return (
            pl.when(at_ns < self.load_began_ns)
            .then(pl.lit("warm-up", PHASE))
            .when(self.in_load(at_ns))
            .then(pl.lit("load", PHASE))
            .otherwise(pl.lit("drain", PHASE))
        )

    def in_fault(self, from_ns: pl.Expr, until_ns: pl.Expr) -> pl.Expr:
        """Return whether an interval overlaps a fault or its grace period."""
        touches = [(from_ns <= _with_grace_ns(fault)) & (until_ns >= fault.began_ns) for fault in self.faults]
        return reduce(pl.Expr.__or__, touches, pl.lit(False))


def _with_grace_ns(fault: FaultWindow) -> int:
    return FOREVER_NS if fault.ended_ns is None else fault.ended_ns + FAULT_GRACE_NS


def is_last_begun(fault: FaultSpan, faults: Sequence[FaultSpan]) -> pl.Expr:
    """Return whether a fault is the last that had begun when a message was received (column received_ns)."""
    later = min(
        (later_fault.began_ns for later_fault in faults if later_fault.number > fault.number), default=FOREVER_NS
    )
    return pl.col("received_ns").is_between(fault.began_ns, later - 1)


def last_begun(faults: Sequence[FaultSpan]) -> pl.Expr:
    """Return the number (Int32) of the last fault that had begun when a message was received, or null."""
    numbers = [pl.when(is_last_begun(fault, faults)).then(fault.number) for fault in faults]
    return pl.coalesce(pl.lit(None, pl.Int32), *numbers).cast(pl.Int32)
