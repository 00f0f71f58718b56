"""Parses the rates of producer classes in ``--rate``: ``OrderProducer=200;BatchProducer=5``.

Each rate is the total of all producers of the class, in sends per second.
"""

import math
from collections.abc import Iterator

from drivers.users.locust_users import ProducerUser
from harness.scenario import Scenario
from records.errors import UserError
from records.loads.rate_steps import LEAST_PER_S, MOST_PER_S
from topologies.model.spelling import nearest


def parse_class_rates(text: str, scenario: Scenario) -> tuple[tuple[str, float], ...]:
    """Return the classes and rates of ``OrderProducer=200;BatchProducer=5``. Raises UserError."""
    return tuple(_parsed(text, scenario))


def _parsed(text: str, scenario: Scenario) -> Iterator[tuple[str, float]]:
    classes = [user.__name__ for user in scenario.users if issubclass(user, ProducerUser)]
    found: set[str] = set()
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in classes:
            near = nearest(name, classes) or ";"
            raise UserError(
                f"--rate {part}: scenario {scenario.name} has no producer class {name!r}{near} Write one of "
                f"{', '.join(classes)}"
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
