"""Checks that invalid scenarios are rejected, and that scenarios accept checks as texts."""

import inspect
import math
import re

import pytest

from analysis.run.checks import unmet
from brokerbench import Hold, Scenario, api, duplicates_at_most, no_acked_send_lost, some_client_disconnected
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness import checks as checks_by_name
from harness.checks import read_checks
from records.errors import UserError
from records.figures.checks import Check
from records.figures.messages import KINDS
from reports.run.headline import MEANING


class Producer(ProducerUser):
    group = "producers"


class Consumer(ConsumerUser):
    group = "consumers"


def parameters_of(name: str) -> list[str]:
    return [*inspect.signature(getattr(api, name)).parameters]


def test_a_scenario_without_a_consumer_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one ProducerUser and one ConsumerUser"):
        Scenario((Producer,), "mesh", Hold(for_s=1), ())


def test_a_load_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="must be greater than 0 s"):
        Hold(for_s=0)


def test_a_check_is_a_plain_value_over_the_summary() -> None:
    check = duplicates_at_most(2)
    assert (check.metric, check.at_most, check.at_least) == ("messages.duplicated", 2, None)


def test_checks_of_a_scenario_are_texts_or_made_by_name() -> None:
    text = "latency_ms.due_to_received.p99 < 50"
    scenario = Scenario((Producer, Consumer), "mesh", Hold(for_s=1), (text, no_acked_send_lost()))
    assert read_checks(scenario.checks) == (
        Check(text, "latency_ms.due_to_received.p99", below=50),
        Check("no acked send lost", "messages.lost", at_most=0),
    )


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (Check("x", "messages.lost", at_most="0"), "Check: at_most='0', but it must be a number or None"),  # type: ignore[arg-type]
        (Check("x", "messages.lost", at_most=math.nan), r"'messages.lost', …\): at_most=nan must be a finite number"),
        (Check("x", "messages.lost", above=math.inf), r"'messages.lost', …\): above=inf must be a finite number"),
        (
            Check("x", "messages.lost"),
            "has no bound, so it can neither pass nor fail; add one of below, above",
        ),
        (Check("x", "messages.losst", at_most=0), "no figure 'messages.losst'; did you mean 'messages.lost'"),
        (Check("x", "messages.lost{Producer}", at_most=0), "can have a label in braces; leave {Producer} out"),
    ],
)
def test_a_check_that_no_run_can_decide_is_refused(check: Check, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        Scenario((Producer, Consumer), "mesh", Hold(for_s=1), (check,))


def test_two_classes_of_one_name_are_refused() -> None:
    namesake = type("Producer", (ProducerUser,), {"group": "others"})
    with pytest.raises(ValueError, match=r"users has 2 classes with the name Producer, but .*; rename one of them"):
        Scenario((Producer, namesake, Consumer), "mesh", Hold(for_s=1), ())


@pytest.mark.parametrize("name", checks_by_name.__all__)
def test_every_check_by_name_is_there_for_locustfiles(name: str) -> None:
    assert name in api.__all__
    by_name = getattr(api, name)
    values = {"kind": KINDS[0]}  # others are bounds
    check = by_name(*(values.get(parameter, 7) for parameter in parameters_of(name)))
    assert check.name != f"{check.metric} {check.rule}"  # as it has its own name
    (bound,) = {check.at_least, check.at_most, check.above, check.below} - {None}
    assert bound == 7 if {*parameters_of(name)} - {*values} else bound in (0, 1)


@pytest.mark.parametrize("wrong", [-1, "2", True, None])
@pytest.mark.parametrize("name", [name for name in checks_by_name.__all__ if parameters_of(name)])
def test_every_check_by_name_refuses_what_no_figure_can_be(name: str, wrong: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{name}({wrong!r}): ")):
        getattr(api, name)(*(wrong for _ in parameters_of(name)))


@pytest.mark.parametrize("field", ["checks", "premises"])
def test_a_wrong_text_is_refused_with_the_name_of_its_scenario(field: str) -> None:
    with pytest.raises(UserError) as raised:
        Scenario((Producer, Consumer), "mesh", Hold(for_s=1), **{"checks": (), field: ("messages.lsot == 0",)})
    assert str(raised.value) == (
        f"scenario test_checks: {field} has 'messages.lsot == 0': the summary has no figure 'messages.lsot'; "
        "did you mean 'messages.lost'?"
    )


def test_a_scenario_is_named_after_its_locustfile() -> None:
    assert Scenario((Producer, Consumer), "mesh", Hold(for_s=1), ()).name == "test_checks"


def test_a_fault_that_disconnected_no_client_is_reported() -> None:
    """Clients of a broker that freezes for a moment stay connected, and lose nothing."""
    (reason,) = unmet((some_client_disconnected(),), {"recovery": {"cut_off": 0}})
    assert "it needs a client that a fault disconnected: recovery.cut_off is 0" in reason
    assert "not complete" not in MEANING["invalid"][1]
