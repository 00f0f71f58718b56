"""Reads ``--clients``: numbers of clients in steps, such as ``50,100,200@10s``."""

from collections.abc import Mapping

from records.client_steps import BadClientStepsError, ClientSteps, parse_client_steps
from scenarios.harness.scenario import AddClients, Scenario


def clients_of(text: str, scenario: Scenario, given: Mapping[str, object]) -> ClientSteps | None:
    """The steps of the load; None if its clients do not become more. Raises BadClientStepsError.

    ``text``: what ``--clients`` says; without it the scenario may have its own. ``given``: other options by name, None
    for those that were left out; none of them goes with steps.
    """
    if not isinstance(scenario.load, AddClients):
        if text:
            raise BadClientStepsError(
                f"{text}: {scenario.name} adds no clients while its load runs; leave it out, or run "
                "scenarios/connections.py"
            )
        return None
    clients = parse_client_steps(text) if text else scenario.load.clients
    least = len(scenario.users)
    if clients.steps[0].clients < least:
        raise BadClientStepsError(
            f"{clients}: {scenario.name} has {least} classes of users, and each needs one from the beginning; begin "
            f"with {least} clients or more"
        )
    if other := next((name for name, value in given.items() if value is not None), ""):
        raise BadClientStepsError(
            f"{clients}: the steps say how many clients there are and how long the load lasts, and each producer keeps "
            f"its rate; leave {other} out"
        )
    return clients
