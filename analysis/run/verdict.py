"""Decides the verdict of a run, with its reasons. Pure: plain values in, plain values out.

Precedence: interrupted, invalid, fail, unknown, pass. Invalid means that the record of message outcomes is incomplete,
so it comes before fail. A failed check stays failed even if other values are unknown. Reasons of all kinds are kept;
the reasons for the verdict come first. Timing never makes a run invalid (`analysis.latency.timing`): a check on a
doubtful figure is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.run.aborts import failures, unconfirmed
from records.figures.abort import Abort
from records.figures.latency import Lag
from records.figures.messages import NOT_RECEIVED, Messages
from records.figures.percentiles import SHARES, values_needed
from records.figures.summary import AbortResult, CheckResult

ENDED = "ended"
INTERRUPTED = "interrupted"
UNDELIVERED = ("lost", "stranded", "dead_lettered", "expired")
"""Outcomes of confirmed messages that a subscription was owed and did not receive."""


@dataclass(frozen=True)
class FailedFault:
    """A fault that could not be applied."""

    kind: str
    target: str
    error: str


@dataclass(frozen=True)
class Evidence:
    """The input for the verdict.

    ``doubtful``: why a figure is unreliable, by its name in a check. ``foreign``: number and places of messages of
    other clients or runs.
    """

    state: str
    problems: Sequence[str]  # from recording and from the harness
    unknowns: Sequence[str]
    messages: Messages
    lag: Lag
    checks: Sequence[CheckResult]
    due_per_s: float | None = None  # in the load, from the producers' schedules
    closed: bool = False  # whether the producers had no schedules
    doubtful: Mapping[str, str] = field(default_factory=dict)
    failed_faults: Sequence[FailedFault] = ()
    unsearched: Sequence[str] = ()
    unsent_leftovers: int = 0
    foreign: str = ""
    aborts: Sequence[Abort] = ()
    aborted: Sequence[AbortResult] = ()


@dataclass(frozen=True)
class Verdict:
    verdict: str
    reasons: tuple[str, ...]


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict: the first kind with a reason, or pass without reasons."""
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
    return ["the run was interrupted: its figures cover only the events recorded until then"]


def invalid(evidence: Evidence) -> list[str]:
    """Return why the counts perhaps do not show the messages' outcomes, or why they do not answer the question."""
    return [
        *evidence.problems,
        *_unfinished(evidence.state),
        *_without_sends(evidence.messages),
        *_without_attempts(evidence),
        *(
            f"fault {fault.kind} of {fault.target} could not be applied: {fault.error}"
            for fault in evidence.failed_faults
        ),
    ]


def failed(evidence: Evidence) -> list[str]:
    return [
        *failures(evidence.aborts, evidence.aborted, evidence.doubtful),
        *_nothing_arrived(evidence.messages),
        *_corrupted(evidence),
        *_failed_checks(evidence.checks),
    ]


def _nothing_arrived(messages: Messages) -> list[str]:
    """Return a reason if no confirmed message was delivered, regardless of the scenario's checks."""
    if messages["received"] or not messages["acked"] or not _undelivered(messages):
        return []
    parts = [f"{messages[key]:,} {words}" for key, words in NOT_RECEIVED.items() if messages[key]]  # type: ignore[literal-required]
    confirmed, expected = f"{messages['acked']:,}", f"{messages['expected']:,}"
    return [
        f"no message was received, though brokers confirmed {confirmed}: "
        f"of {expected} expected receptions, {', '.join(parts)}"
    ]


def _corrupted(evidence: Evidence) -> list[str]:
    """Return a reason if messages arrived with different content, even if no check counts them."""
    count = evidence.messages["corrupted"]
    told = any(check["metric"] == "messages.corrupted" and check["outcome"] == "fail" for check in evidence.checks)
    if not count or told:
        return []
    return [
        f"{count:,} of the deliveries had a corrupted body: the rows 'corrupted' in the report's table of examples, "
        "and in results/anomalies, show which broker they came from"
    ]


def _undelivered(messages: Messages) -> int:
    return sum(messages[key] for key in UNDELIVERED)  # type: ignore[literal-required]


def _failed_checks(checks: Sequence[CheckResult]) -> list[str]:
    return [
        f"check {check['name']!r} failed: {check['metric']} is {check['value']:g}, it must be {check['rule']}"
        for check in checks
        if check["outcome"] == "fail"
    ]


