"""Checks that the documented schemas and tables match the code."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from records.tables.results import RESULT_TABLES
from records.tables.schemas import EVENT_TABLES

DOCS = Path(__file__).parents[2] / "docs"
EVENTS_PAGE = (DOCS / "events.md").read_text(encoding="utf-8")
SUMMARY_SCHEMA: dict[str, Any] = json.loads((DOCS / "summary.schema.json").read_text(encoding="utf-8"))

LATENCY = dict.fromkeys(("count", "negative", "min", "p50", "p90", "p99", "p99_9", "p99_99", "max"), 1)


def test_the_summary_schema_is_one() -> None:
    Draft202012Validator.check_schema(SUMMARY_SCHEMA)


def _example() -> dict[str, Any]:
    """Return the smallest summary, where every nullable figure is null."""

    def least(schema: dict[str, Any]) -> Any:
        schema = SUMMARY_SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema
        kind = schema.get("type")
        if "const" in schema or "enum" in schema:
            return schema.get("const") or schema["enum"][0]
        if kind == "object":
            return {key: least(value) for key, value in schema.get("properties", {}).items()}
        return None if isinstance(kind, list) else {"string": "", "integer": 0, "number": 0.5, "array": []}[str(kind)]

    return {**least(SUMMARY_SCHEMA), "latency_ms": {"due_to_received": LATENCY}}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"verdict": "perhaps"}, "'perhaps' is not one of"),
        ({"summary_version": 1}, "3 was expected"),
        ({"color": "red"}, "'color' was unexpected"),
        ({"leftovers": None}, "None is not of type 'integer'"),
        ({"latency_ms": {"due_to_received": {**LATENCY, "p99": "fast"}}}, "'fast' is not of type 'number', 'null'"),
    ],
)
def test_the_summary_schema_takes_a_summary_and_refuses_what_is_none(change: dict[str, Any], complaint: str) -> None:
    validator = Draft202012Validator(SUMMARY_SCHEMA)
    assert not list(validator.iter_errors(_example()))
    (error,) = validator.iter_errors({**_example(), **change})
    assert complaint in error.message


def _section(heading: str) -> str:
    sections = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^#|\Z)", EVENTS_PAGE, re.MULTILINE | re.DOTALL)
    assert len(sections) == 1, f"docs/events.md has {len(sections)} sections {heading}"
    return str(sections[0])


def _documented_columns(heading: str) -> list[tuple[str, str]]:
    return re.findall(r"^\| `(\w+)` \| (\S+) \| .+ \|$", _section(heading), re.MULTILINE)


def _columns(schema: pa.Schema) -> list[tuple[str, str]]:
    return [(field.name, f"{field.type}{'?' if field.nullable else ''}") for field in schema]


@pytest.mark.parametrize("table", EVENT_TABLES)
def test_the_events_page_describes_every_column_of_an_event_table(table: str) -> None:
    assert _documented_columns(f"`{table}`") == _columns(EVENT_TABLES[table])


def test_the_events_page_describes_no_table_that_is_none() -> None:
    assert EVENTS_PAGE.count("\n## ") == len(EVENT_TABLES) + len(RESULT_TABLES)
