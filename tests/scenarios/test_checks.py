"""Checks that invalid scenarios are refused."""

import pytest

from analysis.run.checks import unmet
from drivers.users.locust_users import ConsumerUser, ProducerUser
from reports.run.headline import MEANING
from scenarios.harness import Hold, Scenario, duplicates_at_most, somebody_cut_off


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


def test_a_fault_that_cut_nobody_off_is_named_as_such_and_the_record_is_not_called_incomplete() -> None:
    """Clients of a broker that freezes for a moment stay connected: they were on it, and lost nothing."""
    (reason,) = unmet((somebody_cut_off(),), {"recovery": {"cut_off": 0}})
    assert "it needs a client that a fault cut off: recovery.cut_off is 0" in reason
    assert "not complete" not in MEANING["invalid"][1]
