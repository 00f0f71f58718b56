"""Checks that invalid scenarios are refused."""

import pytest

from drivers.users.locust_users import ConsumerUser, ProducerUser
from scenarios.harness import Hold, Scenario, duplicates_at_most


class Producer(ProducerUser):
    group = "producers"


class Consumer(ConsumerUser):
    group = "consumers"


def test_a_scenario_without_a_consumer_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one ProducerUser and one ConsumerUser"):
        Scenario((Producer,), "mesh", Hold(for_s=1), ())


def test_a_load_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="must last longer than 0 s"):
        Hold(for_s=0)


def test_a_check_is_a_plain_value_over_the_summary() -> None:
    check = duplicates_at_most(2)
    assert (check.metric, check.at_most, check.at_least) == ("messages.duplicated", 2, None)


def test_a_scenario_is_named_after_its_locustfile() -> None:
    assert Scenario((Producer, Consumer), "mesh", Hold(for_s=1), ()).name == "test_checks"
