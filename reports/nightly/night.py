"""What a night came to: its cells, the results of their gates, and one word for all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from records.summary import EXIT_STATUS
from reports.comparison.sentences import unsteady
from reports.comparison.statistics import LEVEL, needed_blocks
from reports.nightly.judging import FAIL, INVALID, PASS, UNDECIDED, Cell, GateResult, judged
from reports.parts.numbers import counted

GREEN, YELLOW, RED = "green", "yellow", "red"


@dataclass(frozen=True)
class Night:
    """``name``: its date, or as it was called. ``environment``: fingerprint of the machine, '' without a run.

    ``results``: of every gate, see `reports.nightly.judging`.
    """

    name: str
    plan: str
    cells: tuple[Cell, ...]
    results: tuple[GateResult, ...]
    environment: str = ""

    @property
    def tests(self) -> int:
        """Gates against the reference, which Holm covers."""
        return sum(result.figure is not None for result in self.results)

    @property
    def blocks_needed(self) -> int:
        return needed_blocks(max(1, self.tests))

    def of(self, *outcomes: str) -> list[GateResult]:
        return [result for result in self.results if result.outcome in outcomes]

    @property
    def colour(self) -> str:
        """Red only for what is told: a gate that failed, or runs that could not be made."""
        if self.of(FAIL, INVALID):
            return RED
        return YELLOW if self.of(UNDECIDED) else GREEN

    def exit_status(self, strict: bool) -> int:
        """1: a gate failed; 3: runs could not be made or used; 4 (``strict``): a gate is undecided; else 0."""
        if self.of(FAIL):
            return EXIT_STATUS["fail"]
        if self.of(INVALID):
            return EXIT_STATUS["invalid"]
        return EXIT_STATUS["unknown"] if strict and self.of(UNDECIDED) else 0


def night(name: str, plan: str, cells: Sequence[Cell], environment: str = "") -> Night:
    return Night(name, plan, tuple(cells), judged(cells), environment)


def answer(of: Night) -> str:
    """The whole night in a sentence or two: what failed, by name, else what was not told."""
    gates = counted(len(of.results), "gate")
    passed = f"{len(of.of(PASS))} of {gates} passed"
    bad = [_named(result) for result in of.of(FAIL)]
    unusable = [_named(result) for result in of.of(INVALID)]
    others = ((FAIL, "failed"), (UNDECIDED, "undecided"), (INVALID, "not to be judged"))
    rest = [f"{len(results)} {words}" for outcome, words in others if (results := of.of(outcome))]
    parts = [
        f"Failed: {'; '.join(bad)}." if bad else "",
        f"Not to be judged: {'; '.join(unusable)}." if unusable else "",
        f"{', '.join([passed, *rest])}.",
    ]
    return " ".join(part for part in parts if part)


def doubts(of: Night) -> tuple[str, ...]:
    """In each cell, how many runs of which arm did not hold the offered rate, and how many warm-ups did not settle."""
    return tuple(f"{cell.name}: {line}" for cell in of.cells if cell.comparison for line in unsteady(cell.comparison))


def _named(result: GateResult) -> str:
    return f"{result.gate} ({', '.join(filter(None, (result.cell.name, result.arm)))})"


def lead(of: Night) -> str:
    """How it was judged."""
    tests = counted(of.tests, "test")
    judged_by = f"{tests} against the reference, Holm at {LEVEL:g}, {of.blocks_needed} blocks needed"
    return " · ".join(filter(None, (f"plan {of.plan}", judged_by, of.environment and f"environment {of.environment}")))
