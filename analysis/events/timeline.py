"""Places moments on a run's timeline: their second, their phase, and the fault that they belong to.

Seconds count from the start of the load. Thus the warm-up is negative, and runs can be compared. A `FaultSpan` says
during which times an effect counts as that fault's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import polars as pl

from records.faults import FaultTraits, traits_of
from records.run import Phases
from records.units import NS_PER_S

FOREVER_NS = 2**63 - 1
FAULT_GRACE_NS = 5 * NS_PER_S
"""How long after a fault is mended its effects still count as the fault's: clients reconnect, queues drain."""


@dataclass(frozen=True)
class FaultSpan:
    """One fault that was applied. ``number``: 1 for the first one of the run, as the report counts them.

    ``until_ns``: the end of its effects, with a grace; FOREVER_NS if it was never mended. ``mended_ns``: when the
    broker took logins again, else when mending began; None if it was never mended. ``ended_ns``: when mending began.
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
    """Faults in the order of their beginnings; those that had no effect are left out.

    The effects of a fault end at the latest when the next fault of the same broker begins.
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
    """Monotonic nanoseconds, both ends included. ``ended_ns`` None: it lasted until the run's end."""

    began_ns: int
    ended_ns: int | None = None


@dataclass(frozen=True)
class Timeline:
    """``load_ended_ns`` None: the run was killed under load, so no event is known to be later than the load."""

    load_began_ns: int
    load_ended_ns: int | None = None
    faults: tuple[FaultWindow, ...] = ()

    @classmethod
    def from_phases(cls, phases: Phases, first_event_ns: int, faults: Iterable[FaultWindow] = ()) -> "Timeline":
        """A run that was killed before its load is all load, from its first phase or else its first event on."""
        began = next((at for at in (phases.load_began_ns, phases.warm_up_began_ns) if at is not None), first_event_ns)
        return cls(began, phases.load_ended_ns, tuple(faults))

    @property
    def load_s(self) -> float | None:
        """Length of the load, if both its ends are known and it is not empty."""
        if self.load_ended_ns is None or self.load_ended_ns <= self.load_began_ns:
            return None
        return (self.load_ended_ns - self.load_began_ns) / NS_PER_S

    def second_of(self, at_ns: pl.Expr) -> pl.Expr:
        """Whole seconds (Int32) since the load began, rounded down: -1 is the last second of the warm-up."""
        return ((at_ns - self.load_began_ns) // NS_PER_S).cast(pl.Int32)

    def in_load(self, at_ns: pl.Expr) -> pl.Expr:
        begun = at_ns >= self.load_began_ns
        return begun if self.load_ended_ns is None else begun & (at_ns < self.load_ended_ns)

    def phase(self, at_ns: pl.Expr) -> pl.Expr:
        """``warm-up``, ``load`` or ``drain``; the load has its first moment and not its last."""
        return (
            pl.when(at_ns < self.load_began_ns)
            .then(pl.lit("warm-up", PHASE))
            .when(self.in_load(at_ns))
            .then(pl.lit("load", PHASE))
            .otherwise(pl.lit("drain", PHASE))
        )

    def in_fault(self, from_ns: pl.Expr, until_ns: pl.Expr) -> pl.Expr:
        """Whether any part of an interval lies within a fault or its grace."""
        touches = [(from_ns <= _with_grace_ns(fault)) & (until_ns >= fault.began_ns) for fault in self.faults]
        return reduce(pl.Expr.__or__, touches, pl.lit(False))


def _with_grace_ns(fault: FaultWindow) -> int:
    return FOREVER_NS if fault.ended_ns is None else fault.ended_ns + FAULT_GRACE_NS
