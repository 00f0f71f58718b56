"""Writes the gates of a night as JUnit XML: a suite a comparison, a case for each gate and candidate."""

from reports.nightly.judging import GateResult
from reports.nightly.night import Night
from reports.parts.junit import Case, Suite, document


def nightly_junit(of: Night) -> str:
    return document(
        Suite(
            f"{of.name} {cell.name}",
            f"brokerbench.nightly.{cell.scenario}",
            {"night": of.name, "plan": of.plan, "scenario": cell.scenario, "topology": cell.topology},
            tuple(_case(result) for result in of.results if result.cell is cell),
        )
        for cell in of.cells
    )


def _case(result: GateResult) -> Case:
    name = f"{result.gate}: {result.arm}" if result.arm else result.gate
    return Case(name, result.outcome, " ".join(result.reasons))
