"""Reads ``--rate``: one rate, steps such as ``100,200,400@20s``, or a search for the highest rate, ``search(200)``."""

from records.rate_search import BadSearchError, SearchSettings, is_search, parse_search
from records.rate_steps import LEAST_PER_S, BadStepsError, RateStep, ends_s, parse_steps
from scenarios.harness.run.warm_up import AT_MOST_S
from scenarios.harness.scenario import Scenario, Search

MARKS = (",", "@", "..")  # what no number has


def steps_of(text: str, scenario: Scenario, load_s: float | None, messages: int | None) -> tuple[RateStep, ...]:
    """The steps of the load, of all producers together; none if its rate is constant. Raises BadStepsError.

    ``text``: what ``--rate`` says; without it the scenario may have its own. ``load_s``: what ``--run-time`` says.
    """
    if is_search(text) or (text and not any(mark in text for mark in MARKS)):
        return ()
    steps = parse_steps(text, load_s or scenario.load.for_s) if text else scenario.load.steps
    if steps:
        what = text or f"the load of {scenario.name}"
        if min(min(step.from_per_s, step.to_per_s) for step in steps) < LEAST_PER_S:
            raise BadStepsError(f"{what}: a rate is at least {LEAST_PER_S:g} messages a second; write 100@20s")
        _require_time(what, float(ends_s(steps)[-1]), load_s, messages)
    return steps


def search_of(text: str, scenario: Scenario, messages: int | None) -> SearchSettings | None:
    """The search for the highest rate; None if the load is none. Raises BadSearchError. ``text``: see `steps_of`."""
    if text and not is_search(text):
        return None
    search = parse_search(text) if text else scenario.load.settings if isinstance(scenario.load, Search) else None
    if search and messages is not None:
        raise BadSearchError(f"{search}: a search ends by itself, and --messages {messages} by count; leave one out")
    return search


def stated_warm_up_s(scenario: Scenario, steps: tuple[RateStep, ...], messages: int | None) -> float | None:
    """How long the warm-up lasts where ``--warm-up`` does not say; None: until latency has settled.

    When a load begins with a ramp, its beginning has to be known before: clients in a JVM are given their due times
    seconds ahead.
    """
    if messages is not None:
        return 0.0
    if scenario.warm_up_s is None and steps and steps[0].to_per_s != steps[0].from_per_s:
        return AT_MOST_S
    return scenario.warm_up_s


def _require_time(what: str, steps_s: float, load_s: float | None, messages: int | None) -> None:
    """The steps alone say how long the load lasts."""
    if messages is not None:
        raise BadStepsError(f"{what}: steps end by time, and --messages {messages} by count; leave one of them out")
    if load_s is not None and load_s != steps_s:
        raise BadStepsError(f"{what}: the steps last {steps_s:g} s, and --run-time {load_s:g} s; leave --run-time out")
