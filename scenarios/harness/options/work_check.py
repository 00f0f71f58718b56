"""Refuses a run with consumers that cannot do the work that the rate gives them, or that cannot work as asked."""

from collections.abc import Iterable, Sequence

from drivers.client.work import Work
from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.rate_steps import parse_steps
from records.units import MS_PER_S
from scenarios.harness.options.run_options import OptionError
from scenarios.options import Options

CORE = "core"
QUEUE = "queue://"
NO_PREFETCH = "its library counts bytes, not messages; set consumerWindowSize of the broker's URI instead"
NO_WORK = "its library shares a few threads among the listeners of all consumers, so they would wait for each other"


def require_work_done(
    consuming: Sequence[type[ConsumerUser]], producing: Sequence[type[ProducerUser]], options: Options
) -> None:
    """Raises OptionError. A rate that changes has to be served where it is lowest, to ask its question at all.

    It is not judged where consumers select, or messages expire: not all that is sent has to be worked on there.
    """
    works = {user: _work(user) for user in consuming}
    if Spoken.parse(options.protocol).of("consumer") == CORE:
        _require_possible(consuming, works, options)
    for user in consuming:
        if works[user] and user.takes_turns():
            raise OptionError(
                f"{user.__name__}: work_ms = {user.work_ms} (--work-ms): its {user.fixed_count} users share "
                f"{user.destinations} destinations (--destinations), and would work for each of theirs at the same "
                f"time; use --consumers {user.destinations} or more, or leave the time out"
            )
    for destination in dict.fromkeys(user.destination for user in consuming):
        its = {user: works[user] for user in consuming if user.destination == destination}
        senders = [user for user in producing if user.destination == destination]
        with_work = {user: work for user, work in its.items() if work}
        if not with_work or any(any(user.selectors()) for user in its) or any(user.time_to_live_s for user in senders):
            continue
        if len(with_work) == len(its) or not destination.startswith(QUEUE):
            _require_served(destination, sum(map(_least_per_s, senders)), with_work)


def _work(user: type[ConsumerUser]) -> Work | None:
    try:
        return Work.parse(str(user.work_ms))
    except ValueError as error:
        raise OptionError(f"{user.__name__}: work_ms = {error} (--work-ms)") from error


def _require_possible(
    consuming: Iterable[type[ConsumerUser]], works: dict[type[ConsumerUser], Work | None], options: Options
) -> None:
    if options.prefetch is not None:
        raise OptionError(f"--prefetch {options.prefetch}: {CORE} clients take none: {NO_PREFETCH}")
    for user in consuming:
        if works[user]:
            raise OptionError(
                f"{user.__name__}: work_ms = {user.work_ms!r} (--work-ms): {CORE} clients cannot do this: {NO_WORK}; "
                "choose another --protocol"
            )


def _least_per_s(user: type[ProducerUser]) -> float:
    """Messages a second of all users of the class, at the lowest rate of the load."""
    steps = parse_steps(user.rate_steps) if user.rate_steps else ()
    rates = [rate for step in steps for rate in (step.from_per_s, step.to_per_s)]
    return user.fixed_count * (min(rates) if rates else user.sends_per_second)


def _require_served(destination: str, rate_per_s: float, works: dict[type[ConsumerUser], Work]) -> None:
    """Consumers of a queue share its messages; each subscriber of a topic gets all of them."""
    most = {user: MS_PER_S / work.mean_ms for user, work in works.items()}
    if destination.startswith(QUEUE):
        can_per_s = sum(user.fixed_count * per_s for user, per_s in most.items())
    else:
        can_per_s = min(most.values())
    if rate_per_s >= can_per_s:
        told = " and ".join(f"{user.fixed_count} {user.__name__} of {user.work_ms} ms" for user in works)
        share = "together" if destination.startswith(QUEUE) else "each, and each subscriber gets all messages"
        raise OptionError(
            f"{destination}: {rate_per_s:,g} messages a second are sent to it, and its consumers ({told}) can take "
            f"at most {can_per_s:,.6g} a second {share}; lower --rate or --work-ms, or use more --consumers"
        )
