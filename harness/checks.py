"""The checks of a run: texts such as ``messages.lost <= 0``, and functions for the most common ones.

``--check``, ``Scenario(checks=…, premises=…)`` and the gates of nightly plans accept the texts.
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from records.declared_types import fits, misfits
from records.errors import UserError
from records.figures.checks import LABELED, Check, label_of, labeled
from records.figures.declaration import NEEDS, SCHEDULE, Need
from records.figures.latency import labels_of
from records.figures.messages import KINDS
from records.figures.summary import FIGURES, RENAMED
from records.run import UserInfo
from topologies.model.spelling import nearest, plainly

__all__ = [
    "all_delivered",
    "at_least_one_rate_held",
    "at_least_one_step_held",
    "duplicates_at_most",
    "every_client_back",
    "every_selected_message_received",
    "every_send_answered",
    "expired_at_most",
    "no_acked_send_lost",
    "no_message_withheld",
    "no_send_refused",
    "no_unconfirmed_send_missing",
    "none_after_its_time_to_live",
    "none_against_a_selector",
    "none_corrupted",
    "none_expired",
    "none_stranded",
    "sends_in_flight",
    "some_client_disconnected",
]  # public: `brokerbench` has them

HOW = "write FIGURE < NUMBER, with <, <=, >, >= or ==, such as 'latency_ms.due_to_received.p99 < 50'"
DEMAND = re.compile(r"\s*([\w.]+)(?:\{([^{}]+)\})?\s*(<=|>=|==|<|>)\s*(\S+)\s*")
BOUNDS = {"<": ["below"], ">": ["above"], "<=": ["at_most"], ">=": ["at_least"], "==": ["at_most", "at_least"]}
"""The fields of `Check` that each sign sets."""
BOUND_FIELDS = tuple(dict.fromkeys(chain.from_iterable(BOUNDS.values())))


# -- by name -----------------------------------------------------------------------------------------------------------


def no_acked_send_lost() -> Check:
    """Every message that a broker confirmed was received, or was found on a queue."""
    return parse_check("messages.lost <= 0", name="no acked send lost")


def all_delivered(kind: str) -> Check:
    """Every message of a kind, such as ``"queue_persistent"``, reached each subscription that had to receive it."""
    if kind not in KINDS:
        raise ValueError(
            f"all_delivered({kind!r}): not a kind of messages"
            + (nearest(str(kind), list(KINDS)) or f"; write one of {', '.join(KINDS)}")
        )
    return parse_check(f"kinds.{kind}.undelivered <= 0", name=f"all delivered: {kind.replace('_', ' ')}")


def none_stranded() -> Check:
    """After the drain, no message of the run is left on a queue or a dead-letter queue.

    This includes messages that no selector matches.
    """
    return parse_check("leftovers <= 0", name="none stranded")


def duplicates_at_most(count: int) -> Check:
    """At most ``count`` repeated deliveries that the broker did not mark as redelivered."""
    _require_count("duplicates_at_most", count)
    return parse_check(f"messages.duplicated <= {count}", name=f"duplicates at most {count}")


def some_client_disconnected() -> Check:
    """A premise: a fault made a client lose its connection. A client that only waited for its broker does not count.

    A short ``freeze`` does not disconnect any client, as clients need time to notice the silence.
    """
    return parse_check("recovery.cut_off >= 1", name="a client that a fault disconnected")


def sends_in_flight() -> Check:
    """A premise: a client lost its connection while a send was unanswered."""
    return parse_check("recovery.in_flight >= 1", name="a send in flight")


def none_expired() -> Check:
    """No message expired before a consumer received it."""
    return expired_at_most(0)


def expired_at_most(count: int) -> Check:
    """At most ``count`` messages expired, according to the brokers' dead-letter queues and counters."""
    _require_count("expired_at_most", count)
    return parse_check(f"messages.expired <= {count}", name=f"expired at most {count}")


def none_after_its_time_to_live() -> Check:
    """No consumer received a message after its time to live. The wait in the consumer's prefetch buffer counts.

    With ``work_ms``, or if the load generator paused, a message may be late although the broker sent it in time.
    """
    return parse_check("messages.expired_yet_received <= 0", name="none after its time to live")


def every_selected_message_received() -> Check:
    """No confirmed message is left on a queue if the selector of one of the queue's consumers matches it."""
    return parse_check("messages.stranded <= 0", name="every selected message received")


def none_against_a_selector() -> Check:
    """No consumer received a message that its selector does not match."""
    return parse_check("messages.unselected_yet_received <= 0", name="none against a selector")


def every_client_back() -> Check:
    """Every client that a fault disconnected sent or received again, or was connected again with no message due."""
    return parse_check("recovery.never_back <= 0", name="every client back")


def none_corrupted() -> Check:
    """Every message body arrived unchanged."""
    return parse_check("messages.corrupted <= 0", name="none corrupted")


def no_send_refused() -> Check:
    """No broker rejected a durable send. A send that was lost with its connection does not count."""
    return parse_check("messages.failed <= 0", name="no send refused")


def every_send_answered() -> Check:
    """Every durable send was answered in the end, in some attempt."""
    return parse_check("messages.in_doubt <= 0", name="every send answered")


def no_message_withheld() -> Check:
    """Brokers accepted every message that was due: at the end, no producer was still waiting to send."""
    return parse_check("messages.withheld <= 0", name="no message withheld")


def no_unconfirmed_send_missing() -> Check:
    """Every unconfirmed send was received, or was found on a queue."""
    return parse_check("messages.missing_unconfirmed <= 0", name="no unconfirmed send missing")


def at_least_one_rate_held() -> Check:
    """At least one step of a load in steps, or one rate of a search, was held."""
    return parse_check("throughput.held_per_s > 0", name="at least one rate held")


