"""Checks that invalid input is rejected before anything starts, with the sentences of the golden tables.

A case names a scenario: a file in the table, in ``locustfiles/`` or in ``scenarios/``. The settings before it change
its user classes, ``Producer.in_flight = 0``, or its `Scenario`, ``entries = {'consumers': 2}``.
"""

import runpy
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
from locust.argument_parser import get_empty_argument_parser, setup_parser_arguments

from brokerbench import Scenario, api
from harness import machine
from harness.options import run_options
from harness.options.arguments import add_arguments
from harness.options.plan import make
from records.errors import UserError
from reports.other_files import OTHER_FILES
from tests.support.locust_run import REPOSITORY
from tests.support.refusal_tables import Refusal, refusals
from topologies.model.spelling import shortened
from topologies.runtimes import choice
from topologies.runtimes.choice import ContainerSupport
from topologies.runtimes.processes import cpu_groups
from topologies.runtimes.proxies import link_proxies

HERE = Path(__file__).parent
TABLES = sorted((HERE / "golden").glob("refused-*.txt"))
CASES = refusals(*TABLES)
OF_JUNIT = [case for case in CASES if "--junit" in case.line and "--markdown" not in case.line]
assert OF_JUNIT
LONGEST = 1_500  # characters of a sentence


@pytest.fixture(autouse=True)
def known_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All machines reject the same input: one address besides loopback, Toxiproxy, and credentials of brokers only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_options, "addresses_here", lambda: ["127.0.0.1", "192.0.2.1"])
    monkeypatch.setattr(choice, "cores_here", lambda: 2)
    monkeypatch.setattr(cpu_groups, "why_no_quota_here", lambda _cpus: "")
    monkeypatch.setattr(link_proxies, "find_toxiproxy", lambda link: Path("toxiproxy-server"))
    monkeypatch.setattr(machine, "versions", lru_cache(machine.versions))
    monkeypatch.setenv("BROKERBENCH_USERNAME", "anna")
    monkeypatch.setenv("BROKERBENCH_PASSWORD", "s3cret")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)


def scenario_of(refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Return the case's scenario with its settings."""
    name = refusal.words[0]
    folders = (Path.cwd(), HERE / "locustfiles", REPOSITORY / "scenarios")
    path = next(path for folder in folders if (path := folder / f"{name}.py").exists())
    handed: list[Scenario] = []
    monkeypatch.setattr(api, "run", handed.append)
    names = dict(vars(api))
    names |= runpy.run_path(str(path), run_name=name)
    scenarios_own: dict[str, Any] = {}
    exec(refusal.settings, names, scenarios_own)
    assert {*scenarios_own} <= {field.name for field in fields(Scenario)}, refusal.line
    return replace(handed[0], **scenarios_own)


def make_plan(scenario: Scenario, arguments: list[str]) -> None:
    def refuse(message: str) -> NoReturn:
        raise UserError(message)

    parser = get_empty_argument_parser()
    setup_parser_arguments(parser)
    add_arguments(parser, scenario)
    parser.error = refuse
    namespace = parser.parse_args(arguments)
    make(
        scenario,
        run_options.read(namespace, scenario, namespace.run_time, look=lambda flavour, image: ContainerSupport()),
    )


def sentence_for(refusal: Refusal, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the error; '' if the input is accepted."""
    try:
        make_plan(scenario_of(refusal, monkeypatch), refusal.words[1:])
    except UserError as error:
        return shortened(str(error))  # as Locust's log shows it
    return ""


@pytest.mark.parametrize("refusal", CASES, ids=str)
def test_what_no_run_can_have_is_refused_with_one_sentence(
    refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal.write_files(tmp_path)
    sentence = sentence_for(refusal, monkeypatch)
    refusal.assert_refused_with(sentence)
    assert len(sentence) < LONGEST


@pytest.mark.parametrize("name", [name for name in OTHER_FILES if name != "junit"])
@pytest.mark.parametrize("refusal", OF_JUNIT, ids=str)
def test_each_file_beside_a_report_is_refused_as_the_first_one_is(
    name: str, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_this_one = replace(refusal, line=refusal.line.replace("junit", name))
    assert sentence_for(of_this_one, monkeypatch) == refusal.sentence.replace("junit", name)
