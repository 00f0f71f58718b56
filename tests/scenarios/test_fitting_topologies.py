"""Checks each scenario with topologies that cannot answer its question, and with every command of its page."""

import re
import runpy
import shlex
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import pytest

import scenarios.harness as harness
from drivers.users import ConsumerUser, ProducerUser
from records.errors import UserError
from scenarios.harness import Hold, Scenario
from scenarios.harness.options.arguments import add_arguments
from scenarios.harness.options.plan import Plan, make
from scenarios.harness.options.run_options import read

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"^\.venv/bin/locust -f scenarios/(\w+)\.py --headless(.*)$", re.MULTILINE)
DOCUMENTED = [
    (name, arguments.strip())
    for page in sorted((ROOT / "docs" / "scenarios").glob("*.md"))
    for name, arguments in COMMAND.findall(page.read_text(encoding="utf-8"))
    if "--overlay" not in arguments  # the reader writes the file first
]


def planned(name: str, *arguments: str) -> Plan:
    """Of the scenario in the file of that name."""
    handed: list[Scenario] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(harness, "run", handed.append)
        runpy.run_path(str(ROOT / "scenarios" / f"{name}.py"), run_name=name)
    return planned_of(handed[0], *arguments)


def planned_of(scenario: Scenario, *arguments: str) -> Plan:
    parser = ArgumentParser()
    add_arguments(parser, scenario)
    parser.add_argument("-t")
    runtime = () if "--runtime" in arguments else ("--runtime", "processes")
    parsed = parser.parse_args([*arguments, *runtime])
    return make(scenario, read(parsed, scenario, float(parsed.t.removesuffix("s")) if parsed.t else None))


def refused(name: str, *arguments: str) -> str:
    with pytest.raises(UserError) as raised:
        planned(name, *arguments)
    return str(raised.value)


BETWEEN_REGIONS = "it has no link between two regions, and scenario wan asks about one; leave --topology out for cross-"
PARALLEL = "it has no second link from the same broker to the same other one, and scenario parallel_connectors asks"
THREE = "asks about 3; leave --topology out for"
NO_PAIR = (
    "group 'producers' enters at no broker that has a standby, and scenario takeover asks about one; leave --topology "
    "out for active-standby, or choose one where it does, such as mesh-of-pairs or live-backup"
)
BESIDE = "it has no link from a broker with all producers and the first consumers to the one with the next consumers"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("wan", ["single"], BETWEEN_REGIONS),
        ("wan", ["mesh"], BETWEEN_REGIONS),
        ("wan", ["mesh", "--link", "*"], BETWEEN_REGIONS),
        ("parallel_connectors", ["single"], PARALLEL),
        ("parallel_connectors", ["mesh"], PARALLEL),
        ("parallel_connectors", ["two-one-way", "--link", "*"], PARALLEL),
        ("sharing", ["mesh"], BESIDE),
        ("sharing", ["source-and-sink"], BESIDE),
        ("throttle", ["ring"], BESIDE),
        (
            "ttl",
            ["source-and-sink"],
            f"group 'consumers' enters at 1 broker, and scenario ttl {THREE} ring, or choose one",
        ),
        (
            "ttl",
            ["two-one-way"],
            f"group 'consumers' enters at 2 brokers, and scenario ttl {THREE} ring, or choose one",
        ),
        (
            "message_selectors",
            ["two-one-way"],
            f"group 'consumers' enters at 2 brokers, and scenario message_selectors {THREE}",
        ),
        (
            "rolling_restart",
            ["single"],
            "it has 1 broker, and scenario rolling_restart asks about 2 or more; leave --top",
        ),
        ("backlog", ["single"], "group 'consumers' enters at 1 broker, and scenario backlog asks about 2; leave --top"),
        ("takeover", ["mesh"], NO_PAIR),
        ("takeover", ["source-and-sink(sink_standby=True)"], NO_PAIR),
        ("partition", ["single"], "it has no link between brokers, and scenario partition asks about one; leave"),
    ],
)
def test_a_topology_that_cannot_answer_a_scenarios_question_is_refused_with_one_that_can(
    name: str, arguments: Sequence[str], problem: str
) -> None:
    assert refused(name, "--topology", *arguments).startswith(f"--topology {arguments[0]}: {problem}")


@pytest.mark.links
@pytest.mark.parametrize(("name", "arguments"), DOCUMENTED)
def test_every_command_of_a_scenarios_page_can_be_run(name: str, arguments: str) -> None:
    assert planned(name, *shlex.split(arguments, comments=True)).info.scenario == name


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://q", 1


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://q", 1


def test_links_that_a_scenario_has_by_default_are_not_told_as_an_option_that_nobody_gave() -> None:
    scenario = Scenario((Producer, Consumer), "two-regions", Hold(for_s=30), (), default_link="regions:delay=40ms")
    with pytest.raises(UserError) as by_default:
        planned_of(scenario, "--topology", "single")
    assert str(by_default.value) == (
        "--topology single: default_link of scenario test_fitting_topologies: 'regions': topology 'single' has no "
        "links; choose a topology with links, or name none"
    )
    with pytest.raises(UserError, match=r"^--link 'regions': topology 'single' has no links; choose a topology with"):
        planned_of(scenario, "--topology", "single", "--link", "regions:delay=40ms")


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("backlog", [], "the consumers are away"),
        ("throttle", [], "a link with a rate limit"),
        ("ttl", [], "messages that cannot go on"),
        ("message_selectors", [], "messages that nobody selects"),
        ("capacity", [], "the rate changes, and each rate says whether it was held"),
        ("connections", [], "the clients become more"),
        ("steady", ["--rate", "100,200@20s"], "the rate changes"),
        ("steady", ["--work-ms", "5"], "SteadyConsumer works 5 ms for each message"),
        ("capacity", ["--rate", "100"], ""),
        ("steady", [], ""),
        ("failover", [], ""),
        ("reliability", [], ""),
    ],
)
def test_a_run_that_is_limited_on_purpose_says_why_its_backlog_is_no_doubt(
    name: str, arguments: list[str], why: str
) -> None:
    said = planned(name, *arguments).info.limited_on_purpose
    assert said.startswith(why)
    assert bool(said) == bool(why)
