"""Makes spans of a run's fault rows: during which times an effect counts as that fault's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from records.faults import COMMON_TRAITS, TRAITS, FaultTraits
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
        return TRAITS.get(self.kind, COMMON_TRAITS)


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
    later = [other.began_ns for other in spans if other.target == span.target and other.number > span.number]
    return replace(span, until_ns=min([span.until_ns, *(began_ns - 1 for began_ns in later)]))
