"""Checks that docs, comparisons and user classes know the options of a run as they are declared."""

import math
import re
from pathlib import Path

import pytest

from brokerbench.compare.session import variable_options
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from records.faults import TRAITS
from records.option_roles import ARM_FIELDS, NO_CONDITIONS, SAID_BY_USERS
from reports.other_files import OTHER_FILES
from scenarios.harness.faults import KINDS
from scenarios.harness.options.run_options import read
from scenarios.options import KEPT, OPTIONS, SECTIONS, Option
from tests.scenarios.test_options import namespace, scenario

ROW = re.compile(r"^\| (`-[^|]*) \| (.*) \| ([^|]*) \|$", re.MULTILINE)
CLASSES = {"producers": (ProducerUser,), "consumers": (ConsumerUser,), "users": (ProducerUser, ConsumerUser)}
DECLARED = list(OPTIONS.values())


def documented() -> dict[str, tuple[str, str]]:
    """(what it sets, default) by option, as docs/options.md has them."""
    rows = ROW.findall(Path("docs/options.md").read_text(encoding="utf-8"))
    return {name: (text, default) for names, text, default in rows for name in re.findall(r"--[\w-]+", names)}


def named(option: Option) -> str:
    return option.name


def test_the_docs_tell_of_each_option_and_of_no_other() -> None:
    assert set(documented()) == {option.name for option in DECLARED}


@pytest.mark.parametrize("option", [option for option in DECLARED if option.default not in (None, "")], ids=named)
def test_the_docs_have_its_default(option: Option) -> None:
    shown = f"{option.default:g}" if isinstance(option.default, float) else str(option.default)
    assert documented()[option.name][1].strip("`") == shown


@pytest.mark.parametrize("option", [option for option in DECLARED if option.choices], ids=named)
def test_the_docs_name_its_choices(option: Option) -> None:
    row = " ".join(documented()[option.name])
    assert [choice for choice in option.choices if f"`{choice}`" not in row] == []


@pytest.mark.parametrize("option", [option for option in DECLARED if option.kind is bool], ids=named)
def test_the_docs_say_that_a_flag_is_off_by_default(option: Option) -> None:
    assert documented()[option.name][1] == "no"


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


def test_the_docs_list_the_options_that_a_comparison_may_vary() -> None:
    page = Path("docs/comparing.md").read_text(encoding="utf-8")
    listed = page.partition("Options that can be varied: ")[2].partition(".\n")[0]
    assert tuple(listed.replace("\n", " ").split(", ")) == variable_options()


def test_a_comparison_reads_what_users_were_given_from_the_users() -> None:
    set_of_users = {name for name, option in OPTIONS.items() if option.sets}
    assert SAID_BY_USERS - set_of_users == {"rate", "producers", "consumers"}
    assert set_of_users <= SAID_BY_USERS


def test_what_is_kept_of_a_run_is_no_condition() -> None:
    kept = {name for name, option in OPTIONS.items() if option.section == KEPT and option.recorded}
    assert kept <= {*NO_CONDITIONS, *OTHER_FILES}
    assert NO_CONDITIONS - {*OPTIONS} == {"overlay_digest"}


def test_a_run_has_an_option_for_each_file_beside_its_report() -> None:
    assert {f"--{name}" for name in OTHER_FILES} <= {option.name for option in DECLARED if option.section == KEPT}


def test_the_docs_have_the_faults_as_they_are_declared() -> None:
    page = Path("docs/options.md").read_text(encoding="utf-8")
    table = page.partition("| fault | in a scenario | what is done |\n|---|---|---|\n")[2].partition("\n\n")[0]
    rows = [f"| `{fault.usage()}` | `{fault.__name__}` | {fault.does} |" for fault in KINDS.values()]
    assert table.splitlines() == rows


def test_readers_of_a_run_know_each_kind_of_fault_and_what_is_said_of_it() -> None:
    assert TRAITS.keys() == {*KINDS, "away"}  # consumers that are away are no fault of --fault
    assert all(traits.said for traits in TRAITS.values())