def unknown(evidence: Evidence) -> list[str]:
    return [
        *unconfirmed(evidence.aborts, evidence.aborted),
        *_unaccounted(evidence),
        *_nothing_owed(evidence.messages),
        *_disturbed(evidence.foreign),
        *evidence.unknowns,
        *_unmeasured(evidence),
        *(_undecided(check, evidence.doubtful) for check in evidence.checks if check["outcome"] == "unknown"),
    ]


def _unaccounted(evidence: Evidence) -> list[str]:
    count = evidence.messages["unaccounted"]
    if not count:
        return []
    where = "; ".join(evidence.unsearched)
    return [f"{count:,} messages are unaccounted for, as they may be in places that could not be searched: {where}"]


def _nothing_owed(messages: Messages) -> list[str]:
    """Return a reason if no received message was owed: checks then pass without any evidence."""
    as_owed = messages["received"] - messages["unowed_yet_received"]
    if not messages["received"] or as_owed or _undelivered(messages):
        return []
    return [
        f"{messages['received']:,} messages were received, and no subscription was owed any of them: the run cannot "
        "show whether messages get lost"
    ]


def _disturbed(foreign: str) -> list[str]:
    """Return a reason if other clients sent messages: outcomes might have been different without these messages."""
    if not foreign:
        return []
    return [
        f"other clients sent messages to the run's destinations, so the load was not the scenario's own: {foreign}; "
        "stop those clients, or use destinations and brokers that no other client uses"
    ]


def _undecided(check: CheckResult, doubtful: Mapping[str, str]) -> str:
    why = f"the run has no figure {check['metric']}"
    figure = check["metric"].rpartition(".")[2]
    if figure in SHARES:
        why += f" (a {figure.replace('_', '.')} takes {values_needed(SHARES[figure]):,} messages)"
    if check["metric"] in doubtful:
        why = f"{check['metric']} is doubtful, as {doubtful[check['metric']]}"
    elif check["value"] is not None:
        known = f"{check['metric']} is {check['value']:g} as far as is known"
        why = f"{known}, but messages may be in places that could not be searched"
    return f"check {check['name']!r} could not be evaluated: {why}"


def _unmeasured(evidence: Evidence) -> list[str]:
    if evidence.lag["max"] is not None or not evidence.messages["sent"]:
        return []
    if evidence.due_per_s:
        return [
            f"{evidence.due_per_s:,.0f} messages per second were due in the load phase, and none of them was sent in "
            "time for a latency, as earlier messages were still waiting: lower --rate"
        ]
    what = "sent" if evidence.closed else "due"
    return [f"no message was {what} in the load phase, so there is no latency: was the warm-up longer than the load?"]


def _unfinished(state: str) -> list[str]:
    if state in (ENDED, INTERRUPTED):
        return []
    return [f"the run did not end properly: its state is {state!r}, so messages may be missing"]


def _without_sends(messages: Messages) -> list[str]:
    if messages["sent"] and (messages["received"] or _undelivered(messages) or messages["unaccounted"]):
        return _unexpected(messages["unexpected"])
    if messages["sent"]:
        chosen = (
            f", as no consumer's selector matches {messages['unselected']:,} of them" if messages["unselected"] else ""
        )
        return [f"no message was received{chosen}: nothing was measured"]
    arrived = messages["received"]
    if arrived:
        return [f"no send is recorded, though {arrived} messages were received: the senders' events are missing"]
    return ["no message was sent"]


def _without_attempts(evidence: Evidence) -> list[str]:
    """Return reasons for messages that only brokers recorded: rows are missing, and maybe other rows too."""
    of_what = {
        "deliveries have no recorded send, though other attempts of their messages do": (
            evidence.messages["unknown_attempts"]
        ),
        "messages left on queues have no recorded send": evidence.unsent_leftovers,
    }
    return [
        f"{count:,} of this run's {what}: rows of events/sends are missing" for what, count in of_what.items() if count
    ]


def _unexpected(count: int) -> list[str]:
    """Return a reason for deliveries whose body names this run but has no recorded send: rows are missing."""
    if not count:
        return []
    return [f"{count:,} of this run's deliveries have no recorded send: rows of events/sends are missing"]
