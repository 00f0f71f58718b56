"""A night as JSON (docs/nightly.schema.json describes it), as Markdown, and as JUnit XML."""

import json
from typing import Any

from reports.comparison.document import ratio_document
from reports.nightly.judging import PASS, GateResult
from reports.nightly.night import Night, answer, doubts, lead
from reports.parts.junit import Case, Suite, junit_document
from reports.parts.markdown import plain, table_lines

NIGHTLY_VERSION = 2


def document(of: Night) -> dict[str, Any]:
    """Plain values. Ratios are to the reference. Unknown values are null."""
    return {
        "nightly_version": NIGHTLY_VERSION,
        "night": of.name,
        "plan": of.plan,
        "colour": of.colour,
        "answer": answer(of),
        "environment": of.environment,
        "tests": of.tests,
        "blocks_needed": of.blocks_needed,
        "doubts": list(doubts(of)),
        "gates": [_gate(result) for result in of.results],
    }


def document_text(of: Night) -> str:
    return json.dumps(document(of), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _gate(result: GateResult) -> dict[str, Any]:
    found = result.figure.against if result.figure else None
    return {
        "scenario": result.cell.scenario,
        "topology": result.cell.topology,
        "arm": result.arm,
        "gate": result.gate,
        "outcome": result.outcome,
        "reasons": list(result.reasons),
        "ratio": ratio_document(found),
        "p": result.p,
        "p_holm": result.adjusted_p,
    }


TITLES = ("gate", "scenario and topology", "candidate", "outcome", "why")


def markdown(of: Night) -> str:
    """What did not pass stands above what did."""
    ordered = sorted(of.results, key=lambda result: result.outcome == PASS)
    rows = [
        (
            f"`{result.gate}`",
            plain(result.cell.name),
            plain(result.arm),
            f"**{result.outcome}**",
            "<br>".join(map(plain, result.reasons)),
        )
        for result in ordered
    ]
    lines = [
        f"## Nightly benchmark {plain(of.name)}: {of.colour}",
        "",
        f"**{plain(answer(of))}**",
        "",
        plain(lead(of)),
        "",
    ]
    doubted = [f"- {plain(doubt)}" for doubt in doubts(of)]
    below = ["", "### What to doubt", "", *doubted] if doubted else []
    return "\n".join([*lines, *table_lines(TITLES, rows), *below]) + "\n"


def nightly_junit(of: Night) -> str:
    return junit_document(
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
