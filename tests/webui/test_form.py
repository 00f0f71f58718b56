"""Checks that the form's fields become the next run's options, and that each invalid value gives a one-line error."""

from argparse import Namespace

import pytest

from harness.web.form import check_users, namespace_of, repeating_command
from records.errors import UserError

BASE = Namespace(topology="mesh", rate=None, drain_timeout=60.0, keep_data=False, run_time=30.0, spawn_rate=100, seed=7)
COUNTS = {"Producer": 6, "Consumer": 2}


def refusal(**fields: str) -> str:
    with pytest.raises(UserError) as raised:
        namespace_of(fields, BASE)
    return str(raised.value)


def test_the_forms_fields_are_put_onto_the_command_lines_options() -> None:
    fields = {"topology": "single", "rate": "40", "run_time": "1m30s", "keep_data": "true", "spawn_rate": "10"}
    chosen = namespace_of(fields, BASE)
    assert vars(chosen) == {
        **vars(BASE), "topology": "single", "rate": "40", "run_time": 90.0, "keep_data": True, "spawn_rate": 10.0
    }  # fmt: skip


def test_what_the_form_leaves_out_is_as_on_the_command_line() -> None:
    assert vars(namespace_of({}, BASE)) == vars(BASE)


def test_an_emptied_run_time_is_none() -> None:
    assert namespace_of({"run_time": " "}, BASE).run_time is None


def test_the_command_lines_own_options_stay_as_they_are() -> None:
    namespace_of({"topology": "single"}, BASE)
    assert BASE.topology == "mesh"


def test_fields_that_no_option_has_are_left_out() -> None:
    assert not hasattr(namespace_of({"user_classes": "x"}, BASE), "user_classes")


def test_a_run_time_that_is_no_time_is_refused() -> None:
    assert refusal(run_time="soon") == "run time 'soon': write it as 20, 20s, 3m, 2h or 1h20m"


@pytest.mark.parametrize("rate", ["", "many", "0", "-1", "nan", "inf", "101"])
def test_a_ramp_up_that_cannot_be_is_refused(rate: str) -> None:
    assert refusal(spawn_rate=rate) == f"ramp up '{rate}': must be a number of users per second, at most 100"


@pytest.mark.parametrize("users", [None, "8", "5"])
def test_the_number_that_the_form_showed_and_the_right_one_are_taken(users: str | None) -> None:
    check_users(users, (5, 5), COUNTS)


@pytest.mark.parametrize("users", ["9", "0", "many", ""])
def test_another_number_of_users_is_refused_with_the_right_one(users: str) -> None:
    with pytest.raises(UserError) as raised:
        check_users(users, (5,), COUNTS)
    assert str(raised.value) == (
        f"number of users '{users}': this run has 8 (6 Producer, 2 Consumer); leave it at 8, "
        "and use the fields producers and consumers to change it"
    )


def test_the_line_that_runs_it_again_has_what_the_form_changed() -> None:
    fields = {"topology": "single", "rate": "40", "run_time": "5s", "keep_data": "true", "seed": "7"}
    chosen = namespace_of(fields, BASE)
    line = repeating_command(("locust", "-f", "steady.py", "--seed", "7"), BASE, chosen, fields)
    assert line == (
        "locust", "-f", "steady.py", "--seed", "7", "--headless",
        "--keep-data", "--rate", "40", "--run-time", "5", "--topology", "single",
    )  # fmt: skip


def test_fields_left_empty_are_not_in_that_line() -> None:
    chosen = namespace_of({"rate": "", "run_time": ""}, BASE)
    assert repeating_command(("locust",), BASE, chosen, ("rate", "run_time")) == ("locust", "--headless")
