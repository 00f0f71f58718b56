"""Reads the plan of a nightly benchmark from YAML: the varied option, the scenarios, and the gates.

    vary: failover                      # the option that differs between candidates and reference
    reference: randomize=false
    candidates: [randomize=true]
    options: [--rate=200]               # for every run; optional
    benchmarks:
      - scenario: steady
        topologies: [mesh, tree]        # omitted if the plan varies the topology
        blocks: 7                       # default: the number that a verdict needs
        run_time: 30s                   # default: the scenario's
        gates:
          - messages.lost == 0
          - latency_ms.due_to_received.p99 vs reference < 20%
    short: {blocks: 1, run_time: 8s}    # settings of --short

Every error names the file, the line, the field and what to write instead.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from locust.util.timespan import parse_timespan
from yaml import Node, ScalarNode

from brokerbench.compare.session import MOST_BLOCKS, explain_forbidden_word, find_unknown_word, variable_options
from brokerbench.locustfiles import locustfile_of
from harness.checks import parse_checks
from harness.options.declarations import OPTIONS
from records.errors import UserError, about
from reports.nightly.gates import RelativeGate, is_relative, relative_gate
from topologies.catalogue.lookup import build
from topologies.catalogue.yaml_nodes import Document, Reader, text_of
from topologies.model.spelling import nearest
from topologies.model.validity import TopologyInvalid

TOPOLOGY = "topology"
MOST_FIGURES = 3
HEADER = "the plan"
RUN_TIME = "run_time"


class Value(str):
    """A value of the varied option, as on the command line: ``100`` needs no quotes."""


@dataclass(frozen=True)
class Benchmark:
    """A scenario and its gates. ``topologies``: empty if the plan varies the topology.

    ``blocks``: None for the number that a verdict needs. ``run_time``: empty for the scenario's default.
    """

    scenario: str
    gates: tuple[str, ...]
    topologies: tuple[str, ...] = ()
    blocks: int | None = None
    run_time: str = ""
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            locustfile_of(self.scenario)
        except ValueError as error:
            raise TopologyInvalid(str(error).removeprefix("--scenario "), field="scenario") from None
        if self.blocks is not None:
            _require_blocks(self.blocks, "1 or more, or left out for the number that a verdict needs")
        _require_run_time(self.run_time)
        _require_topologies("topologies", self.topologies)
        _require_options(self.options)
        try:
            self.relative, self.checks  # noqa: B018 - parses each gate
        except UserError as error:
            raise TopologyInvalid(str(error), field="gates") from None
        if not self.gates:
            raise TopologyInvalid("no gate: write a condition, such as messages.lost == 0", field="gates")
        if twice := [text for text in self.gates if self.gates.count(text) > 1]:
            raise TopologyInvalid(f"gate {twice[0]!r} is given twice; keep one", field="gates")
        figures = {gate.metric.path for gate in self.relative}
        if len(figures) > MOST_FIGURES:
            problem = f"{len(figures)} figures against the reference, and at most {MOST_FIGURES} can be judged together"
            raise TopologyInvalid(f"{problem}, as each additional figure makes every verdict harder", field="gates")

    @property
    def relative(self) -> tuple[RelativeGate, ...]:
        return tuple(relative_gate(text) for text in self.gates if is_relative(text))

    @property
    def checks(self) -> tuple[str, ...]:
        """The gates that are checks of every run."""
        absolute = [text for text in self.gates if not is_relative(text)]
        with about("gate "):
            return tuple(check.name for text in absolute for check in parse_checks(text))


@dataclass(frozen=True)
class Short:
    """Changes by ``--short``, a quick check of a plan. ``run_time``: empty to keep each benchmark's run time."""

    blocks: int = 1
    run_time: str = ""

    def __post_init__(self) -> None:
        _require_blocks(self.blocks, "1 or more")
        _require_run_time(self.run_time)


