"""Reads ``--rate`` and ``--clients``: the rate of a load, its number of clients, and its resulting length.

``--rate`` is one rate, steps such as ``100,200,400@20s``, a search for the highest rate, ``search(200)``, or a rate for
each of several producer classes, ``OrderProducer=200;BatchProducer=5``.
``--clients`` is the number of clients in each step, such as ``50,100,200@10s``. Without these options, the scenario's
values apply, if it has any.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from drivers.users.locust_users import ProducerUser
from harness.options.declarations import OPTIONS, Options
from harness.scenario import SEARCH_AT_MOST_S, WARM_UP_AT_MOST_S, AddClients, Scenario, Search
from records.errors import UserError, about
from records.loads.client_steps import ClientSteps, parse_client_steps
from records.loads.rate_search import SearchSettings, is_search, parse_search
from records.loads.rate_steps import LEAST_PER_S, MOST_PER_S, MOST_S, RateStep, ends_s, parse_steps
from topologies.model.spelling import nearest

MARKS = (",", "@", "..")  # these distinguish steps from a single number
RATES = "a number, steps such as 100,200,400@20s, search, or CLASS=NUMBER"


def with_load(options: Options, scenario: Scenario, rate: str, clients: str) -> Options:
    """Return the options with the load that ``--rate`` and ``--clients`` describe. Raises UserError.

    ``rate`` and ``clients`` are the texts of the options, '' if omitted. ``options``: have all values that do not
    depend on these two.
    """
    load_s, messages = options.load_s, options.messages
    class_rates: tuple[tuple[str, float], ...] = ()
    if "=" in rate and not is_search(rate):
        class_rates, given, rate = tuple(_class_rates(rate, scenario)), rate, ""
        if scenario.load.steps or isinstance(scenario.load, Search | AddClients):
            raise UserError(
                f"--rate {given}: scenario {scenario.name} changes its load while it runs, so its classes cannot have "
                "separate rates; write a --rate without class names, or leave it out"
            )
    with about("--rate "):
        steps = _steps(rate, scenario, load_s, messages)
        search = _search(rate, scenario, messages)
    fixed = {OPTIONS[name].name: getattr(options, name) for name in ("load_s", "messages", "producers", "consumers")}
    with about("--clients "):
        client_steps = _client_steps(clients, scenario, fixed | {"--rate": (rate or None) if steps or search else None})
    one_rate = None if steps or search or class_rates else OPTIONS["rate"].parse_number(rate, float, RATES)
    if client_steps:
        load_s = float(client_steps.for_s)
    elif steps:
        load_s = float(ends_s(steps)[-1])
    elif load_s is None and search:
        load_s = scenario.load.for_s if isinstance(scenario.load, Search) else SEARCH_AT_MOST_S
    if load_s is not None and load_s > MOST_S:
        given = f"--clients {clients}" if clients else f"--rate {rate}" if rate else f"the load of {scenario.name}"
        raise UserError(f"{given}: it lasts {load_s:,.0f} s, but a load lasts at most {MOST_S:,} s; shorten its steps")
    warm_up_s = _default_warm_up_s(scenario, steps, messages) if options.warm_up_s is None else options.warm_up_s
    return replace(
        options,
        rate=one_rate,
        class_rates=class_rates,
        steps=steps,
        search=search,
        clients=client_steps,
        load_s=load_s,
        warm_up_s=warm_up_s,
    )


def _default_warm_up_s(scenario: Scenario, steps: tuple[RateStep, ...], messages: float | None) -> float | None:
    """Return the length of the warm-up in seconds if ``--warm-up`` is omitted; None means until latency has settled.

    If a load begins with a ramp, its beginning must be known in advance, because clients in a JVM receive their due
    times some seconds ahead.
    """
    if messages is not None:
        return 0.0
    if scenario.warm_up_s is None and steps and steps[0].to_per_s != steps[0].from_per_s:
        return WARM_UP_AT_MOST_S
    return scenario.warm_up_s


def _class_rates(text: str, scenario: Scenario) -> Iterator[tuple[str, float]]:
    """Yield the classes and rates of ``OrderProducer=200;BatchProducer=5``: sends per second of all its producers."""
    classes = [user.__name__ for user in scenario.users if issubclass(user, ProducerUser)]
    found: set[str] = set()
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in classes:
            near = nearest(name, classes)
            raise UserError(
                f"--rate {part}: scenario {scenario.name} has no producer class {name!r}"
                f"{f'{near} Write' if near else '; write'} one of {', '.join(classes)}"
            )
        if name in found:
            raise UserError(f"--rate {part}: {name} has two rates; write one")
        found.add(name)
        try:
            per_s = float(number)
        except ValueError:
            per_s = math.nan
        if not LEAST_PER_S <= per_s <= MOST_PER_S:
            raise UserError(
                f"--rate {part}: the rate of a class must be a number from {LEAST_PER_S:g} to {MOST_PER_S:,}, in sends "
                f"per second of all its producers; write {name}=200"
            )
        yield name, per_s


def _steps(text: str, scenario: Scenario, load_s: float | None, messages: float | None) -> tuple[RateStep, ...]:
    """Return the steps of the rate. Steps end by time and alone determine the length of the load."""
    if is_search(text) or (text and not any(mark in text for mark in MARKS)):
        return ()
    steps = parse_steps(text, load_s or scenario.load.for_s) if text else scenario.load.steps
    if not steps:
        return ()
    subject = text or f"the load of {scenario.name}"
    if min(min(step.from_per_s, step.to_per_s) for step in steps) < LEAST_PER_S:
        raise UserError(f"{subject}: a rate must be at least {LEAST_PER_S:g} messages per second; write 100@20s")
    if messages is not None:
        raise UserError(f"{subject}: steps end by time, but --messages {messages} ends by count; leave one of them out")
    steps_s = float(ends_s(steps)[-1])
    if load_s is not None and load_s != steps_s:
        raise UserError(
            f"{subject}: the steps last {steps_s:g} s, but --run-time is {load_s:g} s; leave --run-time out"
        )
    return steps


def _search(text: str, scenario: Scenario, messages: float | None) -> SearchSettings | None:
    if text and not is_search(text):
        return None
    search = parse_search(text) if text else scenario.load.settings if isinstance(scenario.load, Search) else None
    if search and messages is not None:
        raise UserError(f"{search}: a search ends on its own, but --messages {messages} ends by count; leave one out")
    return search


def _client_steps(text: str, scenario: Scenario, conflicts: Mapping[str, object]) -> ClientSteps | None:
    """Return the steps of the number of clients; None if the number is constant.

    ``conflicts``: options that cannot be combined with steps, None if omitted.
    """
    if not isinstance(scenario.load, AddClients):
        if text:
            raise UserError(
                f"{text}: scenario {scenario.name} does not add clients while its load runs; leave the option out, or "
                "run scenarios/connections.py"
            )
        return None
    clients = parse_client_steps(text) if text else scenario.load.clients
    least = len(scenario.users)
    if clients.steps[0].clients < least:
        raise UserError(
            f"{clients}: scenario {scenario.name} has {least} user classes, and each needs a user from the start; "
            f"begin with {least} clients or more"
        )
    if conflicting := next((name for name, value in conflicts.items() if value is not None), ""):
        raise UserError(
            f"{clients}: the steps determine the number of clients and the length of the load, and each producer keeps "
            f"its rate; leave {conflicting} out"
        )
    return clients
