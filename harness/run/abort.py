"""Watches the live figures of a run, and decides when a condition of ``--abort-on`` ends its load.

Pure: values and times in, conditions out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from records.figures.abort import Abort, AbortCondition
from records.units import NS_PER_S

EVERY_NS = NS_PER_S


@dataclass(frozen=True)
class ConditionState:
    """A condition at one moment, for display. ``value``: None if it is not known. ``held_s``: for how long it holds."""

    condition: AbortCondition
    value: float | None = None
    held_s: float | None = None


class AbortWatch:
    """Looks at the figures of one run every second.

    ``with_warm_up``: look in the warm-up too. A condition with a duration has to hold at each look of that time. A
    second without new records changes nothing, as the figures cover the whole load so far.
    """

    def __init__(self, conditions: Sequence[AbortCondition], *, with_warm_up: bool = False) -> None:
        self.conditions, self.with_warm_up = tuple(conditions), with_warm_up
        self.states = tuple(map(ConditionState, self.conditions))
        self._since_ns: dict[AbortCondition, int] = {}
        self._looked_ns: int | None = None
        self._known: set[AbortCondition] = set()

    def look(
        self, values: Callable[[], Mapping[str, float | None]], began_ns: int, now_ns: int, *, in_warm_up: bool
    ) -> tuple[Abort, ...]:
        """Return the conditions that end the load now.

        ``values``: called once per second, and only if it is needed. ``began_ns``: when the load began, or the warm-up
        with ``in_warm_up``.
        """
        is_too_soon = self._looked_ns is not None and now_ns - self._looked_ns < EVERY_NS
        if not self.conditions or is_too_soon or (in_warm_up and not self.with_warm_up):
            return ()
        # On the grid of whole seconds, so that looks that are late by some milliseconds do not add up.
        last_ns = now_ns if self._looked_ns is None else self._looked_ns
        self._looked_ns = last_ns + (now_ns - last_ns) // EVERY_NS * EVERY_NS
        known_values = values()
        self.states = tuple(self._state(condition, known_values, now_ns) for condition in self.conditions)
        at_s = (now_ns - began_ns) / NS_PER_S
        return tuple(
            Abort(state.condition, state.value, at_s, in_warm_up, self.with_warm_up)
            for state in self.states
            if state.value is not None and state.held_s is not None and state.held_s >= state.condition.for_s
        )

    def _state(self, condition: AbortCondition, values: Mapping[str, float | None], now_ns: int) -> ConditionState:
        value = values.get(condition.figure)
        if value is not None:
            self._known.add(condition)
        if not condition.holds(value):
            self._since_ns.pop(condition, None)
            return ConditionState(condition, value)
        since_ns = self._since_ns.setdefault(condition, now_ns)
        return ConditionState(condition, value, (now_ns - since_ns) / NS_PER_S)

    def never_evaluated(self) -> list[str]:
        """Return a sentence for each condition whose figure was unknown at every look."""
        return [
            f"--abort-on '{condition}' was never evaluated: {condition.figure} was not known at any moment of the load"
            for condition in self.conditions
            if condition not in self._known
        ]
