"""Reads what judges a run: its checks, its premises, and the conditions of ``--abort-on`` that end its load early.

A condition of ``--abort-on`` is ``messages.failed > 0``, or ``latency_ms.due_to_received.p99 > 500 for 10s``.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.checks import parse_checks, parse_number, read_checks, require_due_times
from harness.faults.away import absences
from harness.faults.contract import Fault
from harness.options.declarations import Options
from harness.options.user_classes import RunUsers
from harness.scenario import AddClients, Scenario, Search, Steps
from records.errors import UserError, about
from records.figures.abort import COUNTS, LIVE_FIGURES, SIGNS, AbortCondition
from records.figures.checks import Check, label_of
from records.figures.declaration import FAULTS, MIRROR, MORE_CLIENTS, REGIONS, REPLIES, SCHEDULE, STEPS, Need
from records.figures.summary import FIGURES

HOW = "write FIGURE > NUMBER, or FIGURE > NUMBER for 10s, such as 'latency_ms.due_to_received.p99 > 500 for 10s'"
PARTS = re.compile(r"(?P<figure>[^\s<>=!~]+)\s*(?P<sign>[<>=!~]+)\s*(?P<number>[^\s<>=!~]+)(?:\s+(?P<rest>.*))?", re.S)
FOR = re.compile(r"for\s+(?P<number>\d{1,9})\s*s")
MOST_FOR_S = 86_400
WITHHELD = "messages.withheld"
"""The only figure from due times that a closed load leaves out. A check on another one is rejected there."""

OF_TOPOLOGY = (MIRROR, REGIONS)


# -- checks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunChecks:
    """The checks and premises of a run. ``left_out``: a sentence for each check of the scenario that cannot apply."""

    checks: tuple[Check, ...]
    premises: tuple[Check, ...]
    left_out: tuple[str, ...]


def checks_of(scenario: Scenario, options: Options, users: RunUsers, faults: Sequence[Fault]) -> RunChecks:
    """Return the checks of the scenario and of ``--check``, and the premises of the run. Raises UserError.

    A check of the scenario is left out if an option has taken away what its figure needs. It is rejected if the
    scenario itself lacks it. A check that needs another topology stays, and is unknown. Premises concern the
    scenario's faults, so a run with ``--fault`` has none.
    """
    met = _needs_met(options, users, faults)
    checks, left_out = list[Check](), list[str]()
    for check in read_checks(scenario.checks):
        need = _need_of(check)
        if need is None or need in met or need in OF_TOPOLOGY:
            checks.append(check)
        elif need in _needs_of_scenario(scenario, users):
            left_out.append(f"check {check.name!r} was left out: {need.refusal}")
        else:
            raise UserError(f"scenario {scenario.name}: check {check.name!r}: {need.refusal}")
    with about("--check "):
        checks += parse_checks(options.check or "", present=met)
    premises = () if options.fault else read_checks(scenario.premises)
    return RunChecks(tuple(checks), premises, tuple(left_out))


def _need_of(check: Check) -> Need | None:
    """Return what a run must have, so that its check has a figure."""
    metric, _ = label_of(check.metric)
    return SCHEDULE if metric == WITHHELD else FIGURES[metric].figure.needs


def _needs_of_scenario(scenario: Scenario, users: RunUsers) -> set[Need]:
    """Return the needs that a scenario meets, unless options take them away."""
    by_itself = {
        FAULTS: bool(scenario.faults or absences(users.consuming, scenario.load.for_s)),
        STEPS: isinstance(scenario.load, Steps | Search),
        MORE_CLIENTS: isinstance(scenario.load, AddClients),
    }
    return {SCHEDULE, *(need for need, is_met in by_itself.items() if is_met)}


def _needs_met(options: Options, users: RunUsers, faults: Sequence[Fault]) -> set[Need]:
    """Return the needs that the run meets. Some figures need faults, steps, due times, replies, a mirror or regions."""
    topology = options.built_topology
    there = {
        FAULTS: faults,
        MORE_CLIENTS: options.clients,
        STEPS: options.steps or options.search,
        SCHEDULE: not users.are_closed,
        REPLIES: any(user.awaits_replies for user in users.producing),
        MIRROR: any(link.is_mirror for link in topology.links),
        REGIONS: len({broker.region for broker in topology.brokers}) > 1,
    }
    return {need for need, is_there in there.items() if is_there}


# -- conditions that end the load --------------------------------------------------------------------------------------


def abort_conditions_of(options: Options, users: RunUsers, checks: Iterable[Check]) -> tuple[AbortCondition, ...]:
    """Return the conditions of ``--abort-on``. A closed load has no due times, which they and ``checks`` may use."""
    if options.abort_in_warm_up and not options.abort_on:
        raise UserError("--abort-in-warm-up: has no effect without --abort-on; add --abort-on, or leave it out")
    with about("--abort-on "):
        conditions = parse_abort_conditions(options.abort_on or "")
    if users.are_closed:
        require_due_times(checks)
        for condition in conditions:
            if FIGURES[condition.figure].figure.from_due:
                raise UserError(f"--abort-on {str(condition)!r}: {SCHEDULE.refusal}")
    return conditions


def parse_abort_conditions(text: str) -> tuple[AbortCondition, ...]:
    """Return the conditions of a text, which are separated by ``;``. Raises UserError."""
    conditions: list[AbortCondition] = []
    for part in filter(None, map(str.strip, text.split(";"))):
        condition = _condition(part)
        alike = (condition.figure, condition.sign, condition.limit)
        if any((known.figure, known.sign, known.limit) == alike for known in conditions):
            raise UserError(f"{part!r}: the same figure, operator and number are given twice; leave one of them out")
        conditions.append(condition)
    if text and not conditions:
        raise UserError(f"{text!r}: has no condition; {HOW}")
    return tuple(conditions)


def _condition(text: str) -> AbortCondition:
    parts = PARTS.fullmatch(text)
    if parts is None:
        raise UserError(f"{text!r}: cannot be read; {HOW}")
    figure, sign, number = parts["figure"], parts["sign"], parts["number"]
    if sign not in SIGNS:
        raise UserError(f"{text!r}: {sign!r} is not an operator; write one of {', '.join(SIGNS)}")
    if figure not in LIVE_FIGURES:
        known = ", ".join(LIVE_FIGURES)
        raise UserError(f"{text!r}: figure {figure!r} is not known during a run; write one of {known}")
    condition = AbortCondition(figure, sign, parse_number(text, number, HOW), _for_s(text, parts["rest"]))
    _require_sense(text, condition)
    return condition


def _for_s(text: str, rest: str | None) -> int:
    """Return the seconds of ``for 10s``; 0 without this part."""
    if not rest:
        return 0
    duration = FOR.fullmatch(rest)
    for_s = int(duration["number"]) if duration else None
    if for_s is None or not 1 <= for_s <= MOST_FOR_S:
        rule = f"is not a duration of 1 to {MOST_FOR_S:,} whole seconds"
        raise UserError(f"{text!r}: {rest!r} {rule}; write for 10s, or leave it out to abort at once")
    return for_s


def _require_sense(text: str, condition: AbortCondition) -> None:
    """Reject conditions on counts that hold before the load has done anything, or that can never hold."""
    if condition.figure not in COUNTS:
        return
    if condition.holds(0):
        raise UserError(
            f"{text!r}: holds as soon as the load begins, because {condition.figure} is 0 then; "
            f"write what must end the load, such as '{condition.figure} > {abs(condition.limit):.10g}'"
        )
    if condition.limit < 0 or (condition.sign == "==" and condition.limit % 1):
        raise UserError(
            f"{text!r}: can never hold, because {condition.figure} is a whole number, 0 or more; "
            f"write a whole number, as in '{condition.figure} > 0'"
        )
