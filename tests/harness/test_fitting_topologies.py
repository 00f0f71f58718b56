"""Checks each scenario with topologies that cannot answer its question, and with all commands on its page."""

import re
import runpy
import shlex
from argparse import ArgumentParser
from pathlib import Path

import pytest

from brokerbench import Scenario, api
from harness.options.arguments import add_arguments
from harness.options.plan import Plan, make
from harness.options.run_options import read

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"^\.venv/bin/locust -f scenarios/(\w+)\.py --headless(.*)$", re.MULTILINE)
DOCUMENTED = [
    # A run whose brokers have disks is rejected on machines that cannot have them.
    pytest.param(name, arguments.strip(), marks=[pytest.mark.disks] if name == "durability" else [])
    for page in sorted((ROOT / "docs" / "scenarios").glob("*.md"))
    for name, arguments in COMMAND.findall(page.read_text(encoding="utf-8").replace("\\\n", ""))
    if "overlay" not in arguments  # the reader writes the file first, as tests.house.test_docs_commands does
]


def planned(name: str, *arguments: str) -> Plan:
    """Return the commands of the scenario in this file."""
    handed: list[Scenario] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(api, "run", handed.append)
        runpy.run_path(str(ROOT / "scenarios" / f"{name}.py"), run_name=name)
    return planned_of(handed[0], *arguments)


def planned_of(scenario: Scenario, *arguments: str) -> Plan:
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    parser.add_argument("-t")
    runtime = () if "--runtime" in arguments else ("--runtime", "processes")
    parsed = parser.parse_args([*arguments, *runtime])
    return make(scenario, read(parsed, scenario, float(parsed.t.removesuffix("s")) if parsed.t else None))


@pytest.mark.links
@pytest.mark.parametrize(("name", "arguments"), DOCUMENTED)
def test_every_command_of_a_scenarios_page_can_be_run(name: str, arguments: str) -> None:
    assert planned(name, *shlex.split(arguments, comments=True)).info.scenario == name


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("backlog", [], "the scenario measures the backlog"),
        ("throttle", [], "the scenario measures a link with a rate limit"),
        ("ttl", [], "the scenario measures messages that the network cannot forward"),
        ("message_selectors", [], "the scenario measures messages that no consumer selects"),
        ("capacity", [], "the rate changes, and each rate is reported as held or not"),
        ("connections", [], "the number of clients grows"),
        ("steady", ["--rate", "100,200@20s"], "the rate changes"),
        ("steady", ["--work-ms", "5"], ""),
        (
            "steady",
            ["--work-ms", "40", "--consumers", "4", "--rate", "120"],
            "the consumers cannot process all messages",
        ),
        ("capacity", ["--rate", "100"], ""),
        ("steady", [], ""),
        ("failover", [], ""),
        ("reliability", [], ""),
    ],
)
def test_a_run_that_is_limited_on_purpose_says_why_its_backlog_is_no_doubt(
    name: str, arguments: list[str], why: str
) -> None:
    reason = planned(name, *arguments).info.limited_on_purpose
    assert reason.startswith(why)
    assert bool(reason) == bool(why)
