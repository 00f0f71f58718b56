"""Compares docs/scenarios.md with the parts of a user's own scenario: classes, checks and faults."""

import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import scenarios.harness as harness
from drivers.users import ConsumerUser, ProducerUser
from drivers.users.broker_user import BrokerUser
from records.checks import Check
from records.summary import FIGURES
from scenarios.harness import Scenario, faults
from scenarios.harness.checks import read_checks
from scenarios.harness.faults import CommandFault, Fault, absent_at_start

PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
OWN = PAGE.partition("## A scenario of your own\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (`.*?) \|", OWN, re.MULTILINE)
TOLD = {code for row in ROWS for code in re.findall(r"`([^`]+)`", row)}
GIVEN = ("group", "destination", "role")
"""Attributes that a scenario sets, and one that it does not."""


def test_every_field_of_a_scenario_is_there() -> None:
    assert [field.name for field in dataclasses.fields(Scenario) if field.name not in TOLD] == []


@pytest.mark.parametrize("user", [BrokerUser, ProducerUser, ConsumerUser])
def test_every_attribute_of_a_user_is_there_with_its_default(user: type[BrokerUser]) -> None:
    names = [name for name in inspect.get_annotations(user) if not name.startswith("_") and name not in GIVEN]
    assert {"group", "destination"} <= TOLD
    hidden = {"rate_steps", "joins"}  # set by `--rate` and `Steps`, and by `--clients` and `AddClients`
    assert [name for name in names if name not in hidden and f"{name} = {shown(getattr(user, name))}" not in TOLD] == []


def shown(value: object) -> str:
    if isinstance(value, tuple):
        return "(Stay(),)"
    return f'"{value}"' if isinstance(value, str) else str(value)


def test_every_check_is_there() -> None:
    checks = {re.sub(r"\(.*", "", code) for code in TOLD}
    wanted = [name for name, value in functions(harness).items() if value.__module__.endswith(".checks")]
    assert wanted
    assert [name for name in wanted if name not in checks] == []


def test_a_check_on_any_figure_is_there_and_is_one() -> None:
    (code,) = re.findall(r"```python\n(from records.checks import Check\n.*?)```", OWN, re.DOTALL)
    names = {name: getattr(harness, name) for name in harness.__all__}
    exec(code, names)
    *_, text, own = names["checks"]
    (demand,) = read_checks([text])
    assert demand.metric in FIGURES
    assert isinstance(own, Check)
    assert own.metric in FIGURES
    assert own.rule == "< 50"
    assert {field.name for field in dataclasses.fields(Check)} - {"name", "metric"} <= TOLD | {
        *re.findall(r"`(\w+)`", OWN)
    }


def functions(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in module.__all__ if inspect.isfunction(getattr(module, name))}


def test_every_fault_is_there() -> None:
    left_out = {Fault, CommandFault, absent_at_start}  # the contract, one for brokers that run already, an internal
    wanted = [name for name in faults.__all__ if getattr(faults, name) not in left_out]
    assert [name for name in wanted if f"`{name}" not in OWN] == []
