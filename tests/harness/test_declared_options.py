"""Checks that docs, comparisons and user classes use the options of a run as declared."""

import math

import pytest

from brokerbench.compare.session import variable_options
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.faults import KINDS
from harness.options.declarations import KEPT, OPTIONS, SECTIONS, Option
from harness.options.run_options import read
from records.errors import UserError
from records.figures.faults import TRAITS
from records.option_roles import ARM_FIELDS, NO_CONDITIONS, SAID_BY_USERS
from reports.other_files import OTHER_FILES, field_of
from tests.harness.test_options import namespace, scenario

CLASSES = {"producers": (ProducerUser,), "consumers": (ConsumerUser,), "users": (ProducerUser, ConsumerUser)}
DECLARED = list(OPTIONS.values())


def named(option: Option) -> str:
    return option.name


def test_each_name_is_declared_once_and_in_a_section_or_is_locusts_own() -> None:
    names = [option.name for option in DECLARED]
    assert len(names) == len(set(names))
    assert [option.name for option in DECLARED if option.section not in SECTIONS] == ["--run-time"]


@pytest.mark.parametrize("option", [option for option in DECLARED if option.bounds and option.section], ids=named)
def test_a_number_beyond_the_bounds_of_its_option_is_refused(option: Option) -> None:
    beyond = (option.bounds.least - 1, 2 * option.bounds.most)
    for number in (int(number) for number in beyond if math.isfinite(number)):
        with pytest.raises(UserError, match=rf"^{option.name} \S+: must "):
            read(namespace(f"{option.name}={number}"), scenario(), None)


def test_an_option_sets_an_attribute_that_the_user_classes_have() -> None:
    targets = [option.sets.split(".") for option in DECLARED if option.sets]
    assert targets
    assert [name for kind, name in targets if not all(hasattr(user, name) for user in CLASSES[kind])] == []


def test_what_makes_arms_are_options_and_one_setting_of_user_classes() -> None:
    assert {*ARM_FIELDS} - {*OPTIONS} == {"durable"}
    assert [name for name in ARM_FIELDS if name in OPTIONS and OPTIONS[name].kind is bool] == ["unset_defaults"]
    assert len(variable_options()) == len(ARM_FIELDS) - 2


def test_a_comparison_reads_what_users_were_given_from_the_users() -> None:
    set_of_users = {name for name, option in OPTIONS.items() if option.sets}
    assert SAID_BY_USERS - set_of_users == {"rate", "producers", "consumers"}
    assert set_of_users <= SAID_BY_USERS


def test_what_is_kept_of_a_run_is_no_condition() -> None:
    kept = {name for name, option in OPTIONS.items() if option.section == KEPT and option.recorded}
    assert kept <= {*NO_CONDITIONS, *map(field_of, OTHER_FILES)}
    assert NO_CONDITIONS - {*OPTIONS} == {"overlay_digest"}


def test_a_run_has_an_option_for_each_file_beside_its_report() -> None:
    assert {f"--{name}" for name in OTHER_FILES} == {option.name for option in DECLARED if option.beside_report}


def test_readers_of_a_run_know_each_kind_of_fault_and_what_is_said_of_it() -> None:
    assert TRAITS.keys() == {*KINDS, "away"}  # disconnected consumers are not a fault of --fault
    assert all(traits.said for traits in TRAITS.values())
