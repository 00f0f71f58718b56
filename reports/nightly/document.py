"""Makes the JSON document of a night; docs/nightly.schema.json describes it."""

import json
from typing import Any

from reports.comparison.document import ratio_document
from reports.nightly.judging import GateResult
from reports.nightly.night import Night, answer, doubts

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


def text(of: Night) -> str:
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
