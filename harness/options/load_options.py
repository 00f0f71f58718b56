"""Reads ``--rate`` and ``--clients``: how fast a load is, how many clients it has, and so how long it lasts.

``--rate`` is one rate, steps such as ``100,200,400@20s``, or a search for the highest rate, ``search(200)``.
``--clients`` is numbers of clients in steps, such as ``50,100,200@10s``. Without them the scenario may have its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.run.warm_up import AT_MOST_S
from harness.scenario import SEARCH_AT_MOST_S, AddClients, Scenario, Search
from records.client_steps import ClientSteps, parse_client_steps
from records.errors import UserError, about
from records.rate_search import SearchSettings, is_search, parse_search
from records.rate_steps import LEAST_PER_S, RateStep, ends_s, parse_steps

MARKS = (",", "@", "..")  # what no number has


@dataclass(frozen=True)
class ChosenLoad:
    """How the rate or the clients change, and ``for_s``, how long: None: as long as the scenario has it.

    ``steps``: of all producers together; none if the rate is constant.
    """

    steps: tuple[RateStep, ...]
    search: SearchSettings | None
    clients: ClientSteps | None
    for_s: float | None


def read_load(scenario: Scenario, rate: str, clients: str, fixed: Mapping[str, float | None]) -> ChosenLoad:
    """The load that ``--rate`` and ``--clients`` ask for; '' where they are left out.

    ``fixed``: --run-time, --messages, --producers and --consumers by name, None where left out. Raises UserError.
    """
    load_s, messages = fixed["--run-time"], fixed["--messages"]
    with about("--rate "):
        steps = _steps(rate, scenario, load_s, messages)
        search = _search(rate, scenario, messages)
    with about("--clients "):
        client_steps = _client_steps(
            clients, scenario, {**fixed, "--rate": (rate or None) if steps or search else None}
        )
    if client_steps:
        for_s: float | None = float(client_steps.for_s)
    elif steps:
        for_s = float(ends_s(steps)[-1])
    elif load_s is None and search:
        for_s = scenario.load.for_s if isinstance(scenario.load, Search) else SEARCH_AT_MOST_S
    else:
        for_s = load_s
    return ChosenLoad(steps, search, client_steps, for_s)


def stated_warm_up_s(scenario: Scenario, steps: tuple[RateStep, ...], messages: float | None) -> float | None:
    """How long the warm-up lasts where ``--warm-up`` does not say; None: until latency has settled.

    When a load begins with a ramp, its beginning has to be known before: clients in a JVM are given their due times
    seconds ahead.
    """
    if messages is not None:
        return 0.0
    if scenario.warm_up_s is None and steps and steps[0].to_per_s != steps[0].from_per_s:
        return AT_MOST_S
    return scenario.warm_up_s


def _steps(text: str, scenario: Scenario, load_s: float | None, messages: float | None) -> tuple[RateStep, ...]:
    """Steps end by time, and alone say how long the load lasts."""
    if is_search(text) or (text and not any(mark in text for mark in MARKS)):
        return ()
    steps = parse_steps(text, load_s or scenario.load.for_s) if text else scenario.load.steps
    if not steps:
        return ()
    subject = text or f"the load of {scenario.name}"
    if min(min(step.from_per_s, step.to_per_s) for step in steps) < LEAST_PER_S:
        raise UserError(f"{subject}: a rate is at least {LEAST_PER_S:g} messages a second; write 100@20s")
    if messages is not None:
        raise UserError(f"{subject}: steps end by time, and --messages {messages} by count; leave one of them out")
    steps_s = float(ends_s(steps)[-1])
    if load_s is not None and load_s != steps_s:
        raise UserError(f"{subject}: the steps last {steps_s:g} s, and --run-time {load_s:g} s; leave --run-time out")
    return steps


def _search(text: str, scenario: Scenario, messages: float | None) -> SearchSettings | None:
    if text and not is_search(text):
        return None
    search = parse_search(text) if text else scenario.load.settings if isinstance(scenario.load, Search) else None
    if search and messages is not None:
        raise UserError(f"{search}: a search ends by itself, and --messages {messages} by count; leave one out")
    return search


def _client_steps(text: str, scenario: Scenario, conflicts: Mapping[str, object]) -> ClientSteps | None:
    """None if the clients do not become more. ``conflicts``: options that do not go with steps, None where left out."""
    if not isinstance(scenario.load, AddClients):
        if text:
            raise UserError(
                f"{text}: {scenario.name} adds no clients while its load runs; leave it out, or run "
                "scenarios/connections.py"
            )
        return None
    clients = parse_client_steps(text) if text else scenario.load.clients
    least = len(scenario.users)
    if clients.steps[0].clients < least:
        raise UserError(
            f"{clients}: {scenario.name} has {least} classes of users, and each needs one from the beginning; begin "
            f"with {least} clients or more"
        )
    if conflicting := next((name for name, value in conflicts.items() if value is not None), ""):
        raise UserError(
            f"{clients}: the steps say how many clients there are and how long the load lasts, and each producer keeps "
            f"its rate; leave {conflicting} out"
        )
    return clients
