"""Checks that the commands of README and docs are accepted, run alike everywhere, and compare what can be compared."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from click import ClickException

from brokerbench.compare.command import plan_sessions
from brokerbench.compare.equal_arms import proposal
from brokerbench.compare.session import ComparisonRequest, split_values
from records.errors import UserError
from tests.house.tree import ROOT
from tests.support.docs_commands import (
    OTHER_PROGRAMS,
    PAGES,
    DocsCommand,
    docs_commands,
    stop_before_runs,
    try_command,
    write_files,
)
from topologies.catalogue.lookup import build
from topologies.products import ENTRIES

COMMANDS = docs_commands()
LEFT_OUT = [
    *("git", "test", "test", "install", "head", "export"),
    "export",  # results in S3
    *("git", "spark-submit", "export", "aws"),  # the analysis on a cluster
]
IN_A_SENTENCE = re.compile(r"`(" + "|".join(ENTRIES) + r")\(([^`…]*)\)`")
IMPLY_A_RUNTIME = ("--brokers-file", "--image", "--broker-version", "--distribution")
START_NOTHING = ("--dry-run", "--worker", "--help")
ARMS_BY_RUNTIME = ("--vary broker-version=", "--vary distribution=", "--vary runtime=", "--vary image=")


def commands(page: Path) -> Iterator[str]:
    """Return the lines of the page's shell blocks, with continued lines joined."""
    for _, block in re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        yield from re.sub(r"\\\n\s*", "", block).splitlines()


def runs_of(page: Path) -> list[str]:
    """The commands that start brokers, except nightly plans, which have separate options."""
    starts = re.compile(r"locust -f |brokerbench up |brokerbench compare .*--scenario ")
    return [line for line in commands(page) if starts.search(line) and not any(word in line for word in START_NOTHING)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_says_where_its_brokers_run(page: Path) -> None:
    """Without it, a run uses containers on one machine and processes on another."""
    named = ("--runtime processes", *IMPLY_A_RUNTIME, *ARMS_BY_RUNTIME)
    assert [line for line in runs_of(page) if not any(word in line for word in named)] == []


def asked_by(command: str) -> ComparisonRequest:
    """Return the request that `brokerbench compare` makes of it."""
    words = shlex.split(command, comments=True)
    words = words[words.index("compare") + 1 :]
    for_locust = tuple(words[words.index("--") + 1 :]) if "--" in words else ()
    own = words[: words.index("--")] if "--" in words else words
    values: dict[str, list[str]] = {}
    for option, value in pairwise(own):
        if option.startswith("-") and not value.startswith("-"):
            values.setdefault(option, []).append(value)
    value_of = {option: its_values[0] for option, its_values in values.items()}
    blocks = int(value_of["--blocks"]) if "--blocks" in value_of else None
    vary, length = tuple(values.get("--vary", ())), value_of.get("-t")
    return ComparisonRequest(
        value_of["--scenario"], value_of.get("--topologies"), vary, blocks, length, None, for_locust, ROOT / "runs"
    )


COMPARISONS = [line for page in PAGES for line in runs_of(page) if "brokerbench compare" in line]


@pytest.mark.parametrize("command", COMPARISONS)
def test_every_comparison_can_be_planned_and_its_topologies_are_equal_in_brokers(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked_by(command)
    if "outage.py" in command:  # a file that the reader has saved
        monkeypatch.chdir(tmp_path)
        (tmp_path / "outage.py").touch()
    assert plan_sessions(request, ())
    topologies = list(split_values(request.topologies or ""))
    if request.topologies and not any(name.endswith(".yaml") for name in topologies):
        assert proposal(topologies) == ""
        assert len({len(build(name).brokers) for name in topologies}) == 1


@pytest.fixture
def readers_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files that the pages ask the reader to write."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    stop_before_runs(monkeypatch)
    return tmp_path


def needs_of(command: DocsCommand) -> tuple[pytest.MarkDecorator, ...]:
    """Runs with disks or CPU quotas are rejected on machines that cannot have them."""
    marks = {"scenarios/durability.py": pytest.mark.disks, "--broker-cpus": pytest.mark.quotas}
    return tuple(mark for words, mark in marks.items() if words in str(command))


@pytest.mark.parametrize("command", [pytest.param(it, id=str(it), marks=needs_of(it)) for it in COMMANDS])
def test_every_command_is_accepted(command: DocsCommand, readers_folder: Path) -> None:
    """Checks each command like ``--dry-run``: nothing is started."""
    assert try_command(command)
    assert not list(readers_folder.glob("runs/2*")), "a run was made"


def test_nearly_all_commands_are_tried() -> None:
    tools = [command.tool for command in COMMANDS]
    assert tools.count("locust") > 80
    assert tools.count("brokerbench") > 35
    assert [tool for tool in tools if tool in OTHER_PROGRAMS] == LEFT_OUT


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("locust -f scenarios/steady.py --topology 'source-and-sink(colour=1)'", "has no parameter 'colour'"),
        ("locust -f scenarios/steady.py --topologie mesh", "--topologie"),
        ("locust -f scenarios/steady.py --topology my-network.yaml --protocol stomp", "stomp has no listener"),
        ("brokerbench compare --scenario steady --topologies mesh,mehs", "mehs"),
        ("brokerbench topologies 'mesh(brokers=1)'", "between 2 and 50"),
        ("brokerbench report latest --pdf report.pdf", "--pdf"),
        ("python -m benchmarks.nothing", "no module"),
        ("make everything", "no target"),
        ("rsync runs there", "OTHER_PROGRAMS"),
    ],
)
@pytest.mark.usefixtures("readers_folder")
def test_a_command_that_nobody_could_run_is_found(line: str, why: str) -> None:
    with pytest.raises((UserError, AssertionError, ClickException)) as found:
        try_command(DocsCommand(ROOT / "README.md", tuple(shlex.split(line))))
    assert why in str(getattr(found.value, "message", found.value))


@pytest.mark.usefixtures("readers_folder")
def test_the_plan_of_the_docs_is_accepted() -> None:
    words = ("brokerbench", "nightly", "benchmarks/orders-nightly.yaml")
    assert try_command(DocsCommand(ROOT / "docs" / "nightly.md", words)) == "planned"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_topology_in_a_sentence_can_be_built(page: Path) -> None:
    for entry, arguments in IN_A_SENTENCE.findall(page.read_text(encoding="utf-8")):
        assert build(f"{entry}({arguments})").brokers


def test_the_docs_have_comparisons_and_runs_to_check() -> None:
    assert len(COMPARISONS) > 15
    assert sum(len(runs_of(page)) for page in PAGES) > 80
