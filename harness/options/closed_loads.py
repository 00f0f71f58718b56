"""Checks whether a load can be closed: each producer sends as soon as its last send is answered.

Each rule yields one sentence per violation, as in `harness.options.user_rules`.
"""

from collections.abc import Iterable, Iterator, Sequence

from drivers.users.locust_users import ProducerUser
from harness.checks import require_due_times
from harness.options.declarations import Options
from records.errors import UserError
from records.figures.abort import AbortCondition
from records.figures.checks import Check
from records.figures.declaration import SCHEDULE
from records.figures.summary import FIGURES
from records.loads.arrivals import CLOSED

Producers = Sequence[type[ProducerUser]]


def is_closed(producing: Iterable[type[ProducerUser]]) -> bool:
    """Whether producers send without a schedule. `closed_refusals` ensures that all of them do, or none."""
    return any(user.arrivals == CLOSED for user in producing)


def closed_refusals(producing: Producers, options: Options) -> Iterator[str]:
    """Yield settings that a closed load cannot have."""
    if not is_closed(producing):
        return
    yield from _other_loads(producing, options)
    for user in producing:
        subject = f"{_chosen(user, options)}: {user.__name__}"
        if user.arrivals != CLOSED:
            closed = next(other.__name__ for other in producing if other.arrivals == CLOSED)
            yield (
                f"{user.__name__}: arrivals = {user.arrivals!r}, but {closed} has {CLOSED!r}: either all producer "
                "classes are closed or none; give all of them the same kind, or use --closed"
            )
        if user.transaction_size:
            yield (
                f"{subject} sends {user.transaction_size} messages per transaction, and none of them is answered "
                "before the commit; leave transactions out"
            )
        elif not user.durable:
            yield (
                f"{subject} sends non-durable messages, which no broker answers, so it would not know when to send "
                "the next one; write durable = True"
            )
        if user.awaits_replies:
            yield (
                f"{subject} sends requests, and the round trip of a request counts from its due time, which a closed "
                "load does not have; choose fixed or poisson arrivals"
            )


def _other_loads(producing: Producers, options: Options) -> Iterator[str]:
    subject = _chosen(producing[0], options)
    if options.clients:
        yield (
            f"{subject}: the steps of --clients {options.clients} are judged by latencies from due times, which a "
            "closed load does not have; choose fixed or poisson arrivals"
        )
    elif options.search or options.steps:
        what = "search for the highest rate" if options.search else f"load in {len(options.steps)} steps"
        yield (
            f"{subject}: a {what} sets the rate, and a closed load has none: it sends as fast as it is answered; "
            "leave --closed out, or choose a scenario and options without steps"
        )
    elif options.rate is not None or options.class_rates:
        yield (
            f"{subject}: a closed load has no rate: it sends as fast as it is answered; leave --rate out, and set the "
            "number of --producers instead"
        )
    if options.in_flight is not None:
        yield (
            f"{subject}: each producer of a closed load has one send in flight; leave --in-flight {options.in_flight} "
            "out, and set the number of --producers instead"
        )


def _chosen(user: type[ProducerUser], options: Options) -> str:
    """Name the place where the closed load was chosen."""
    if options.arrivals == CLOSED:
        return "--closed" if options.closed else f"--arrivals {CLOSED}"
    return f"{user.__name__}: arrivals = {CLOSED!r}"


def refuse_due_figures(checks: Iterable[Check], conditions: Iterable[AbortCondition]) -> None:
    """Raise UserError for a check of the scenario, or a condition, on a figure that a closed load does not have."""
    require_due_times(checks)
    for condition in conditions:
        if FIGURES[condition.figure].figure.from_due:
            raise UserError(f"--abort-on {str(condition)!r}: {SCHEDULE.refusal}")
