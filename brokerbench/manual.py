"""Reads docs/manual.yaml, the statements of manuals and what brokers did, and writes their table in docs/manual.md."""

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec import Meta

from records.documents import DOCS
from records.errors import UserError

STATEMENTS = DOCS / "manual.yaml"
COUNTED = {"confirmed": "confirmed", "refuted": "refuted", "depends": "depending on a version or setting"}
"""How the page counts each outcome."""
Text = Annotated[str, Meta(min_length=1)]
Command = Annotated[str, Meta(pattern=r"^(locust|brokerbench|pytest) ")]


class Statement(msgspec.Struct, forbid_unknown_fields=True):
    """A statement of a manual, and what brokers did."""

    document: Text
    statement: Text
    command: Command | Annotated[list[Command], Meta(min_length=1)]
    outcome: Literal["confirmed", "refuted", "depends"]
    found: Text
    brokers: Text
    date: date
    files: dict[Text, Text] = {}
    """Files that the commands need, by name: their text."""

    @property
    def commands(self) -> list[str]:
        return [self.command] if isinstance(self.command, str) else self.command


def statements(path: Path = STATEMENTS) -> list[Statement]:
    """Return all statements. Raises UserError for a missing, unknown or impossible value."""
    try:
        return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), list[Statement])
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise UserError(f"{path.name}: {error}; the first lines of the file describe its fields") from None


def statements_text(rows: list[Statement] | None = None) -> str:
    """Return the counts, the table, and the files that its commands need."""
    rows = statements() if rows is None else rows
    counts = Counter[str](row.outcome for row in rows)
    counted = ", ".join(f"{counts[outcome]} {words}" for outcome, words in COUNTED.items())
    lines = [f"{len(rows)} statements: {counted}.", ""]
    lines += ["| document | statement | command | outcome | versions, date |", "|---|---|---|---|---|"]
    lines += map(_row, rows)
    for name, text in files_of(rows).items():
        lines += ["", f"`{name}`:", "", "```yaml", text.rstrip(), "```"]
    return "\n".join([*lines, ""])


def _row(row: Statement) -> str:
    commands = "; ".join(f"`{command}`" for command in row.commands)
    found = f"{row.outcome}: {row.found}"
    cells = (row.document, row.statement, commands, found, f"{row.brokers}, {row.date}")
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def files_of(rows: list[Statement]) -> dict[str, str]:
    """Return the text of each file by name. Raises UserError if two statements give a name different texts."""
    files: dict[str, str] = {}
    for row in rows:
        for name, text in row.files.items():
            if files.setdefault(name, text) != text:
                raise UserError(f"{STATEMENTS.name}: two files named {name} with different text; rename one")
    return files