def at_least_one_step_held() -> Check:
    """At least one step of a load with a growing number of clients was held.

    In this step all clients were connected, and messages arrived in time.
    """
    return parse_check("connections.held >= 1", name="at least one step held")


def _require_count(check: str, count: object) -> None:
    if not fits(count, int) or not count >= 0:  # type: ignore[operator]
        raise ValueError(f"{check}({count!r}): must be a whole number, 0 or more, such as {check}(0)")


# -- by text -----------------------------------------------------------------------------------------------------------


def read_checks(checks: Iterable[Check | str]) -> tuple[Check, ...]:
    """Return the checks of a scenario, with texts parsed. Raises UserError."""
    return tuple(
        chain.from_iterable(parse_checks(check) if isinstance(check, str) else (_sound(check),) for check in checks)
    )


def parse_checks(text: str, *, present: Collection[Need] = NEEDS) -> tuple[Check, ...]:
    """Parse a text such as ``messages.lost == 0; messages.duplicated <= 10``. Raises UserError.

    ``present``: the members of NEEDS that the run has. Some figures are missing without them.
    """
    return tuple(parse_check(demand.strip(), present=present) for demand in text.split(";") if demand.strip())


def parse_check(text: str, *, name: str = "", present: Collection[Need] = NEEDS) -> Check:
    """Parse one check. ``name``: '' for the text itself. Raises UserError."""
    demand = DEMAND.fullmatch(text)
    if not demand:
        raise UserError(f"{text!r}: cannot be read; {HOW}")
    figure, label, sign, number = demand.groups()
    metric = figure if label is None else labeled(figure, label.strip())
    _require_figure(repr(text), metric, present)
    return Check(name or text, metric, **dict.fromkeys(BOUNDS[sign], parse_number(text, number, HOW)))


def _require_figure(what: str, metric: str, present: Collection[Need] = NEEDS) -> None:
    """Raise UserError, beginning with ``what``, if no summary, or not the run's, has the figure."""
    figure, label = label_of(metric)
    if figure in RENAMED:
        raise UserError(
            f"{what}: the summary no longer has a figure {figure!r}, as stranded means confirmed messages only; "
            f"write {RENAMED[figure]!r}"
        )
    if figure not in FIGURES:
        close = _nearest(figure, [known for known in FIGURES if not _lacking(known, present)])
        close = close or "; docs/figures.md lists its figures"
        raise UserError(f"{what}: the summary has no figure {figure!r}{close}")
    if why := _lacking(figure, present):
        raise UserError(f"{what}: {why}")
    if figure != metric and not label.strip():
        raise UserError(f"{what}: the label in braces is empty; write a consumer class or a destination, or no braces")
    if label and not figure.startswith(LABELED):
        raise UserError(f"{what}: only figures of {LABELED[:-1]} can have a label in braces; leave {{{label}}} out")


def _sound(check: Check) -> Check:
    """Return a check that was made without `parse_check`. Raises UserError if it could never be decided."""
    if problem := misfits(check):
        raise UserError(f"Check: {problem}")
    what = f"Check({check.name!r}, {check.metric!r}, …)"
    bounds = {field: bound for field in BOUND_FIELDS if (bound := getattr(check, field)) is not None}
    if not bounds:
        raise UserError(f"{what}: has no bound, so it can neither pass nor fail; add one of {', '.join(BOUND_FIELDS)}")
    for field, bound in bounds.items():
        if not math.isfinite(bound):
            raise UserError(f"{what}: {field}={bound} must be a finite number, such as {field}=0")
    _require_figure(what, check.metric)
    return check


def require_due_times(checks: Iterable[Check]) -> None:
    """Raise UserError for a check on a figure that a closed load does not have."""
    for check in checks:
        figure, _ = label_of(check.metric)
        if FIGURES[figure].figure.from_due:
            raise UserError(f"check {check.name!r} on {check.metric}: {SCHEDULE.refusal}")


def require_labels(checks: Iterable[Check], users: Iterable[UserInfo]) -> None:
    """Raise UserError for a check with a label that is neither a consumer class nor a destination of the run."""
    classes, destinations = labels_of(users)
    for check in checks:
        _, label = label_of(check.metric)
        if label and label not in (*classes, *destinations):
            known = [*classes, *destinations]
            near = nearest(label, known)
            raise UserError(
                f"check {check.name!r}: the run has no consumer class or destination {label!r}"
                f"{f'{near} Write' if near else '; write'} one of {', '.join(known)}"
            )


def _lacking(metric: str, present: Collection[Need]) -> str:
    """Return why the run does not have this figure, with the next step; '' if it does."""
    figure = FIGURES[metric].figure
    needed = (figure.needs, SCHEDULE if figure.from_due else None)
    return next((need.refusal for need in needed if need and need not in present), "")


def _nearest(metric: str, figures: Sequence[str]) -> str:
    """Return ``; did you mean 'latency_ms.due_to_received.p99'?`` for ``latency.p99``: the first figure that matches.

    A figure matches if its parts begin with the parts of ``metric``, in the same order.
    """
    wanted = [plainly(part) for part in metric.split(".")]
    for figure in figures:
        parts = iter(plainly(part) for part in figure.split("."))
        if all(any(part.startswith(begin) for part in parts) for begin in wanted) and not next(parts, ""):
            return f"; did you mean {figure!r}?"
    return nearest(metric, [*figures])


def parse_number(text: str, number: str, how: str) -> float:
    """Parse the number in ``text``. A whole number becomes an int, so that run.json has 0 and not 0.0.

    ``how``: the next step for users, in the error.
    """
    try:
        bound = float(number)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise UserError(f"{text!r}: {number!r} is not a finite number; {how}")
    return int(number) if re.fullmatch(r"\d{1,15}", number) else bound
