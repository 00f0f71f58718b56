"""Checks that user classes outside the scenario's list are rejected, with the next step."""

import pytest
from locust import User

from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.locust_options import require_all_named
from records.errors import UserError


class UnlistedOrders(ProducerUser):
    group = "producers"


class UnlistedTakers(ConsumerUser):
    group = "consumers"


class Rushed(UnlistedOrders):
    sends_per_second = 500


class Visitor(User):
    """A plain Locust user, without a broker client."""


def refusal(*classes: type[User]) -> str:
    with pytest.raises(UserError) as raised:
        require_all_named(classes, (UnlistedOrders, UnlistedTakers))
    return str(raised.value)


def test_a_locustfile_whose_classes_are_the_scenarios_own_is_taken() -> None:
    require_all_named((UnlistedTakers, UnlistedOrders), (UnlistedOrders, UnlistedTakers))


def test_fewer_classes_than_the_scenario_names_are_taken() -> None:
    """`locust -f … UnlistedTakers` runs one of them."""
    require_all_named((UnlistedTakers,), (UnlistedOrders, UnlistedTakers))


def test_a_class_that_the_scenario_leaves_out_is_named_with_both_ways_out() -> None:
    assert refusal(UnlistedOrders, Rushed, UnlistedTakers) == (
        "Rushed: Locust makes users of every class that it finds in a locustfile, but Scenario.users leaves this one "
        "out; add it to them, or write `abstract = True` in it"
    )


def test_a_user_that_is_no_client_of_a_broker_cannot_be_added() -> None:
    assert refusal(UnlistedOrders, UnlistedTakers, Visitor).endswith(
        "leaves this one out; write `abstract = True` in it"
    )
