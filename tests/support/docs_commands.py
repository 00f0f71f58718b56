"""Runs the commands of README and docs as far as possible without starting anything, all in this process.

A run or comparison is planned as by ``--dry-run``. A command that only lists or renders is run. A command that needs a
finished run is parsed. Files that the reader has to write according to the pages are written first.
"""

import importlib.util
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
import yaml
from click.testing import CliRunner
from locust import events
from locust.argument_parser import get_empty_argument_parser, setup_parser_arguments

import brokerbench.up
from brokerbench import Scenario, api
from brokerbench.cli import main
from brokerbench.compare import command as comparing
from brokerbench.compare.session import ComparisonSession
from brokerbench.manual import STATEMENTS, files_of, statements
from brokerbench.nightly import command as nightly
from brokerbench.nightly import making
from harness import machine
from harness.options import plan, run_options
from harness.options.arguments import add_arguments
from records.errors import UserError
from records.store.run_store import KEYS
from tests.house.tree import ROOT
from topologies.classic.launch import LAUNCH
from topologies.jvm import launch
from topologies.runtimes.choice import ContainerSupport
from topologies.runtimes.proxies import link_proxies

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHER_PROGRAMS = ("aws", "export", "git", "head", "install", "spark-submit", "test")
"""First words of the lines that call no program of this project, or call it on another machine."""
TOOL = re.compile(r"^(?:brokerbench/)?(?:\.venv/bin/)?(locust|brokerbench|python)$")
ONLY_PARSED = ("analyse", "report", "export", "store", "doctor")
"""Commands that need a finished run, or that report the missing tools of a machine."""
STEADY = "scenarios/steady.py"
VERSIONS, DESCRIPTION = cache(machine.versions), cache(machine.describe)


@dataclass(frozen=True)
class DocsCommand:
    """One line of a shell block, without its comment, or the ``run`` of a CI step."""

    page: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.name}: {shlex.join(self.words)}"

    @property
    def tool(self) -> str:
        """``locust``, ``brokerbench``, ``python``, ``make``, or the first word of another program."""
        match = TOOL.match(self.words[0])
        return match[1] if match else self.words[0]


def docs_commands() -> list[DocsCommand]:
    """Return every command of README and docs once."""
    lines = [(page, line) for page in PAGES for line in _lines(page.read_text(encoding="utf-8"))]
    lines += [(STATEMENTS, command) for statement in statements() for command in statement.commands]
    commands = (DocsCommand(page, tuple(shlex.split(line, comments=True))) for page, line in lines)
    return list({command.words: command for command in commands if command.words}.values())


def _lines(text: str) -> Iterator[str]:
    for language, block in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL):
        if language == "sh":
            yield from re.sub(r"\\\n\s*", "", block).splitlines()
        elif language == "yaml":
            yield from _ci_runs(yaml.safe_load(block))


def _ci_runs(node: Any) -> Iterator[str]:
    """Yield the commands in the steps of a CI file."""
    if isinstance(node, dict):
        if isinstance(node.get("run"), str):
            yield node["run"]
        for value in node.values():
            yield from _ci_runs(value)
    elif isinstance(node, list):
        for item in node:
            yield from _ci_runs(item)


def block_after(page: str, sentence: str) -> str:
    """Return the code block that follows a sentence of a page: a file that the page asks the reader to write."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert sentence in text, f"{page}: no sentence {sentence!r}"
    match = re.search(r"```\w+\n(.*?)```", text[text.index(sentence) :], re.DOTALL)
    assert match, f"{page}: no block after {sentence!r}"
    return match[1]


def write_files(folder: Path) -> None:
    """Write the files that the commands name: from the page if it shows them, otherwise substitutes."""
    orders = block_after("README.md", "Save this as `orders.py`")
    network = block_after("docs/topologies.md", "For ActiveMQ Classic:")
    tuned = block_after("docs/options.md", "An overlay changes settings of any topology")
    small = "name: {}\nbrokers: [broker-1]\ngroups:\n  - {{name: producers, enter_at: [broker-1]}}\n"
    small += "  - {{name: consumers, enter_at: [broker-1]}}\n"
    files = {
        "orders.py": orders,
        "benchmarks/orders.py": orders,
        "outage.py": block_after("docs/scenarios.md", "Save this as `outage.py`"),
        "my-network.yaml": network,
        "benchmarks/network.yaml": small.format("network"),
        "always.yaml": small.format("always"),
        "periodic.yaml": small.format("periodic"),
        "tuned.yaml": tuned,
        "users.yaml": block_after("docs/topologies.md", "or have a different password or fewer permissions there:"),
        "dynamic-only.yaml": block_after("docs/scenarios/durable_subscribers.md", "`dynamic-only.yaml`:"),
        "sync-listed.yaml": block_after("docs/scenarios/durable_subscribers.md", "`sync-listed.yaml`;"),
        "renamed.yaml": block_after("docs/scenarios/durable_subscribers.md", "`renamed.yaml`:"),
        "static.yaml": block_after("docs/scenarios/many_destinations.md", "In a file for `--overlay`:"),
        "brokers.yaml": block_after("docs/running.md", "A file lists the addresses of each broker"),
        "artemis.yaml": block_after("docs/own-broker.md", "Write `artemis.yaml`"),
        "classic.yaml": block_after("docs/own-broker.md", "Write `classic.yaml`"),
        "credentials.env": "BROKERBENCH_USERNAME=anna\nBROKERBENCH_PASSWORD=s3cret\n",
        "benchmarks/nightly.yaml": (ROOT / "benchmarks" / "nightly.yaml").read_text(encoding="utf-8"),
        "benchmarks/orders-nightly.yaml": block_after("docs/nightly.md", "current folder:"),
        **files_of(statements()),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "credentials.env").chmod(0o600)
    (folder / "scenarios").symlink_to(ROOT / "scenarios")


PLANNED = 77
"""Exit status where a command would start its runs: everything before that was accepted."""


def stop_before_runs(patch: pytest.MonkeyPatch) -> None:
    """Plan the runs of comparisons and nights in this process, and exit instead of making them. Every machine accepts
    the same: nothing is connected, so tools that a run needs besides Python may be missing."""

    def planned(*_: object) -> NoReturn:
        raise SystemExit(PLANNED)

    patch.setattr(run_options, "missing", lambda _protocol: "")
    patch.setattr(run_options, "why_refused", lambda: "")
    patch.setattr(run_options, "addresses_here", lambda: ["127.0.0.1", "10.0.0.5"])
    patch.setattr(link_proxies, "find_toxiproxy", lambda link: Path("toxiproxy-server"))
    patch.setattr(launch, "own_build", lambda *_arguments: LAUNCH.distributions[0])  # the reader's own file
    for name in KEYS:  # exported in the line before
        patch.setenv(name, "x")
    patch.setattr(machine, "versions", VERSIONS)
    patch.setattr(machine, "describe", DESCRIPTION)

    patch.setattr(comparing, "check", check)
    patch.setattr(comparing, "make", planned)
    patch.setattr(making, "check", check)
    patch.setattr(nightly, "make_cells", planned)
    patch.setattr(brokerbench.up, "up", lambda *_: 0)


def check(session: ComparisonSession) -> list[dict[str, object]]:
    """Return what `brokerbench.compare.making.check` does: each arm's dry run."""
    plans = [dry_run(session.run_arguments(value)) for value in session.values]
    return [plan.would_run(arm_plan) for arm_plan in plans if arm_plan]


