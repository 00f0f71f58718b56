"""Computes the seconds of warm-up and load, by the run's own marks where they were reached."""

from records.run import RunInfo
from records.summary import Summary
from records.units import NS_PER_S


def load_s(run: RunInfo, summary: Summary) -> float:
    return _between(run.phases.load_began_ns, run.phases.load_ended_ns, summary["phases"].get("load"))


def warm_up_s(run: RunInfo, summary: Summary) -> float:
    return _between(run.phases.warm_up_began_ns, run.phases.load_began_ns, summary["phases"].get("warm_up"))


def _between(began_ns: int | None, ended_ns: int | None, told_s: float | None) -> float:
    """The marks count first: a duration told by the harness may include starting and stopping its users."""
    if began_ns is not None and ended_ns is not None:
        return (ended_ns - began_ns) / NS_PER_S
    return told_s or 0.0
