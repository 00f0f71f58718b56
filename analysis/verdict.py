"""What may be said of a run, and why? Pure: plain values in, a verdict with its reasons out.

Precedence: interrupted, invalid, fail, unknown, pass. A run that measured wrongly says nothing about the brokers, so
invalid goes before fail; a demand that was not met stays so whatever else is unknown. Reasons of all kinds are kept,
those of the verdict first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from records.summary import CheckResult, Lag, Messages

ENDED = "ended"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class FailedFault:
    """A fault that could not be applied."""

    kind: str
    target: str
    error: str


@dataclass(frozen=True)
class Evidence:
    """All that the verdict is made of. ``impossible``: durations below the clocks' error bound, by measure."""

    state: str
    problems: Sequence[str]  # of recording and of the harness
    unknowns: Sequence[str]
    messages: Messages
    lag: Lag
    checks: Sequence[CheckResult]
    impossible: Mapping[str, int] = field(default_factory=dict)
    clock_error_ms: float = 0.0
    failed_faults: Sequence[FailedFault] = ()


@dataclass(frozen=True)
class Verdict:
    verdict: str
    reasons: tuple[str, ...]


def judge(evidence: Evidence) -> Verdict:
    """The first kind of reason that there is names the verdict; without any it is a pass."""
    by_kind = {
        "interrupted": interrupted(evidence),
        "invalid": invalid(evidence),
        "fail": failed(evidence),
        "unknown": unknown(evidence),
    }
    verdict = next((kind for kind, reasons in by_kind.items() if reasons), "pass")
    return Verdict(verdict, tuple(reason for reasons in by_kind.values() for reason in reasons))


def interrupted(evidence: Evidence) -> list[str]:
    if evidence.state != INTERRUPTED:
        return []
    return ["the run was interrupted: its figures are those of what was recorded until then"]


def invalid(evidence: Evidence) -> list[str]:
    """Why the figures are not to be relied on."""
    return [
        *evidence.problems,
        *_unfinished(evidence.state),
        *_without_sends(evidence.messages),
        *_impossible(evidence),
        *_late(evidence.lag),
        *(f"fault {one.kind} of {one.target} could not be applied: {one.error}" for one in evidence.failed_faults),
    ]


def failed(evidence: Evidence) -> list[str]:
    return [
        f"check {check['name']!r} failed: {check['metric']} is {check['value']:g}, it must be {check['rule']}"
        for check in evidence.checks
        if check["outcome"] == "fail"
    ]


def unknown(evidence: Evidence) -> list[str]:
    return [
        *evidence.unknowns,
        *_unmeasured(evidence),
        *(
            f"check {check['name']!r} could not be evaluated: the run has no figure {check['metric']}"
            for check in evidence.checks
            if check["outcome"] == "unknown"
        ),
    ]


def _unmeasured(evidence: Evidence) -> list[str]:
    if evidence.lag["p99"] is None and evidence.messages["sent"]:
        return ["no message was due in the load phase, so there is no latency: was the warm-up longer than the load?"]
    return []


def _unfinished(state: str) -> list[str]:
    if state in (ENDED, INTERRUPTED):
        return []
    return [f"the run did not end properly: its state is {state!r}, so messages may be missing"]


def _without_sends(messages: Messages) -> list[str]:
    if messages["sent"] and messages["received"]:
        return []
    if messages["sent"]:
        return ["no message was received: nothing was measured"]
    arrived = messages["received"]
    if arrived:
        return [f"no send is on record, though {arrived} messages were received: the senders' events are missing"]
    return ["no message was sent"]


def _impossible(evidence: Evidence) -> list[str]:
    return [
        f"{count} durations {measure} are negative beyond the clocks' error bound of {evidence.clock_error_ms:g} ms: "
        "the clocks disagree"
        for measure, count in evidence.impossible.items()
    ]


def _late(lag: Lag) -> list[str]:
    p99_ms, limit_ms = lag["p99"], lag["limit_p99"]
    if p99_ms is None or p99_ms <= limit_ms:
        return []
    return [
        f"the load generator was late: p99 of its lag is {p99_ms:.3g} ms, over the limit of {limit_ms:.3g} ms "
        f"({lag['blocked_slots']} slots were blocked by the in-flight cap or by a commit); "
        "lower the rate or use more processes"
    ]
