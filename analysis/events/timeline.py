"""Places a moment on the run's timeline: its second, its phase, and whether it lies inside a fault.

Seconds count from the start of the load. Thus the warm-up is negative, and runs can be compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import polars as pl

from analysis.events.fault_spans import FAULT_GRACE_NS, FOREVER_NS
from records.run import Phases
from records.units import NS_PER_S

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
    def of(cls, phases: Phases, first_event_ns: int, faults: Iterable[FaultWindow] = ()) -> "Timeline":
        """A run that was killed before its load is all load, from its first phase or else its first event on."""
        began = next((at for at in (phases.load_began_ns, phases.warm_up_began_ns) if at is not None), first_event_ns)
        return cls(began, phases.load_ended_ns, tuple(faults))

    @property
    def load_s(self) -> float | None:
        """Length of the load, if both its ends are known and it is not empty."""
        if self.load_ended_ns is None or self.load_ended_ns <= self.load_began_ns:
            return None
        return (self.load_ended_ns - self.load_began_ns) / NS_PER_S

    def second(self, at_ns: pl.Expr) -> pl.Expr:
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