@dataclass(frozen=True)
class NightlyPlan:
    """``reference`` and ``candidates``: values of the option ``vary``."""

    vary: str
    reference: Value
    candidates: tuple[Value, ...]
    benchmarks: tuple[Benchmark, ...]
    options: tuple[str, ...] = ()
    short: Short = field(default_factory=Short)

    def __post_init__(self) -> None:
        if self.vary not in (variable := variable_options()):
            near = nearest(self.vary, list(variable)) or f"; it is one of {', '.join(variable)}"
            raise TopologyInvalid(f"{self.vary!r} is not an option that can be varied{near}", field="vary")
        _require_options(self.options)
        self._require_options_of_every_run()
        if not self.candidates:
            raise TopologyInvalid("no candidate: name at least one value", field="candidates")
        if twice := [value for value in self.candidates if value == self.reference or self.candidates.count(value) > 1]:
            raise TopologyInvalid(
                f"{twice[0]!r} is given twice: candidates and the reference differ", field="candidates"
            )
        if not self.benchmarks:
            raise TopologyInvalid("no benchmark: name at least one scenario", field="benchmarks")
        named = [(Path(benchmark.scenario).stem, topology) for benchmark, topology in self.cells()]
        if again := [cell for cell in named if named.count(cell) > 1]:
            place = " on ".join(filter(None, again[0]))
            rule = "a page and its trend can show only one of them: leave one out, or put it into a separate plan"
            raise TopologyInvalid(f"{place} is in the plan twice; {rule}", field="benchmarks")
        for benchmark in self.benchmarks:
            if bool(benchmark.topologies) == (self.vary == TOPOLOGY):
                how = (
                    "leave its topologies out, as the plan varies the topology"
                    if benchmark.topologies
                    else "name at least one topology"
                )
                raise TopologyInvalid(f"scenario {benchmark.scenario}: {how}", field="benchmarks")
        if self.vary == TOPOLOGY:
            _require_topologies("reference", [self.reference])
            _require_topologies("candidates", self.candidates)

    def _require_options_of_every_run(self) -> None:
        parts = [("options", self.options), *(("benchmarks", benchmark.options) for benchmark in self.benchmarks)]
        for field_name, options in parts:
            if why := explain_forbidden_word(self.vary, options):
                raise TopologyInvalid(why, field=field_name)

    @property
    def tests(self) -> int:
        """The number of tests against the reference that Holm covers."""
        return len(self.candidates) * sum(len(benchmark.relative) for benchmark, _ in self.cells())

    def cells(self) -> Iterator[tuple[Benchmark, str]]:
        """Yield each scenario on each topology; the topology is empty if the plan varies it."""
        for benchmark in self.benchmarks:
            for topology in benchmark.topologies or ("",):
                yield benchmark, topology

    def shortened(self) -> "NightlyPlan":
        short = self.short
        return replace(
            self,
            benchmarks=tuple(
                replace(benchmark, blocks=short.blocks, run_time=short.run_time or benchmark.run_time)
                for benchmark in self.benchmarks
            ),
        )


def _require_blocks(blocks: int, rule: str) -> None:
    if blocks < 1:
        raise TopologyInvalid(f"{blocks}, but it must be {rule}", field="blocks")
    if blocks > MOST_BLOCKS:
        raise TopologyInvalid(f"{blocks}, but it must be at most {MOST_BLOCKS:,}", field="blocks")


def _require_run_time(text: str) -> None:
    """Check a run time like Locust."""
    if not text:
        return
    try:
        rule = OPTIONS["load_s"].problem(parse_timespan(text))
    except ValueError:
        rule = "must be a time"
    if rule:
        raise TopologyInvalid(f"{text!r}, but it {rule}: write it such as 30s, 5m or 1h30m", field="run_time")


def _require_topologies(field_name: str, texts: Sequence[str]) -> None:
    for text in texts:
        try:
            build(text)
        except TopologyInvalid as error:
            raise TopologyInvalid(*error.problems, field=field_name) from None


def _require_options(options: Sequence[str]) -> None:
    if stray := find_unknown_word(options):
        rule = "it must be an option of a run, such as --rate=200; brokerbench options lists them"
        raise TopologyInvalid(f"{stray!r}, but {rule}", field="options")


def read(path: Path) -> NightlyPlan:
    """Read a plan. Raises UserError."""
    try:
        text = text_of(path)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"{path}: cannot be read: {why}: name a plan, such as benchmarks/nightly.yaml") from None
    except TopologyInvalid as error:
        raise UserError(str(error)) from None
    try:
        document = Document(str(path), text)
        if document.root is None:
            raise document.wrong(None, "", "the file is empty: docs/nightly.md has a plan to begin with")

        def value(node: Node, place: str) -> Value:
            if not isinstance(node, ScalarNode) or not node.value:
                raise document.wrong(node, place, "must be a value of the varied option, such as 100")
            return Value(node.value)

        plan: NightlyPlan = Reader(document, {Value: value}).part(document.root, {"": NightlyPlan}, HEADER)
    except TopologyInvalid as error:
        raise UserError(str(error)) from None
    return plan


def rejection_message(path: Path, plan: NightlyPlan, benchmark: Benchmark, why: str) -> str:
    """Return why a run of a benchmark is rejected, in terms of the plan, with the location in the plan.

    ``plan``: the executed plan, so perhaps a shortened one.
    """
    problem = re.sub(r"--run-time\b|(?<=\()-t(?=\))", RUN_TIME, why)
    document = Document(str(path), text_of(path))
    fields = document.mapping(document.root, HEADER)
    items = document.items(fields["benchmarks"][1], f"{HEADER}.benchmarks")
    node, place = items[plan.benchmarks.index(benchmark)]
    if RUN_TIME in problem:
        short = [(fields["short"][1], f"{HEADER}.short")] if "short" in fields else []
        for part, name in ((node, place), *short):
            _, value = document.mapping(part, name).get(RUN_TIME, (None, None))
            if value is not None and document.scalar(value) == benchmark.run_time:
                return str(document.wrong(value, f"{name}.{RUN_TIME}", problem))
    return str(document.wrong(node, place, problem))