def dry_run(arguments: list[str]) -> plan.Plan | None:
    """Plan the run of a ``locust`` command. None for a worker, whose options come from its master. Raises UserError."""
    parser = get_empty_argument_parser()
    setup_parser_arguments(parser)
    parser.error = _reject  # type: ignore[method-assign]
    locustfile = Path(next(iter(_values(arguments, "-f")), STEADY))
    scenario = _scenario(locustfile)
    add_arguments(parser, scenario)
    namespace = parser.parse_args(arguments)
    if namespace.worker:
        return None
    options = run_options.read(namespace, scenario, namespace.run_time, look=lambda flavour, image: ContainerSupport())
    return plan.make(scenario, options)


def _reject(message: str) -> NoReturn:
    raise UserError(message)


def _values(arguments: list[str], option: str) -> Iterator[str]:
    return (value for name, value in pairwise(arguments) if name == option)


def _scenario(locustfile: Path) -> Scenario:
    """Return the scenario that a locustfile hands over, with new user classes each time."""
    handed: list[Scenario] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "run", handed.append)
        runpy.run_path(str(locustfile), run_name=locustfile.stem)
    return handed[0]


def try_command(command: DocsCommand) -> str:
    """Carry the command out without starting anything. Returns how it was tried. Raises if it is not accepted."""
    words = list(command.words[1:])
    match command.tool:
        case "locust":
            dry_run(words)
            return "planned"
        case "brokerbench":
            return _try_brokerbench(words)
        case "python":
            return _try_python(words)
        case "pytest":
            return _look_for_tests(words)
        case "make":
            targets = [word for word in words if "=" not in word and word not in ("-C", "brokerbench")]
            assert {*targets} <= make_targets(), f"no target {targets} in the Makefile"
            return "looked up"
        case "bash":
            assert (ROOT / words[0]).is_file(), f"no script {words[0]}"
            return "looked up"
        case other:
            assert other in OTHER_PROGRAMS, f"{command}: list {other} in OTHER_PROGRAMS, or say how it is tried"
            return "left out"


def _try_brokerbench(words: list[str]) -> str:
    name, *rest = words
    if name in ONLY_PARSED or (name == "compare" and "--scenario" not in rest):
        # In the context of its group: a command keeps the names of its help option from where it is used first.
        main.commands[name].make_context(name, rest, parent=click.Context(main, **main.context_settings))
        return "parsed"
    handlers = list(events.init_command_line_parser._handlers), list(events.init._handlers)
    outcome = CliRunner().invoke(main, words)
    events.init_command_line_parser._handlers, events.init._handlers = handlers  # it may have loaded a locustfile
    if outcome.exit_code == PLANNED:
        return "planned"
    assert outcome.exit_code == 0, outcome.output
    return "run"


def _try_python(words: list[str]) -> str:
    if words[0] == "-c":
        compile(words[1], "docs", "exec")
        return "compiled"
    assert words[0] == "-m"
    assert importlib.util.find_spec(words[1]), f"no module {words[1]}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [words[1], "--help"])
        patch.delitem(sys.modules, words[1], raising=False)  # else runpy warns
        with pytest.raises(SystemExit, match="0"):
            runpy.run_module(words[1], run_name="__main__")
    return "asked for help"


def _look_for_tests(words: list[str]) -> str:
    """Check that the named files have tests, and those that ``-k`` and ``-m`` select, as far as names tell."""
    options = dict(pairwise(words))
    paths = [ROOT / word for word in words if word.startswith("tests/")]
    assert paths, f"no file of tests: {shlex.join(words)}"
    assert [str(path) for path in paths if not path.is_file()] == []
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    names = re.findall(r"^def (test_\w+)", text, re.MULTILINE)
    assert any(options.get("-k", "test_") in name for name in names), f"no test of that name: {shlex.join(words)}"
    assert options.get("-m", "test_") in text, f"no test with that marker: {shlex.join(words)}"
    return "looked up"


@cache
def make_targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
