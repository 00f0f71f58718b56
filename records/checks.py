"""A check: what must hold for a run to pass, as a plain value over the figures of summary.json.

It is written into run.json, so that the analysis of a stored run needs no scenario.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """``metric`` is a dotted path into summary.json, such as ``messages.lost``.

    Passes when value <= at_most, >= at_least, < below and > above, as far as these are given.

    A metric that is absent or null makes the check *unknown*, not passed.
    """

    name: str
    metric: str
    at_most: float | None = None
    at_least: float | None = None
    below: float | None = None
    above: float | None = None

    @property
    def rule(self) -> str:
        """``<= 0``, ``> 100`` or several; '' without a bound."""
        bounds = ((">=", self.at_least), (">", self.above), ("<=", self.at_most), ("<", self.below))
        return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)
