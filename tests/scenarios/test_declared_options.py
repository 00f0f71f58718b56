"""Checks that docs, comparisons and user classes know the options of a run as they are declared."""

from brokerbench.compare.session import variable_options
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.faults import TRAITS
from reports.comparison.conditions import ARM_FIELDS, NO_CONDITIONS, SAID_BY_USERS, SAID_ELSEWHERE
from scenarios.harness.faults import KINDS
from scenarios.options import OPTIONS, SECTIONS

CLASSES = {"producers": (ProducerUser,), "consumers": (ConsumerUser,), "users": (ProducerUser, ConsumerUser)}
DECLARED = list(OPTIONS.values())


def test_each_name_is_declared_once_and_in_a_section_or_is_locusts_own() -> None:
    names = [option.name for option in DECLARED]
    assert len(names) == len(set(names))
    assert [option.name for option in DECLARED if option.section not in SECTIONS] == ["--run-time"]


def test_an_option_sets_an_attribute_that_the_user_classes_have() -> None:
    targets = [option.sets.split(".") for option in DECLARED if option.sets]
    assert targets
    assert [name for kind, name in targets if not all(hasattr(user, name) for user in CLASSES[kind])] == []


def test_what_a_comparison_may_vary_is_what_its_pages_know_as_arms() -> None:
    """Settings of user classes and of rendered files make arms too, without ``--vary``."""
    assert {name for name, option in OPTIONS.items() if option.comparable} == {*ARM_FIELDS} - {
        "durable",
        "unset_defaults",
    }
    assert len(variable_options()) == len(ARM_FIELDS) - 2


def test_a_comparison_reads_what_users_were_given_from_the_users() -> None:
    set_of_users = {name for name, option in OPTIONS.items() if option.sets}
    assert set_of_users <= {*SAID_BY_USERS, *SAID_ELSEWHERE}
    assert {*NO_CONDITIONS} - {*OPTIONS} == {"overlay_digest"}


def test_what_readers_of_a_run_know_of_kinds_of_faults_is_of_kinds_that_there_are() -> None:
    assert TRAITS.keys() <= {*KINDS, "away"}  # consumers that are away are no fault of --fault
