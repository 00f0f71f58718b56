"""What must hold for a run to pass? A check is a plain value over the figures of summary.json.

It is written into run.json, so that the analysis of a stored run needs no scenario.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """``metric`` is a dotted path into summary.json (``messages.lost``); passes when value <= at_most (>= at_least).

    A metric that is absent or null makes the check *unknown*, not passed.
    """

    name: str
    metric: str
    at_most: float | None = None
    at_least: float | None = None
