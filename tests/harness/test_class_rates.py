"""Checks ``--rate CLASS=NUMBER``: a rate for each of several producer classes."""

from argparse import ArgumentParser
from typing import Any

import pytest

from brokerbench import ConsumerUser, Hold, ProducerUser, Scenario, Search, no_acked_send_lost
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read
from records.errors import UserError


class RatedOrders(ProducerUser):
    fixed_count = 4
    sends_per_second = 10
    group = "producers"
    destination = "queue://orders"


class Batches(ProducerUser):
    fixed_count = 2
    sends_per_second = 3
    group = "producers"
    destination = "queue://batches"


class OfOrders(ConsumerUser):
    group = "consumers"
    destination = "queue://orders"


class OfBatches(ConsumerUser):
    group = "consumers"
    destination = "queue://batches"


def planned(*words: str, load: Any = None) -> Plan:
    users = (RatedOrders, Batches, OfOrders, OfBatches)
    scenario = Scenario(users, "mesh", load or Hold(for_s=30), (no_acked_send_lost(),))
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    options = parser.parse_args(["--runtime", "memory", "--protocol", "memory", *words])
    return make(scenario, read(options, scenario, None))


def rates(plan: Plan) -> dict[str, float]:
    return {
        user.name: float(user.settings["sends_per_second"])
        for user in plan.info.users
        if "sends_per_second" in user.settings
    }


def test_each_class_divides_its_rate_among_its_producers() -> None:
    plan = planned("--rate", "RatedOrders=200", "--rate", "Batches=5")
    assert rates(plan) == {"RatedOrders": 50.0, "Batches": 2.5}
    assert plan.info.options["rate"] == "RatedOrders=200;Batches=5"


def test_several_rates_fit_into_one_value() -> None:
    assert rates(planned("--rate", "RatedOrders=200; Batches=5")) == {"RatedOrders": 50.0, "Batches": 2.5}


def test_a_class_without_a_rate_keeps_its_own() -> None:
    assert rates(planned("--rate", "Batches=8")) == {"RatedOrders": 10.0, "Batches": 4.0}


def test_producers_divides_the_rate_of_a_class_among_more_users() -> None:
    assert rates(planned("--rate", "Batches=8", "--producers", "8")) == {"RatedOrders": 10.0, "Batches": 2.0}


def test_one_number_stays_the_sum_of_all_classes() -> None:
    assert rates(planned("--rate", "60")) == {"RatedOrders": 10.0, "Batches": 10.0}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--rate", "RatedOrders=200", "--rate", "60"), {"RatedOrders": 10.0, "Batches": 10.0}),
        (("--rate", "60", "--rate", "RatedOrders=200"), {"RatedOrders": 50.0, "Batches": 3.0}),
    ],
)
def test_a_later_rate_of_another_form_replaces_earlier_ones(words: tuple[str, ...], expected: dict[str, float]) -> None:
    """A comparison's arm sets the rate after the options that all arms have."""
    assert rates(planned(*words)) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--rate", "Order=200"),
            "--rate Order=200: scenario test_class_rates has no producer class 'Order'; did you mean 'RatedOrders'? "
            "Write one of RatedOrders, Batches",
        ),
        (("--rate", "OfOrders=1"), "Write one of RatedOrders, Batches"),
        (
            ("--rate", "RatedOrders=1", "--rate", "RatedOrders=2"),
            "--rate RatedOrders=2: RatedOrders has two rates; write one",
        ),
        (
            ("--rate", "RatedOrders="),
            "--rate RatedOrders=: the rate of a class must be a number from 0.001 to 10,000,000",
        ),
        (("--rate", "RatedOrders=nan"), "the rate of a class must be a number"),
        (("--rate", "RatedOrders=0"), "the rate of a class must be a number"),
        (("--rate", "RatedOrders=100,200@5s"), "the rate of a class must be a number"),
        (("--rate", "=5"), "has no producer class ''"),
    ],
)
def test_wrong_rates_of_classes_are_rejected(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UserError) as raised:
        planned(*words)
    assert sentence in str(raised.value)


def test_a_scenario_that_searches_for_its_rate_has_no_rates_of_classes() -> None:
    with pytest.raises(UserError) as raised:
        planned("--rate", "RatedOrders=5", load=Search())
    assert "changes its load while it runs, so its classes cannot have separate rates" in str(raised.value)
