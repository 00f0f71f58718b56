"""Compares docs/scenarios.md with `Scenario`, and with the check on any figure in it."""

import dataclasses
import re
from pathlib import Path

from brokerbench import Scenario, api
from harness.checks import read_checks
from records.figures.checks import Check
from records.figures.summary import FIGURES

PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
OWN = PAGE.partition("## A scenario of your own\n")[2].partition("\n## ")[0]
TOLD = {*re.findall(r"^\| `(\w+)` \|", OWN, re.MULTILINE)}


def test_every_field_of_a_scenario_is_there() -> None:
    assert [field.name for field in dataclasses.fields(Scenario) if field.name not in TOLD] == []


def test_a_check_on_any_figure_is_there_and_is_one() -> None:
    (code,) = re.findall(r"```python\n(from brokerbench import Check, no_acked_send_lost\n.*?)```", OWN, re.DOTALL)
    names = {name: getattr(api, name) for name in api.__all__}
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
